#include "rules/read/yaml_text.h"

#include <algorithm>
#include <cassert>
#include <chrono>

namespace weir::rules {
namespace {

constexpr std::size_t kLongestLine = 110;
// YAML ends the search for the `:` of a key after 1024 characters; longer keys need a `?`.
constexpr std::size_t kLongestKey = 900;

// Texts that no version of YAML reads as anything else.
bool is_plain(std::string_view text) {
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '/';
  };
  if (text.empty() || !(letter(text.front()) || text.front() == '/')) return false;
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::all_of(text.begin(), text.end(), inner) &&
         std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

// Line breaks of Unicode that a YAML reader may take for the end of a line: NEL, LS, PS. Also the byte order mark.
bool is_line_break(std::string_view rest) {
  return rest.starts_with("\xc2\x85") || rest.starts_with("\xe2\x80\xa8") || rest.starts_with("\xe2\x80\xa9") ||
         rest.starts_with("\xef\xbb\xbf");
}

void append_code_point(std::string& out, std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[i])); };
  const unsigned code = bytes.size() == 2 ? (at(0) & 0x1f) << 6 | (at(1) & 0x3f)
                                          : (at(0) & 0x0f) << 12 | (at(1) & 0x3f) << 6 | (at(2) & 0x3f);
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += "0123456789abcdef"[code >> shift & 15];
}

std::string double_quoted(std::string_view text) {
  if (is_plain(text)) return std::string(text);
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\x";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else if (is_line_break(text.substr(i))) {
      const std::size_t length = byte == 0xc2 ? 2 : 3;
      append_code_point(out, text.substr(i, length));
      i += length - 1;
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string two_digits(long long number) { return (number < 10 ? "0" : "") + std::to_string(number); }

}  // namespace

YamlText YamlText::text(std::string_view text) {
  YamlText made(Kind::scalar);
  made.scalar_ = double_quoted(text);
  return made;
}

YamlText YamlText::word(std::string_view word) {
  YamlText made(Kind::scalar);
  made.scalar_ = word;
  return made;
}

YamlText YamlText::number(std::int64_t number) { return word(std::to_string(number)); }

YamlText YamlText::duration(Duration duration) {
  constexpr std::pair<std::string_view, std::int64_t> kUnits[] = {
      {"d", 86'400'000'000}, {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1'000}};
  for (const auto& [name, micros] : kUnits) {
    if (duration.count() % micros == 0) return word(std::to_string(duration.count() / micros) + std::string(name));
  }
  return word(std::to_string(duration.count()) + "us");
}

YamlText YamlText::instant(TimePoint time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<Duration> clock(time - day);
  std::string year = std::to_string(static_cast<int>(date.year()));
  assert(year.size() <= 4);
  year.insert(0, 4 - std::min<std::size_t>(4, year.size()), '0');
  std::string out = year + "-" + two_digits(unsigned(date.month())) + "-" + two_digits(unsigned(date.day())) + "T" +
                    two_digits(clock.hours().count()) + ":" + two_digits(clock.minutes().count()) + ":" +
                    two_digits(clock.seconds().count());
  if (const auto fraction = clock.subseconds().count(); fraction != 0) {
    const std::string digits = std::to_string(fraction);
    out += "." + std::string(6 - digits.size(), '0') + digits;
  }
  return word(out + "Z");
}

void YamlText::write_inline(std::string& out) const {
  if (kind_ == Kind::scalar) out += scalar_;
  if (kind_ != Kind::list && kind_ != Kind::map) return;
  out += kind_ == Kind::list ? '[' : '{';
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& [key, value] = entries_[i];
    if (i > 0) out += ", ";
    if (kind_ == Kind::map) out += double_quoted(key) + (value.kind_ == Kind::null ? ": null" : ": ");
    value.write_inline(out);
  }
  out += kind_ == Kind::list ? ']' : '}';
}

void YamlText::write_value(std::string& out, std::size_t indent) const {
  if (kind_ == Kind::null) {
    out += '\n';
    return;
  }
  std::string line;
  write_inline(line);
  if (kind_ == Kind::scalar || entries_.empty() || indent + line.size() <= kLongestLine) {
    out += " " + line + "\n";
    return;
  }
  out += '\n';
  out += std::string(indent + 2, ' ');
  write_block(out, indent + 2);
}

void YamlText::write_field(std::string& out, std::size_t indent, std::string_view key, const YamlText& value) {
  const std::string name = double_quoted(key);
  out += name.size() > kLongestKey ? "? " + name + "\n" + std::string(indent, ' ') + ":" : name + ":";
  value.write_value(out, indent);
}

// Called in column `indent`.
void YamlText::write_block(std::string& out, std::size_t indent) const {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const auto& [key, value] = entries_[i];
    if (i > 0) out += std::string(indent, ' ');
    if (kind_ == Kind::map) {
      write_field(out, indent, key, value);
    } else {
      out += '-';
      value.write_value(out, indent);
    }
  }
}

}  // namespace weir::rules
