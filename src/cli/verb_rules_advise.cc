#include <unistd.h>

#include <iostream>
#include <memory>
#include <ostream>

#include "advise/advice.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/verbs.h"
#include "server/config_value.h"
#include "weir/allowance.h"

namespace weir::cli {
namespace {

constexpr int kMaxTries = 3;

struct AdviseOptions {
  std::vector<std::string> choices = std::vector<std::string>(advise::questions().size());
  std::string id = "new-rule";
  std::string action;
  std::string per = "tenant";
  std::int64_t limit = 100;
  std::string window = "60s";
  bool ask = false;
  bool json = false;
};

Failure wrong_answer(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// By number or by name; an empty line is the first choice. False: no more input, or no useful answer.
bool ask_one(const advise::Question& question, advise::Answers& answers, const Terminal& terminal) {
  terminal.err << '\n' << terminal.paint(Colour::bold, question.text) << '\n';
  for (std::size_t i = 0; i < question.choices.size(); ++i) {
    terminal.err << "  " << i + 1 << ") " << padded(std::string(question.choices[i].name), 15)
                 << question.choices[i].meaning << '\n';
  }
  for (int tries = 0; tries < kMaxTries; ++tries) {
    terminal.err << "[1] > " << std::flush;
    std::string line;
    if (!std::getline(std::cin, line)) return false;
    if (line.empty()) line = "1";
    if (line.size() == 1 && line[0] >= '1' && line[0] < '1' + static_cast<int>(question.choices.size())) {
      line = question.choices[static_cast<std::size_t>(line[0] - '1')].name;
    }
    const Status set = answers.set(question.name, line);
    if (set.ok()) return true;
    terminal.err << set.failure().message << '\n';
  }
  return false;
}

Result<advise::Answers> answers_of(const AdviseOptions& options, const Terminal& terminal) {
  advise::Answers answers;
  answers.id = options.id;
  answers.action = options.action;
  answers.limit = options.limit;
  const Result<std::vector<std::string>> per = server::parse_list(options.per);
  if (!per.ok()) return wrong_answer("--per: " + per.failure().message);
  answers.per = per.value();
  const Result<Duration> window = server::parse_duration(options.window, kMinWindow, kMaxWindow);
  if (!window.ok()) return wrong_answer("--window: " + window.failure().message);
  answers.window = window.value();
  const bool asks = options.ask || (::isatty(0) == 1 && !options.json);
  for (std::size_t i = 0; i < advise::questions().size(); ++i) {
    const advise::Question& question = advise::questions()[i];
    if (!options.choices[i].empty()) {
      const Status set = answers.set(question.name, options.choices[i]);
      if (!set.ok()) return wrong_answer("--" + set.failure().message);
    } else if (asks && !ask_one(question, answers, terminal)) {
      return wrong_answer(std::string(question.name) + ": no answer; give it with --" + std::string(question.name));
    } else if (!asks && i == 0) {
      return wrong_answer("--purpose: is missing, expected infrastructure, abuse or quota");
    }
  }
  return answers;
}

void append_texts(std::string& out, std::string_view name, const std::vector<std::string>& texts) {
  out.append(",\"").append(name).append("\":[");
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i > 0) out += ',';
    base::append_json_string(out, texts[i]);
  }
  out += ']';
}

int advise_rule(const AdviseOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir rules advise", options.json, {Code::invalid_argument, failure.message});
  };
  const Result<advise::Answers> answers = answers_of(options, terminal);
  if (!answers.ok()) return fail(answers.failure());
  const Result<advise::Advice> made = advise::advise(answers.value());
  if (!made.ok()) return fail(made.failure());
  const advise::Advice& advice = made.value();
  if (options.json) {
    std::string out = "{\"algorithm\":";
    base::append_json_string(out, advice.algorithm);
    append_texts(out, "reasons", advice.reasons);
    append_texts(out, "notes", advice.notes);
    out += ",\"admits\":";
    base::append_json_string(out, advice.bound);
    out += ",\"yaml\":";
    base::append_json_string(out, advice.yaml);
    terminal.out << out << "}\n";
    return kExitAllowed;
  }
  // The rule alone goes to standard output, so that it can be put into a file.
  terminal.err << terminal.paint(Colour::bold, advice.algorithm) << "  admits " << advice.bound << '\n';
  for (const std::string& reason : advice.reasons) terminal.err << "  - " << reason << '\n';
  for (const std::string& note : advice.notes)
    terminal.err << "  " << terminal.paint(Colour::yellow, "note") << "  " << note << '\n';
  terminal.out << advice.yaml;
  return kExitAllowed;
}

}  // namespace

void add_rules_advise(CLI::App& parent, Session& session) {
  Command verb(parent, "advise", "Choose an algorithm by answering a few questions, and write the rule");
  const auto options = std::make_shared<AdviseOptions>();
  for (std::size_t i = 0; i < advise::questions().size(); ++i) {
    const advise::Question& question = advise::questions()[i];
    std::string help(question.text);
    for (const advise::Choice& choice : question.choices)
      help += (&choice == &question.choices.front() ? " " : ", ") + std::string(choice.name);
    verb.text("--" + std::string(question.name), options->choices[i], help).value("ANSWER");
  }
  verb.text("--id", options->id, "The rule's id").value("ID");
  verb.text("--action", options->action, "The action that the rule limits; default: every request").value("ACTION");
  verb.text("--per", options->per, "The attributes that the rule counts by, separated by commas").value("NAMES");
  verb.integer("--limit", options->limit, 1, kMaxUnits, "Units per window, or per month for a quota");
  verb.text("--window", options->window, "The window").value("TIME");
  verb.flag("--ask", options->ask, "Ask what is not given, even if standard input is not a terminal");
  verb.flag("--json", options->json, "For machines: {\"algorithm\":…,\"reasons\":[…],\"yaml\":…}; asks nothing");
  verb.footer(
      "On a terminal, it asks for answers that are not given. The rule "
      "goes to standard output, the reasons to standard error.\nExit "
      "codes: 0 advised, 2 bad input.\n\nExamples:\n  weir rules "
      "advise\n  weir rules advise --purpose abuse --exactness exact "
      "--action login --per account --limit 5 --window 15m > "
      "rules.yaml\n  weir rules advise --purpose quota --limit 100000 "
      "--json");
  verb.action(session, [&session, options] { return advise_rule(*options, session.terminal); });
}

}  // namespace weir::cli
