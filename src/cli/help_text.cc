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

std::string described(const OptionView& option) {
  std::string right = option.help;
  if (!option.default_text.empty()) right += " [" + option.default_text + "]";
  if (option.required) right += " (required)";
  return two_columns(option.label, right);
}

std::string heading(const VerbView& verb, const std::string& path) {
  std::string usage = "Usage: " + path + " [OPTIONS]";
  for (const OptionView& option : verb.options) {
    if (option.is_flag()) continue;
    const std::string name = option.name + (option.repeats ? "..." : "");
    usage += option.required ? " " + name : " [" + name + "]";
  }
  return verb.help + "\n" + usage + (verb.verbs.empty() ? "\n" : " VERB\n");
}

// In the order of first use.
std::vector<std::string> groups_of(const VerbView& verb) {
  std::vector<std::string> groups;
  for (const OptionView& option : verb.options) {
    const bool is_known = std::find(groups.begin(), groups.end(), option.group) != groups.end();
    if (option.is_flag() && !is_known) groups.push_back(option.group);
  }
  return groups;
}

}  // namespace

std::string help_text(const VerbView& verb, const std::string& path) {
  std::string out = heading(verb, path);
  std::string arguments;
  for (const OptionView& option : verb.options) {
    if (!option.is_flag()) arguments += described(option);
  }
  if (!arguments.empty()) out += "\nArguments:\n" + arguments;
  for (const std::string& group : groups_of(verb)) {
    out += "\n" + group + ":\n";
    for (const OptionView& option : verb.options) {
      if (option.is_flag() && option.group == group) out += described(option);
    }
  }
  if (!verb.verbs.empty()) out += "\nVerbs:\n";
  for (const VerbView& below : verb.verbs) out += two_columns(below.name, below.help);
  return out + "\n" + verb.footer + "\n";
}

std::string brief_help_text(const VerbView& verb, const std::string& path, const std::vector<std::string>& common) {
  std::string out = heading(verb, path) + "\nCommon options:\n";
  for (const std::string& flag : common) {
    if (const OptionView* option = verb.option(flag)) out += described(*option);
  }
  out += "\nAll other options, by group (" + path + " --help-all describes them):\n";
  for (const std::string& group : groups_of(verb)) {
    std::string flags;
    for (const OptionView& option : verb.options) {
      const bool is_common = std::find(common.begin(), common.end(), option.name) != common.end();
      const bool is_listed = option.is_flag() && option.group == group && !is_common && option.name != "--help";
      if (is_listed) flags += (flags.empty() ? "" : " ") + option.name;
    }
    if (!flags.empty()) out += "  " + padded(group, 14) + wrapped(flags, 16) + '\n';
  }
  return out + '\n' + verb.footer + '\n';
}

}  // namespace weir::cli
