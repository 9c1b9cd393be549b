#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "base/json_text.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "rules/compile/rule_set.h"
#include "rules/compile/slot_notes.h"
#include "rules/read/rules_format.h"

namespace weir::cli {
namespace {

struct ValidateOptions {
  std::string path;
  std::string format = "weir";
  bool json = false;
  bool cluster = false;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line);
  }
  return lines;
}

void append_list(std::string& json, const std::vector<std::string>& texts) {
  json += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) json += ',';
    base::append_json_string(json, texts[i]);
  }
  json += ']';
}

int report_faults(const Failure& failure, const ValidateOptions& options, const Terminal& terminal) {
  const std::vector<std::string> faults = lines_of(failure.message);
  if (options.json) {
    std::string json = "{\"valid\":false,\"errors\":";
    append_list(json, faults);
    terminal.out << json << "}\n";
  } else {
    for (const std::string& fault : faults) terminal.err << shown(fault) << '\n';
  }
  return kExitBadInput;
}

int validate(const ValidateOptions& options, const Terminal& terminal) {
  ProcessClock clock;
  const Result<rules::ForeignRules> read =
      rules::read_rules(options.path, rules::format_from_name(options.format).value(), clock.wall());
  if (!read.ok()) return report_faults(read.failure(), options, terminal);
  const Rules& rules = read.value().rules;
  rules::RuleNames names;
  const Result<std::shared_ptr<const rules::RuleSet>> compiled = rules::RuleSet::compile(rules, names);
  if (!compiled.ok()) return report_faults(compiled.failure(), options, terminal);

  std::vector<std::string> warnings = read.value().warnings;
  warnings.insert(warnings.end(), read.value().notes.begin(), read.value().notes.end());
  if (options.cluster) {
    for (std::string& note : rules::slot_notes(rules)) warnings.push_back(std::move(note));
  }
  const std::size_t count = rules.rules.size();
  if (options.json) {
    std::string json = "{\"valid\":true,\"rules\":" + std::to_string(count) + ",\"warnings\":";
    append_list(json, warnings);
    terminal.out << json << "}\n";
    return kExitAllowed;
  }
  for (const std::string& warning : warnings) {
    terminal.out << terminal.paint(Colour::yellow, "warning") << "  " << shown(warning) << '\n';
  }
  terminal.out << terminal.paint(Colour::green, "OK") << "  " << shown(options.path) << ": " << count
               << (count == 1 ? " rule, " : " rules, ") << warnings.size()
               << (warnings.size() == 1 ? " warning\n" : " warnings\n");
  return kExitAllowed;
}

}  // namespace

void add_rules_validate(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("validate", "Check a rules file, or a folder of them");
  const auto options = std::make_shared<ValidateOptions>();
  verb->add_option("path", options->path, "The rules file, a folder of them, or - for standard input")->required();
  verb->add_option("--format", options->format, "The format of the rules: weir, envoy or limitador")
      ->check(CLI::IsMember({"weir", "envoy", "limitador"}))
      ->capture_default_str();
  verb->add_flag("--json", options->json, "For machines: {\"valid\":…}");
  verb->add_flag("--cluster", options->cluster,
                 "Also list the rules that can apply to one request and be in different slots of a Redis Cluster");
  verb->footer(
      "Errors go to standard error, one per line: file:line:column: field: what is wrong and what is expected.\n"
      "Warnings go to standard output in the same form.\n"
      "Exit codes: 0 valid, 2 invalid.\n\n"
      "Examples:\n"
      "  weir rules validate rules.yaml\n"
      "  weir rules validate rules.d/ --json\n"
      "  generate-rules | weir rules validate -\n"
      "  weir rules validate rules.yaml --cluster\n"
      "  weir rules validate config/ --format envoy");
  verb->callback(
      [&session, options] { session.action = [&session, options] { return validate(*options, session.terminal); }; });
}

}  // namespace weir::cli
