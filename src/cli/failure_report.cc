#include "cli/failure_report.h"

#include <ostream>
#include <string>

#include "base/json_text.h"
#include "cli/exit_code.h"

namespace weir::cli {

int report_failure(const Terminal& terminal, std::string_view verb, bool json, const Failure& failure,
                   std::string_view hint) {
  if (json) {
    std::string text = std::string(R"({"error":{"code":")") + code_name(failure.code) + R"(","message":)";
    base::append_json_string(text, failure.message);
    if (!hint.empty()) {
      text += R"(,"hint":)";
      base::append_json_string(text, hint);
    }
    terminal.out << text << "}}\n";
  } else {
    terminal.err << verb << ": " << failure.message;
    if (!hint.empty()) terminal.err << "; " << hint;
    terminal.err << '\n';
  }
  return failure.code == Code::invalid_argument ? kExitBadInput : kExitFailed;
}

}  // namespace weir::cli
