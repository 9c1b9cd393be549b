#include "identity/route_path.h"

#include "base/ascii.h"
#include "base/utf8.h"

namespace weir::identity {
namespace {

bool is_unreserved(char c) {
  const char small = base::lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
}

// The byte that the escape at `at` encodes, or -1.
int escaped_byte(std::string_view text, std::size_t at) {
  if (at + 2 >= text.size()) return -1;
  const int high = base::hex_digit(text[at + 1]);
  const int low = base::hex_digit(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

// Replaces a slash that was escaped and is kept; no path has a NUL of its own.
constexpr char kKeptSlash = '\0';

// All escapes undone; nullopt for what no server should have to read.
std::optional<std::string> decoded(std::string_view raw, EncodedSlash encoded_slash) {
  std::string path;
  path.reserve(raw.size());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (c == '%') {
      const int byte = escaped_byte(raw, i);
      if (byte < 0) return std::nullopt;
      c = static_cast<char>(byte);
      i += 2;
      if (base::is_control(c) || (c == '/' && encoded_slash == EncodedSlash::refuse)) return std::nullopt;
      if (c == '/') c = kKeptSlash;
    } else if (base::is_control(c) || c == ' ') {
      return std::nullopt;
    }
    if (c == '\\') return std::nullopt;
    path += c;
  }
  // Escaped twice: a server that also decodes twice sees another path.
  for (std::size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 1)) {
    if (escaped_byte(path, at) >= 0) return std::nullopt;
  }
  if (!base::is_utf8(path)) return std::nullopt;
  return path;
}

bool is_dots(std::string_view text) { return !text.empty() && text.find_first_not_of('.') == std::string_view::npos; }

// "..", also where a server that decodes the slashes we keep would find it.
bool has_dots(std::string_view segment) {
  while (true) {
    const std::size_t end = segment.find(kKeptSlash);
    if (is_dots(segment.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    segment.remove_prefix(end + 1);
  }
}

// Some servers drop dots and spaces at the end. Dots there are ordinary text, spaces are not.
bool ends_in_space(std::string_view segment) {
  const std::size_t text_end = segment.find_last_not_of(". ");
  return segment.find(' ', text_end == std::string_view::npos ? 0 : text_end + 1) != std::string_view::npos;
}

void append_escaped(std::string& out, std::string_view segment) {
  constexpr char kHex[] = "0123456789ABCDEF";
  constexpr std::string_view kOrdinary = "!$&'()*+,=:@";
  for (const char c : segment) {
    const char shown = c == kKeptSlash ? '/' : c;
    if (is_unreserved(shown) || kOrdinary.find(shown) != std::string_view::npos) {
      out += shown;
    } else {
      const auto byte = static_cast<unsigned char>(shown);
      ((out += '%') += kHex[byte >> 4]) += kHex[byte & 0xf];
    }
  }
}

}  // namespace

std::optional<std::string> normal_path(std::string_view target, EncodedSlash encoded_slash) {
  // No request target has a fragment; what a server makes of one that has is unknown.
  if (target.size() > kMaxTargetBytes || target.find('#') != std::string_view::npos) return std::nullopt;
  if (target == "*") return std::string(target);  // OPTIONS *
  const std::string_view raw = target.substr(0, target.find('?'));
  if (raw.empty() || raw[0] != '/') return std::nullopt;
  const std::optional<std::string> text = decoded(raw, encoded_slash);
  if (!text) return std::nullopt;

  std::string path;
  path.reserve(raw.size());
  bool ends_in_slash = false;
  for (std::string_view rest = *text; !rest.empty();) {
    rest.remove_prefix(1);  // the slash
    const std::string_view whole = rest.substr(0, rest.find('/'));
    rest.remove_prefix(whole.size());
    const std::string_view segment = whole.substr(0, whole.find(';'));
    if (has_dots(segment) || ends_in_space(segment)) return std::nullopt;
    ends_in_slash = segment.empty();
    if (segment.empty()) continue;
    path += '/';
    append_escaped(path, segment);
  }
  if (ends_in_slash) path += '/';
  return path;
}

std::string undo_escapes(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int byte = text[i] == '%' ? escaped_byte(text, i) : -1;
    plain += byte < 0 ? text[i] : static_cast<char>(byte);
    if (byte >= 0) i += 2;
  }
  return plain;
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
