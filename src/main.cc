#include "cli/program.h"

int main(int argc, char** argv) { return weir::cli::run(argc, argv); }
