#include "cli/help_text.h"

#include <algorithm>
#include <sstream>

#include "cli/terminal.h"

namespace weir::cli {
namespace {

constexpr std::size_t kColumns = 100;    // of the whole text
constexpr std::size_t kLeftColumn = 32;  // where descriptions begin

// `text` broken at spaces; all lines but the first are indented.
std::string wrapped(const std::string& text, std::size_t indent) {
  std::istringstream in(text);
  std::string out;
  std::size_t at = indent;
  for (std::string word; in >> word;) {
    const std::size_t width = columns_of(word);
    if (at > indent && at + 1 + width > kColumns) {
      out += '\n' + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += width;
  }
  return out;
}

std::string two_columns(const std::string& left, const std::string& right) {
  std::string out = "  " + left;
  if (right.empty()) return out + '\n';
  const std::size_t taken = columns_of(out);
  out += taken + 2 > kLeftColumn ? '\n' + std::string(kLeftColumn, ' ') : std::string(kLeftColumn - taken, ' ');
  return out + wrapped(right, kLeftColumn) + '\n';
}

bool is_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0; }

}  // namespace

std::string flag_with_value(const CLI::Option& option) {
  std::string out = option.get_name(false, true);
  if (is_flag(option)) return out;
  std::string value = option.get_type_name();
  value.resize(std::min(value.find(':'), value.size()));  // the parser appends what it checks
  return out + " " + (value.empty() ? "TEXT" : value);
}

std::string HelpText::make_option(const CLI::Option* option, bool is_positional) const {
  std::string left = is_positional ? option->get_name(true, false) : flag_with_value(*option);
  std::string right = option->get_description();
  const bool shows_default = !is_flag(*option) && option->get_expected_min() > 0;
  if (shows_default && !option->get_default_str().empty()) right += " [" + option->get_default_str() + "]";
  if (option->get_required()) right += " (required)";
  return two_columns(left, right);
}

std::string HelpText::make_subcommand(const CLI::App* verb) const {
  return two_columns(verb->get_name(), verb->get_description());
}

std::string HelpText::make_usage(const CLI::App* app, std::string name) const {
  std::string usage = CLI::Formatter::make_usage(app, std::move(name));
  if (const std::size_t at = usage.find("SUBCOMMAND"); at != std::string::npos) usage.replace(at, 10, "VERB");
  return usage;
}

std::string HelpText::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  if (!common_.empty() && mode == CLI::AppFormatMode::Normal) return brief(app, name);
  std::string help = CLI::Formatter::make_help(app, std::move(name), mode);
  // The parser leaves two empty lines between groups.
  for (std::size_t at; (at = help.find("\n\n\n")) != std::string::npos;) help.erase(at, 1);
  return help;
}

// The common flags in full, then the names of all others by group.
std::string HelpText::brief(const CLI::App* app, const std::string& name) const {
  std::string out = make_description(app) + make_usage(app, name) + "\nCommon options:\n";
  for (const std::string& flag : common_) out += make_option(app->get_option(flag), false);
  out += "\nAll other options, by group (" + name + " --help-all describes them):\n";
  for (const std::string& group : app->get_groups()) {
    std::string flags;
    for (const CLI::Option* option : app->get_options()) {
      const std::string flag = option->get_name(false, true);
      const bool is_common = std::find(common_.begin(), common_.end(), flag) != common_.end();
      const bool is_shown = option->get_group() == group && option->nonpositional() && !is_common;
      if (is_shown && option != app->get_help_ptr()) flags += (flags.empty() ? "" : " ") + flag;
    }
    if (!flags.empty()) out += "  " + padded(group, 14) + wrapped(flags, 16) + '\n';
  }
  return out + '\n' + make_footer(app);
}

}  // namespace weir::cli
