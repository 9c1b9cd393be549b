#include "rules/compile/glob.h"

#include <string.h>  // memmem

#include "base/utf8.h"

namespace weir::rules {
namespace {

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); text.remove_prefix(base::character_bytes(text))) ++count;
  return count;
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

Glob::Glob(std::string_view pattern) {
  for (;;) {
    const std::size_t star = pattern.find('*');
    const std::string_view text = pattern.substr(0, star);
    parts_.push_back({std::string(text), count_characters(text), text.find('?') == std::string_view::npos});
    if (star == std::string_view::npos) break;
    pattern.remove_prefix(star + 1);
  }
}

bool Glob::matches(std::string_view value) const {
  if (!take_front(parts_.front(), value)) return false;
  if (parts_.size() == 1) return value.empty();
  if (!take_back(parts_.back(), value)) return false;
  for (std::size_t i = 1; i + 1 < parts_.size(); ++i) {
    if (!skip_past(parts_[i], value)) return false;
  }
  return true;
}

bool Glob::fits_at_front(const Part& part, std::string_view value, std::size_t& bytes) {
  std::size_t at = 0;
  for (const char c : part.text) {
    if (at >= value.size()) return false;
    if (c == '?') {
      at += base::character_bytes(value.substr(at));
    } else if (c == value[at]) {
      ++at;
    } else {
      return false;
    }
  }
  bytes = at;
  return true;
}

bool Glob::take_front(const Part& part, std::string_view& value) {
  std::size_t bytes = 0;
  if (!fits_at_front(part, value, bytes)) return false;
  value.remove_prefix(bytes);
  return true;
}

bool Glob::take_back(const Part& part, std::string_view& value) {
  std::size_t begin = value.size();
  for (std::size_t i = 0; i < part.characters; ++i) {
    if (begin == 0) return false;
    do {
      --begin;
    } while (begin > 0 && continues_character(value[begin]));
  }
  std::size_t bytes = 0;
  if (!fits_at_front(part, value.substr(begin), bytes) || begin + bytes != value.size()) return false;
  value.remove_suffix(bytes);
  return true;
}

bool Glob::skip_past(const Part& part, std::string_view& value) {
  if (part.literal) {
    const void* found = ::memmem(value.data(), value.size(), part.text.data(), part.text.size());
    if (found == nullptr) return false;
    value.remove_prefix(static_cast<std::size_t>(static_cast<const char*>(found) - value.data()) + part.text.size());
    return true;
  }
  for (; !value.empty(); value.remove_prefix(base::character_bytes(value))) {
    if (take_front(part, value)) return true;
  }
  return false;
}

}  // namespace weir::rules
