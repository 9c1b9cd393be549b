#include <memory>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "server/version.h"

namespace weir::cli {

void add_version(CLI::App& parent, Session& session) {
  Command verb(parent, "version", "Print the version");
  const auto json = std::make_shared<bool>(false);
  verb.flag("--json", *json, "Print {\"version\":\"…\"}");
  verb.footer("Examples:\n  weir version\n  weir version --json");
  verb.action(session, [&session, json] {
    std::ostream& out = session.terminal.out;
    if (*json) {
      out << "{\"version\":\"" << server::kVersion << "\"}\n";
    } else {
      out << "weir " << server::kVersion << '\n';
    }
    return kExitAllowed;
  });
}

}  // namespace weir::cli
