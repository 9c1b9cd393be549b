#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "server/version.h"

namespace weir::cli {

void add_version(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("version", "Print the version");
  const auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "For machines: {\"version\":\"…\"}");
  verb->footer("Example:\n  weir version --json");
  verb->callback([&session, json] {
    session.action = [&session, json] {
      std::ostream& out = session.terminal.out;
      if (*json) {
        out << "{\"version\":\"" << server::kVersion << "\"}\n";
      } else {
        out << "weir " << server::kVersion << '\n';
      }
      return kExitAllowed;
    };
  });
}

}  // namespace weir::cli
