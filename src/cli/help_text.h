// HelpText: how --help looks: options in two columns with wrapped descriptions, and a brief form for verbs with many
// options. Includes the parser's header: for command.cc and program.cc only.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace weir::cli {

class HelpText : public CLI::Formatter {
 public:
  // `common`: the flags of the brief form, such as --rules; empty: the help is always complete.
  explicit HelpText(std::vector<std::string> common = {}) : common_(std::move(common)) {
    label("Positionals", "Arguments");
    label("Subcommands", "Verbs");
  }

  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_option(const CLI::Option* option, bool is_positional) const override;
  std::string make_subcommand(const CLI::App* verb) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;

 private:
  std::string brief(const CLI::App* app, const std::string& name) const;

  const std::vector<std::string> common_;
};

// "--listen-http ADDRESS"
std::string flag_with_value(const CLI::Option& option);

}  // namespace weir::cli
