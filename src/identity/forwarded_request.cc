#include "identity/forwarded_request.h"

#include <algorithm>
#include <initializer_list>

#include "base/ascii.h"
#include "identity/request_fields.h"

namespace weir::identity {
namespace {

constexpr std::size_t kMaxMethod = 32;
constexpr std::size_t kMaxHost = 255;
constexpr std::size_t kMaxScheme = 16;

bool is_letter_or_digit(char c) {
  const char small = base::lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9');
}

bool is_token(std::string_view text) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return is_letter_or_digit(c) || kMarks.find(c) != std::string_view::npos; });
}

// A proxy that adds to what it was sent adds at the right end.
std::string_view last_of_list(std::string_view list) {
  const std::size_t comma = list.rfind(',');
  return comma == std::string_view::npos ? list : base::trimmed(list.substr(comma + 1));
}

// The one value that the fields of these names agree on. False if they do not.
bool agreed(std::span<const HeaderField> headers, std::initializer_list<std::string_view> names, bool urls,
            std::string_view& value) {
  for (const std::string_view name : names) {
    const Field field = find_header(headers, name);
    if (field.state == Field::State::repeated) return false;
    if (field.state == Field::State::absent || field.value.empty()) continue;
    const std::string_view found = urls ? without_origin(field.value) : field.value;
    if (!value.empty() && value != found) return false;
    value = found;
  }
  return true;
}

}  // namespace

std::string_view without_origin(std::string_view url) {
  for (const std::string_view start : {"http://", "https://"}) {
    if (!base::same_ignoring_case(url.substr(0, start.size()), start)) continue;
    // A query without a path comes out as it is; no path begins like that, so it is refused as one.
    const std::size_t end = url.find_first_of("/?#", start.size());
    return end == std::string_view::npos ? "/" : url.substr(end);
  }
  return url;
}

bool is_method(std::string_view text) { return text.size() <= kMaxMethod && is_token(text); }

bool is_scheme(std::string_view text) { return text.size() <= kMaxScheme && is_token(text); }

std::optional<ForwardedRequest> read_forwarded(std::span<const HeaderField> headers) {
  ForwardedRequest request;
  if (!agreed(headers, {"x-forwarded-method", "x-original-method"}, false, request.method)) return std::nullopt;
  if (!is_method(request.method)) return std::nullopt;
  if (!agreed(headers, {"x-forwarded-uri", "x-original-uri", "x-original-url"}, true, request.target))
    return std::nullopt;
  if (!agreed(headers, {"x-forwarded-host"}, false, request.host)) return std::nullopt;
  if (!agreed(headers, {"x-forwarded-proto"}, false, request.scheme)) return std::nullopt;
  request.host = last_of_list(request.host);
  request.scheme = last_of_list(request.scheme);
  if (!is_scheme(request.scheme)) return std::nullopt;
  return request;
}

std::optional<std::string> normal_host(std::string_view host) {
  const std::size_t bracket = host.rfind(']');
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket)) {
    host = host.substr(0, colon);
  }
  if (host.ends_with('.')) host.remove_suffix(1);
  if (host.size() > kMaxHost) return std::nullopt;
  std::string normal(host);
  for (char& c : normal) {
    const bool fits = is_letter_or_digit(c) || c == '-' || c == '.' || c == '_' || c == ':' || c == '[' || c == ']';
    if (!fits) return std::nullopt;
    c = base::lower(c);
  }
  return normal;
}

}  // namespace weir::identity
