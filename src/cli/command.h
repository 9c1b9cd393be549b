// Program and Command: the command line and its verbs. The parser's header costs eight seconds in every file that
// includes it, so it stays in command.cc.
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
#include <memory>
#include <string>
#include <vector>

#include "cli/verb_view.h"
#include "cli/verbs.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weir::cli {

// What became of the words of a command line.
struct Parsed {
  enum class Kind { action, text, wrong };
  Kind kind = Kind::action;
  std::string text;                // Kind::text: help or the version; Kind::wrong: the parser's message
  std::string error;               // Kind::wrong: the parser's name for it, such as RequiredError
  std::vector<std::string> verbs;  // as far as they were understood: {"rules", "validate"}
  std::vector<std::string> left;   // words of the last verb that were not understood
};

class Program {
 public:
  Program(const std::string& help, const std::string& version, const std::string& footer);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  CLI::App& app() { return *app_; }
  // Fills the targets of the options and the session's action.
  Parsed parse(std::vector<std::string> words);

 private:
  const std::unique_ptr<CLI::App> app_;
};

// The verb and all below it.
VerbView view_of(const CLI::App& app);

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
  // A flag that may be given several times, each time with one value.
  Option texts(const std::string& flag, std::vector<std::string>& target, const std::string& help);
  Option choice(const std::string& flag, std::string& target, const std::vector<std::string>& choices,
                const std::string& help);
  Option integer(const std::string& flag, std::int64_t& target, std::int64_t least, std::int64_t most,
                 const std::string& help);
  Option number(const std::string& flag, double& target, double least, double most, const std::string& help);
  Option flag(const std::string& flag, bool& target, const std::string& help);

  // --help describes these flags only, and --help-all all of them. After all options.
  void brief_help(std::vector<std::string> flags);
  // The verb only groups others, which are added under app().
  void requires_verb();
  CLI::App& app() { return *app_; }
  void footer(const std::string& text);
  void action(Session& session, std::function<int()> run);

 private:
  CLI::App* app_;
};

}  // namespace weir::cli
