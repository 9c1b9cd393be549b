#include "cli/command.h"

#include <CLI/CLI.hpp>

#include "cli/help_text.h"

namespace weir::cli {

Option Option::value(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option Option::group(const std::string& title) {
  option_->group(title);
  return *this;
}

Option Option::required() {
  option_->required();
  return *this;
}

Option Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}

Option Option::takes_last() {
  option_->take_last();
  return *this;
}

Option Option::value_optional(const std::string& text) {
  option_->expected(0, 1)->default_str(text);
  return *this;
}

bool Option::given() const { return option_->count() > 0; }

Command::Command(CLI::App& parent, const std::string& name, const std::string& help)
    : app_(parent.add_subcommand(name, help)) {}

Option Command::words(const std::string& name, std::vector<std::string>& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option Command::word(const std::string& name, std::string& target, const std::string& help) {
  return Option(app_->add_option(name, target, help));
}

Option Command::text(const std::string& flag, std::string& target, const std::string& help) {
  return Option(app_->add_option(flag, target, help)->capture_default_str());
}

Option Command::choice(const std::string& flag, std::string& target, const std::vector<std::string>& choices,
                       const std::string& help) {
  CLI::Option* option = app_->add_option(flag, target, help)->check(CLI::IsMember(choices))->capture_default_str();
  return Option(option->type_name("NAME"));
}

Option Command::integer(const std::string& flag, std::int64_t& target, std::int64_t least, std::int64_t most,
                        const std::string& help) {
  CLI::Option* option = app_->add_option(flag, target, help)->check(CLI::Range(least, most))->capture_default_str();
  return Option(option->type_name("N"));
}

Option Command::number(const std::string& flag, double& target, double least, double most, const std::string& help) {
  CLI::Option* option = app_->add_option(flag, target, help)->check(CLI::Range(least, most))->capture_default_str();
  return Option(option->type_name("N"));
}

Option Command::flag(const std::string& flag, bool& target, const std::string& help) {
  return Option(app_->add_flag(flag, target, help));
}

void Command::brief_help(std::vector<std::string> flags) {
  app_->set_help_all_flag("--help-all", "Print this help with every option");
  app_->formatter(std::make_shared<HelpText>(std::move(flags)));
}

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::action(Session& session, std::function<int()> run) {
  app_->callback([&session, run = std::move(run)] { session.action = run; });
}

}  // namespace weir::cli
