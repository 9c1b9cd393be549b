#include <memory>
#include <ostream>

#include "advise/rule_review.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "weir/rules_file.h"

namespace weir::cli {
namespace {

struct ReviewOptions {
  std::string path;
  bool json = false;
};

std::string review_json(const std::vector<advise::Finding>& findings, const std::vector<std::string>& warnings) {
  std::string out = "{\"findings\":[";
  for (std::size_t i = 0; i < findings.size(); ++i) {
    out += i == 0 ? "{\"rule\":" : ",{\"rule\":";
    base::append_json_string(out, findings[i].rule);
    out += ",\"pattern\":";
    base::append_json_string(out, findings[i].pattern);
    out += ",\"text\":";
    base::append_json_string(out, findings[i].text);
    out += '}';
  }
  out += "],\"warnings\":[";
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    if (i > 0) out += ',';
    base::append_json_string(out, warnings[i]);
  }
  return out + "]}";
}

int review(const ReviewOptions& options, const Terminal& terminal) {
  ProcessClock clock;
  const Result<RulesFile> read = read_rules(options.path, clock.wall());
  if (!read.ok()) {
    return report_failure(terminal, "weir rules review", options.json,
                          {Code::invalid_argument, read.failure().message});
  }
  const std::vector<advise::Finding> findings = advise::review_rules(read.value().rules);
  const std::vector<std::string>& warnings = read.value().warnings;
  if (options.json) {
    terminal.out << review_json(findings, warnings) << '\n';
  } else {
    for (const advise::Finding& finding : findings) {
      terminal.out << terminal.paint(Colour::yellow, finding.pattern) << "  "
                   << terminal.paint(Colour::bold, finding.rule.empty() ? "(all rules)" : shown(finding.rule)) << "  "
                   << shown(finding.text) << '\n';
    }
    for (const std::string& warning : warnings) {
      terminal.out << terminal.paint(Colour::yellow, "warning") << "  " << shown(warning) << '\n';
    }
    const std::size_t count = findings.size() + warnings.size();
    terminal.out << read.value().rules.rules.size() << " rules reviewed, " << count
                 << (count == 1 ? " finding\n" : " findings\n");
  }
  return findings.empty() && warnings.empty() ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_rules_review(CLI::App& parent, Session& session) {
  Command verb(parent, "review", "Warn about rules that are valid but will cause trouble later");
  const auto options = std::make_shared<ReviewOptions>();
  verb.word("path", options->path, "The rules file, or a folder of them").required();
  verb.flag("--json", options->json, "For machines: {\"findings\":[{\"rule\",\"pattern\",\"text\"}],\"warnings\":[…]}");
  verb.footer(
      "Exit codes: 0 nothing found, 1 something found, 2 bad input or invalid rules.\n"
      "The patterns are explained in docs/choosing-an-algorithm.md.\n\n"
      "Examples:\n"
      "  weir rules review rules.yaml\n"
      "  weir rules review rules.d/ --json");
  verb.action(session, [&session, options] { return review(*options, session.terminal); });
}

}  // namespace weir::cli
