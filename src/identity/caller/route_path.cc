#include "identity/caller/route_path.h"

#include "identity/caller/ascii.h"

namespace weir::identity {
namespace {

bool is_unreserved(char c) {
  const char small = lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// The byte that the escape at `at` stands for, or -1.
int escaped_byte(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return -1;
  const int high = hex_digit(text[at + 1]);
  const int low = hex_digit(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

bool has_dot_segment(std::string_view path) {
  while (!path.empty()) {
    path.remove_prefix(1);  // its slash
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment == "." || segment == "..") return true;
    path.remove_prefix(segment.size());
  }
  return false;
}

}  // namespace

std::optional<std::string> normal_path(std::string_view target) {
  constexpr char kHex[] = "0123456789ABCDEF";
  if (target.size() > kMaxTargetBytes) return std::nullopt;
  if (target == "*") return std::string(target);  // OPTIONS *
  const std::string_view raw = target.substr(0, target.find_first_of("?#"));
  if (raw.empty() || raw[0] != '/') return std::nullopt;
  std::string path;
  path.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (is_control(raw[i])) return std::nullopt;
    if (raw[i] != '%') {
      path += raw[i];
      continue;
    }
    const int byte = escaped_byte(raw, i);
    if (byte < 0 || is_control(static_cast<char>(byte))) return std::nullopt;
    if (is_unreserved(static_cast<char>(byte))) {
      path += static_cast<char>(byte);
    } else {
      path += '%';
      path += kHex[byte >> 4];
      path += kHex[byte & 0xf];
    }
    i += 2;
  }
  if (has_dot_segment(path)) return std::nullopt;
  return path;
}

std::optional<std::string> decode_query_text(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    int byte = static_cast<unsigned char>(text[i]);
    if (text[i] == '+') byte = ' ';
    if (text[i] == '%') {
      byte = escaped_byte(text, i);
      i += 2;
    }
    if (byte <= 0) return std::nullopt;
    decoded += static_cast<char>(byte);
  }
  return decoded;
}

}  // namespace weir::identity
