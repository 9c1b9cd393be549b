// How servers behind us read cookies, query parameters, headers and credentials, each in its own way. Tests ask: does
// Weir count a request under what such a server reads, or refuse it?
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "identity/inbound.h"

namespace weir::identity {

using Text = std::string;
using Read = std::optional<Text>;  // nothing, or what the server takes the value to be

inline Text lowered(std::string_view text) {
  Text small(text);
  for (char& c : small) c = base::lower(c);
  return small;
}

// Escapes undone one by one; a broken one stays as it is.
inline Text unescaped(std::string_view text, bool plus_is_space = false) {
  Text plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && base::hex_digit(text[i + 1]) >= 0 && base::hex_digit(text[i + 2]) >= 0;
    if (is_escape) {
      plain += static_cast<char>(base::hex_digit(text[i + 1]) * 16 + base::hex_digit(text[i + 2]));
      i += 2;
    } else {
      plain += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return plain;
}

inline std::string_view stripped(std::string_view text, std::string_view what) {
  const std::size_t first = text.find_first_not_of(what);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(what) - first + 1);
}

inline std::string_view unquoted(std::string_view text) {
  const bool quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return quoted ? text.substr(1, text.size() - 2) : text;
}

inline std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = text.find_first_of(separators);
    pieces.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    text.remove_prefix(end + 1);
  }
}

struct PairReader {
  std::string_view separators;
  bool last_wins = false;
  bool ignores_case = false;
  bool decodes_names = false;
  bool decodes_values = false;
  bool takes_quotes_off = false;
  bool plus_is_space = false;
  bool names_end_at_nul = false;
  bool trims = true;

  Read read(std::string_view text, const Text& name) const {
    Read found;
    for (const std::string_view pair : split(text, separators)) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || (found && !last_wins)) continue;
      Text own(pair.substr(0, equals));
      if (decodes_names) own = unescaped(own, plus_is_space);
      if (trims) own = Text(stripped(own, " \t"));
      if (names_end_at_nul) own = own.substr(0, own.find('\0'));
      if (ignores_case ? lowered(own) != lowered(name) : own != name) continue;
      std::string_view value = pair.substr(equals + 1);
      if (trims) value = stripped(value, " \t");
      if (takes_quotes_off) value = unquoted(value);
      found = decodes_values ? unescaped(value, plus_is_space) : Text(value);
    }
    return found;
  }
};

// Every combination of what is left open.
inline std::vector<PairReader> cookie_readers() {
  std::vector<PairReader> readers;
  for (const char* separators : {";", ";,", "; \t", ";, \t"}) {
    for (unsigned bits = 0; bits < 32; ++bits) {
      PairReader reader;
      reader.separators = separators;
      reader.last_wins = bits & 1;
      reader.ignores_case = bits & 2;
      reader.decodes_names = bits & 4;
      reader.decodes_values = bits & 8;
      reader.takes_quotes_off = bits & 16;
      readers.push_back(reader);
    }
  }
  return readers;
}

inline std::vector<PairReader> query_readers() {
  std::vector<PairReader> readers;
  for (const char* separators : {"&", "&;"}) {
    for (unsigned bits = 0; bits < 16; ++bits) {
      PairReader reader;
      reader.separators = separators;
      reader.decodes_names = reader.decodes_values = reader.plus_is_space = true;
      reader.last_wins = bits & 1;
      reader.ignores_case = bits & 2;
      reader.names_end_at_nul = bits & 4;
      reader.trims = bits & 8;
      readers.push_back(reader);
    }
  }
  return readers;
}

// What applications that look for a token in an Authorization field make of its text.
inline std::vector<Text> tokens_read(std::string_view value) {
  constexpr std::string_view kSpaces = " \t\x0b\x0c\xa0\x85";
  std::vector<Text> tokens = {Text(stripped(value, kSpaces)), Text(unquoted(stripped(value, kSpaces)))};
  std::vector<std::string_view> words;
  for (const std::string_view word : split(value, kSpaces)) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() == 2) tokens.emplace_back(words[1]);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    // A search for "Bearer <token>" anywhere, and one for the scheme at the end of a word.
    if (lowered(words[i]).ends_with("bearer")) {
      tokens.emplace_back(words[i + 1]);
      tokens.emplace_back(stripped(words[i + 1], "\",;"));
    }
  }
  if (lowered(value).starts_with("bearer")) {
    tokens.emplace_back(stripped(value.substr(6), kSpaces));
    tokens.emplace_back(stripped(value.substr(6), " \t:=,\"\xa0"));
  }
  return tokens;
}

}  // namespace weir::identity
