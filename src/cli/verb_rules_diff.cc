#include <memory>
#include <ostream>

#include "advise/rule_diff.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "weir/rules_file.h"

namespace weir::cli {
namespace {

struct DiffOptions {
  std::string before;
  std::string after;
  bool json = false;
};

void show_change(const advise::RuleChange& change, const Terminal& terminal) {
  using Change = advise::RuleChange::Kind;
  const Colour colour = change.kind == Change::added     ? Colour::green
                        : change.kind == Change::removed ? Colour::red
                                                         : Colour::yellow;
  std::ostream& out = terminal.out;
  out << terminal.paint(colour, advise::change_name(change.kind)) << "  "
      << terminal.paint(Colour::bold, change.rule.empty() ? "(the file)" : shown(change.rule)) << "  "
      << shown(change.text) << '\n';
  if (change.kind != Change::changed) return;
  for (const advise::FieldChange& field : change.fields) {
    out << "    " << field.field << ": " << (field.before.empty() ? "(default)" : shown(field.before)) << " → "
        << (field.after.empty() ? "(default)" : shown(field.after)) << '\n';
  }
}

int diff(const DiffOptions& options, const Terminal& terminal) {
  const Result<RulesFile> before = read_rules(options.before);
  const Result<RulesFile> after = read_rules(options.after);
  for (const Result<RulesFile>* read : {&before, &after}) {
    if (!read->ok()) {
      return report_failure(terminal, "weir rules diff", options.json,
                            {Code::invalid_argument, read->failure().message});
    }
  }
  const std::vector<advise::RuleChange> changes = advise::diff_rules(before.value().rules, after.value().rules);
  if (options.json) {
    terminal.out << advise::diff_json(changes) << '\n';
  } else if (changes.empty()) {
    terminal.out << "nothing changes\n";
  } else {
    for (const advise::RuleChange& change : changes) show_change(change, terminal);
  }
  return changes.empty() ? kExitAllowed : kExitDenied;
}

}  // namespace

void add_rules_diff(CLI::App& parent, Session& session) {
  Command verb(parent, "diff", "Show what changes between two rule sets, for whom, and which buckets start full");
  const auto options = std::make_shared<DiffOptions>();
  verb.word("before", options->before, "The rules file, or a folder of them").required();
  verb.word("after", options->after, "The rules that would replace it").required();
  verb.flag("--json", options->json, "For machines: {\"changes\":[…]}");
  verb.footer(
      "Exit codes: 0 nothing changes, 1 something changes, 2 bad input or invalid rules.\n\n"
      "Examples:\n"
      "  weir rules diff rules.yaml new.yaml\n"
      "  git show HEAD~1:rules.yaml > old.yaml && weir rules diff old.yaml rules.yaml --json\n"
      "  weir rules simulate rules.yaml access.log --against new.yaml    what it means for real traffic");
  verb.action(session, [&session, options] { return diff(*options, session.terminal); });
}

}  // namespace weir::cli
