// help_text: what --help prints: options in two columns with wrapped descriptions, and a brief form for verbs with many
// options. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/verb_view.h"

namespace weir::cli {

// `path` as typed: "weir rules validate".
std::string help_text(const VerbView& verb, const std::string& path);

// The flags in `common` in full, and the names of all others by group; --help-all prints help_text().
std::string brief_help_text(const VerbView& verb, const std::string& path, const std::vector<std::string>& common);

}  // namespace weir::cli
