#include <CLI/CLI.hpp>
#include <memory>
#include <ostream>
#include <sstream>

#include "base/json_text.h"
#include "cli/exit_code.h"
#include "cli/verbs.h"
#include "rules/read/rules_format.h"
#include "rules/read/rules_text.h"

namespace weir::cli {
namespace {

struct ImportOptions {
  std::string from;
  std::string path;
  bool json = false;
};

void append_lines(std::string& json, const std::vector<std::string>& lines) {
  json += '[';
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) json += ',';
    base::append_json_string(json, lines[i]);
  }
  json += ']';
}

int report_import_faults(const Failure& failure, const ImportOptions& options, const Terminal& terminal) {
  std::vector<std::string> faults;
  std::istringstream in(failure.message);
  for (std::string line; std::getline(in, line);) faults.push_back(line);
  if (options.json) {
    std::string json = "{\"imported\":false,\"errors\":";
    append_lines(json, faults);
    terminal.out << json << "}\n";
  } else {
    for (const std::string& fault : faults) terminal.err << shown(fault) << '\n';
  }
  return kExitBadInput;
}

int import(const ImportOptions& options, const Terminal& terminal) {
  const Result<rules::ForeignRules> read =
      rules::read_rules(options.path, rules::format_from_name(options.from).value());
  if (!read.ok()) return report_import_faults(read.failure(), options, terminal);
  const std::string text = rules::write_rules(read.value().rules);
  if (options.json) {
    std::string json = "{\"imported\":true,\"rules\":" + std::to_string(read.value().rules.rules.size());
    json += ",\"notes\":";
    append_lines(json, read.value().notes);
    json += ",\"yaml\":";
    base::append_json_string(json, text);
    terminal.out << json << "}\n";
    return kExitAllowed;
  }
  terminal.out << text;
  for (const std::string& note : read.value().notes) {
    terminal.err << terminal.paint(Colour::yellow, "note") << "  " << shown(note) << '\n';
  }
  return kExitAllowed;
}

}  // namespace

void add_rules_import(CLI::App& parent, Session& session) {
  CLI::App* verb = parent.add_subcommand("import", "Convert the rules of another rate limiter into a rules file");
  const auto options = std::make_shared<ImportOptions>();
  verb->add_option("--from", options->from, "The rate limiter: envoy (envoyproxy/ratelimit) or limitador")
      ->required()
      ->check(CLI::IsMember({"envoy", "limitador"}));
  verb->add_option("path", options->path, "The file, a folder of them, or - for standard input")->required();
  verb->add_flag("--json", options->json, "For machines: {\"imported\":…,\"rules\":…,\"notes\":[…],\"yaml\":…}");
  verb->footer(
      "The rules go to standard output. Notes about what is not supported here, and errors, go to standard error, one\n"
      "per line: file:line:column: field: what is wrong and what is expected.\n"
      "Exit codes: 0 imported, 2 the files are invalid.\n\n"
      "Examples:\n"
      "  weir rules import --from envoy config/ > rules.yaml\n"
      "  weir rules import --from limitador limits.yaml --json");
  verb->callback(
      [&session, options] { session.action = [&session, options] { return import(*options, session.terminal); }; });
}

}  // namespace weir::cli
