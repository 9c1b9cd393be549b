// YamlText: a small tree of texts, lists and maps, and how it is written as YAML.
//
// What is written is read back the same by base::YamlDocument, whatever the texts contain, provided that they are valid
// UTF-8 without NUL. Short lists and maps take one line, longer ones a line per entry. Pure values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/time.h"

namespace weir::rules {

class YamlText {
 public:
  // An empty value, as in `key:`.
  YamlText() = default;

  static YamlText text(std::string_view text);
  static YamlText number(std::int64_t number);
  static YamlText boolean(bool value) { return word(value ? "true" : "false"); }
  // A duration with its largest whole unit, as in 60s.
  static YamlText duration(Duration duration);
  // RFC 3339 in UTC. Precondition: the year has four digits.
  static YamlText instant(TimePoint time);
  // One of the words that rules files know, written without quotes.
  static YamlText word(std::string_view word);
  static YamlText list() { return YamlText(Kind::list); }
  static YamlText map() { return YamlText(Kind::map); }

  // To a list.
  void add(YamlText item) { entries_.emplace_back(std::string(), std::move(item)); }
  // To a map that has no such key yet.
  void add(std::string_view key, YamlText value) { entries_.emplace_back(key, std::move(value)); }
  bool empty() const { return entries_.empty(); }

  // Appends it as the value of a key in column `indent`, up to the end of the line: " 5\n", or one line
  // per entry.
  void write_value(std::string& out, std::size_t indent) const;
  // Appends `key:` and the value as lines that begin in column `indent`. The first of them is not indented.
  static void write_field(std::string& out, std::size_t indent, std::string_view key, const YamlText& value);

 private:
  enum class Kind : std::uint8_t { null, scalar, list, map };

  explicit YamlText(Kind kind) : kind_(kind) {}
  // On one line.
  void write_inline(std::string& out) const;
  void write_block(std::string& out, std::size_t indent) const;

  Kind kind_ = Kind::null;
  std::string scalar_;  // as it is written
  std::vector<std::pair<std::string, YamlText>> entries_;
};

}  // namespace weir::rules
