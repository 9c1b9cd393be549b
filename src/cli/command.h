// Command: one verb of the command line and its options. The parser's header costs seconds in every file that includes
// it, so it stays in command.cc, help_text.cc, usage_error.cc and program.cc.
//
//   Command verb(parent, "greet", "Greet someone");
//   verb.text("--name", options->name, "Whom to greet").value("NAME").shows_default();
//   verb.footer("Examples:\n  weir greet --name Ada");
//   verb.action(session, [options] { … return kExitAllowed; });
//
// Targets must live until the action has run. Values out of range are wrong usage, found before the action runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/verbs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weir::cli {

// A handle; copies mean the same option.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  Option value(const std::string& name);  // what --help shows behind the flag, such as PATH
  Option group(const std::string& title);
  Option required();
  Option excludes(const Option& other);
  Option takes_last();                             // given twice, the last one counts
  Option value_optional(const std::string& text);  // without a value, the flag means this text
  bool given() const;

 private:
  CLI::Option* option_;
};

class Command {
 public:
  Command(CLI::App& parent, const std::string& name, const std::string& help);

  Option words(const std::string& name, std::vector<std::string>& target, const std::string& help);
  Option word(const std::string& name, std::string& target, const std::string& help);
  Option text(const std::string& flag, std::string& target, const std::string& help);
  Option choice(const std::string& flag, std::string& target, const std::vector<std::string>& choices,
                const std::string& help);
  Option integer(const std::string& flag, std::int64_t& target, std::int64_t least, std::int64_t most,
                 const std::string& help);
  Option number(const std::string& flag, double& target, double least, double most, const std::string& help);
  Option flag(const std::string& flag, bool& target, const std::string& help);

  // --help shows these flags only, and --help-all everything in its groups.
  void brief_help(std::vector<std::string> flags);
  void footer(const std::string& text);
  void action(Session& session, std::function<int()> run);

 private:
  CLI::App* app_;
};

}  // namespace weir::cli
