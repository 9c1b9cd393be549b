// Walks over a line of text: words between spaces, texts in quotation marks. Pure.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weir::simulate {

class TextScan {
 public:
  explicit TextScan(std::string_view line) : rest_(line) {}

  std::string_view rest() const { return rest_; }
  bool at_end() const { return rest_.empty(); }
  bool next_is(char character) const { return !rest_.empty() && rest_[0] == character; }

  // The word up to the next space, and that space. Empty at the end.
  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view found = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    while (next_is(' ')) rest_.remove_prefix(1);
    return found;
  }

  // "…" and the space behind it, without the quotation marks; a backslash keeps the one behind it. Nothing if there is
  // none here.
  std::optional<std::string_view> quoted() {
    if (!next_is('"')) return std::nullopt;
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return std::nullopt;
    const std::string_view found = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    while (next_is(' ')) rest_.remove_prefix(1);
    return found;
  }

 private:
  std::string_view rest_;
};

// Logs write a dash for what is not there.
inline std::string_view unless_dash(std::string_view text) { return text == "-" ? std::string_view{} : text; }

// Negative: not a number.
inline std::int64_t number_in(std::string_view text) {
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : -1;
}

// "GET /path HTTP/1.1" into its parts. False if it is no request line.
inline bool split_request(std::string_view request, std::string_view& method, std::string_view& target) {
  const std::size_t first = request.find(' ');
  if (first == std::string_view::npos || first == 0) return false;
  const std::size_t last = request.rfind(' ');
  method = request.substr(0, first);
  // HTTP/0.9 requests have no version.
  const bool versioned = last > first && request.substr(last + 1).starts_with("HTTP/");
  target = versioned ? request.substr(first + 1, last - first - 1) : request.substr(first + 1);
  for (const char c : method) {
    if (c < 'A' || (c > 'Z' && c < 'a') || c > 'z') return false;
  }
  return !target.empty();
}

}  // namespace weir::simulate
