#include "frontends/http2/field_rules.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <utility>

namespace weir::http2 {
namespace {

// Belong to one connection of HTTP/1.1; a request that carries one here was meant to be read differently by another
// server.
constexpr std::array<std::string_view, 5> kConnectionFields = {"connection", "keep-alive", "proxy-connection",
                                                               "transfer-encoding", "upgrade"};
constexpr std::size_t kMaxLengthDigits = 18;

const std::uint8_t* bytes_of(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

bool good_name(std::string_view name) { return nghttp2_check_header_name(bytes_of(name), name.size()) != 0; }
bool good_value(std::string_view value) {
  return nghttp2_check_header_value_rfc9113(bytes_of(value), value.size()) != 0;
}
bool good_method(std::string_view value) { return nghttp2_check_method(bytes_of(value), value.size()) != 0; }
bool good_path(std::string_view value) { return nghttp2_check_path(bytes_of(value), value.size()) != 0; }
bool good_authority(std::string_view value) { return nghttp2_check_authority(bytes_of(value), value.size()) != 0; }

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool good_scheme(std::string_view value) {
  return !value.empty() && is_letter(value.front()) && std::all_of(value.begin(), value.end(), [](char c) {
    return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
  });
}

}  // namespace

bool FieldRules::well_formed(std::string_view name, std::string_view value) {
  if (name.empty()) return false;
  if (name.front() == ':') return accept_pseudo(name, value);
  regular_seen_ = true;
  if (!good_name(name) || !good_value(value)) return false;
  if (name == "te") return value == "trailers";
  if (name == "content-length") return accept_content_length(value);
  return std::find(kConnectionFields.begin(), kConnectionFields.end(), name) == kConnectionFields.end();
}

bool FieldRules::accept_pseudo(std::string_view name, std::string_view value) {
  if (regular_seen_ || block_ == Block::trailers) return false;
  if (name == ":method") {
    connect_ = value == "CONNECT";
    options_ = value == "OPTIONS";
    return !std::exchange(method_, true) && good_method(value);
  }
  if (name == ":path") {
    path_is_star_ = value == "*";
    const bool rooted = !value.empty() && value.front() == '/';
    return !std::exchange(path_, true) && (rooted || path_is_star_) && good_path(value);
  }
  if (name == ":scheme") return !std::exchange(scheme_, true) && good_scheme(value);
  if (name == ":authority") return !std::exchange(authority_, true) && good_authority(value);
  return false;
}

bool FieldRules::accept_content_length(std::string_view value) {
  if (content_length_ >= 0 || value.empty() || value.size() > kMaxLengthDigits) return false;
  if (!std::all_of(value.begin(), value.end(), is_digit)) return false;
  content_length_ = 0;
  for (const char c : value) content_length_ = content_length_ * 10 + (c - '0');
  return true;
}

bool FieldRules::complete() const {
  if (block_ == Block::trailers) return true;
  if (connect_) return authority_ && !scheme_ && !path_;
  return method_ && scheme_ && path_ && (!path_is_star_ || options_);
}

}  // namespace weir::http2
