#include "cli/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>

#include "cli/help_text.h"

namespace weir::cli {
namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

OptionView view_of(const CLI::Option& option) {
  OptionView view;
  const bool positional = option.get_positional();
  view.name = positional ? option.get_name(true, false) : "--" + option.get_lnames().front();
  view.label = positional ? view.name : option.get_name(false, true);
  if (!positional && takes_value(option)) {
    const std::string value = option.get_type_name();
    view.label += " " + value.substr(0, value.find(':'));  // the parser appends what it checks
  }
  view.help = option.get_description();
  if (takes_value(option) && option.get_expected_min() > 0) view.default_text = option.get_default_str();
  view.group = option.get_group();
  view.required = option.get_required();
  view.repeats = option.get_expected_max() > 1;
  return view;
}

std::string path_of(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : path_of(*app.get_parent()) + " " + app.get_name();
}

}  // namespace

VerbView view_of(const CLI::App& app) {
  VerbView view{app.get_name(), app.get_description(), app.get_footer(), {}, {}};
  for (const CLI::Option* option : app.get_options()) view.options.push_back(view_of(*option));
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    view.verbs.push_back(view_of(*verb));
  }
  return view;
}

Program::Program(const std::string& help, const std::string& version, const std::string& footer)
    : app_(std::make_unique<CLI::App>(help, "weir")) {
  app_->formatter_fn([](const CLI::App* app, const std::string&, CLI::AppFormatMode) {
    return help_text(view_of(*app), path_of(*app));
  });
  app_->require_subcommand(1);
  app_->footer(footer);
  app_->set_version_flag("--version", version, "Print the version and exit");
}

Program::~Program() = default;

Parsed Program::parse(std::vector<std::string> words) {
  Parsed parsed;
  std::reverse(words.begin(), words.end());  // as the parser wants them
  try {
    app_->parse(words);
  } catch (const CLI::ParseError& error) {
    const bool is_error = dynamic_cast<const CLI::Success*>(&error) == nullptr;  // else help or the version
    parsed.kind = is_error ? Parsed::Kind::wrong : Parsed::Kind::text;
    parsed.error = error.get_name();
    std::ostringstream text;
    if (is_error) {
      text << error.what();
    } else {
      app_->exit(error, text, text);
    }
    parsed.text = text.str();
  }
  const CLI::App* app = app_.get();
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().back();
    parsed.verbs.push_back(app->get_name());
  }
  parsed.left = app->remaining();
  return parsed;
}

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

Option Command::texts(const std::string& flag, std::vector<std::string>& target, const std::string& help) {
  CLI::Option* option = app_->add_option(flag, target, help)->expected(1)->allow_extra_args(false);
  return Option(option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
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
  app_->formatter_fn([flags = std::move(flags)](const CLI::App* app, const std::string&, CLI::AppFormatMode mode) {
    const bool all = mode == CLI::AppFormatMode::All;
    return all ? help_text(view_of(*app), path_of(*app)) : brief_help_text(view_of(*app), path_of(*app), flags);
  });
}

void Command::requires_verb() { app_->require_subcommand(1); }

void Command::footer(const std::string& text) { app_->footer(text); }

void Command::action(Session& session, std::function<int()> run) {
  app_->callback([&session, run = std::move(run)] { session.action = run; });
}

}  // namespace weir::cli
