#include "identity/credentials.h"

#include <algorithm>

#include "base/ascii.h"
#include "base/base64url.h"

namespace weir::identity {
namespace {

constexpr std::string_view kBearer = "bearer";

bool is_alphanumeric(char c) {
  const char small = base::lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9');
}

bool is_visible(char c) { return c > 0x20 && c < 0x7f; }

// RFC 9110's token68.
bool is_token68(std::string_view text) {
  constexpr std::string_view kMarks = "-._~+/";
  const std::size_t end = text.find_last_not_of('=');
  if (end == std::string_view::npos) return false;
  const std::string_view body = text.substr(0, end + 1);
  return std::all_of(body.begin(), body.end(),
                     [&](char c) { return is_alphanumeric(c) || kMarks.find(c) != std::string_view::npos; });
}

// Lenient decoders skip what they do not know, so that many texts would be the same user and password.
bool is_strict_base64(std::string_view text) {
  if (text.size() % 4 != 0 || text.find_first_of("-_") != std::string_view::npos) return false;
  const std::size_t padding = text.size() - std::min(text.size(), text.find_last_not_of('=') + 1);
  if (padding > 2) return false;
  std::string url_form(text.substr(0, text.size() - padding));
  std::replace(url_form.begin(), url_form.end(), '+', '-');
  std::replace(url_form.begin(), url_form.end(), '/', '_');
  return base::decode_base64url(url_form).has_value();
}

// Three parts, of which the first is a JSON object in base64url.
bool looks_like_jwt(std::string_view text) {
  const std::size_t first = text.find('.');
  const std::size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos) return false;
  const std::optional<std::string> header = base::decode_base64url(text.substr(0, first));
  if (!header) return false;
  const std::size_t start = header->find_first_not_of(" \t\r\n");
  return start != std::string::npos && (*header)[start] == '{';
}

bool can_be_in_jwt(char c) { return is_alphanumeric(c) || c == '-' || c == '_' || c == '.'; }

// Whether some part of the text, but not all of it, looks like a JWT.
bool hides_jwt(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && can_be_in_jwt(text[end])) ++end;
    const bool is_all = at == 0 && end == text.size();
    if (!is_all && looks_like_jwt(text.substr(at, end - at))) return true;
    at = end + 1;
  }
  return false;
}

// Whether the word "bearer" occurs anywhere in the text.
bool mentions_bearer(std::string_view text) {
  for (std::size_t at = 0; at + kBearer.size() <= text.size(); ++at) {
    if (!base::same_ignoring_case(text.substr(at, kBearer.size()), kBearer)) continue;
    const std::size_t end = at + kBearer.size();
    const bool begins = at == 0 || !is_alphanumeric(text[at - 1]);
    if (begins && (end == text.size() || !is_alphanumeric(text[end]))) return true;
  }
  return false;
}

bool begins_with_bearer(std::string_view text) {
  return base::same_ignoring_case(text.substr(0, kBearer.size()), kBearer);
}

bool rest_fits_scheme(const Credentials& credentials) {
  const auto& [scheme, rest] = credentials;
  if (base::same_ignoring_case(scheme, kBearer)) return rest.empty() || is_token68(rest);
  if (base::same_ignoring_case(scheme, "basic") && !is_strict_base64(rest)) return false;
  return rest.empty() || (is_visible(rest.front()) && !mentions_bearer(rest) && !hides_jwt(rest));
}

}  // namespace

std::optional<Credentials> parse_credentials(std::string_view value) {
  value = base::trimmed(value);
  const std::size_t space = value.find(' ');
  const std::string_view word = value.substr(0, space);
  if (!std::all_of(word.begin(), word.end(), is_visible)) return std::nullopt;
  if (begins_with_bearer(word) && word.size() > kBearer.size()) return std::nullopt;
  const bool has_scheme = space != std::string_view::npos || begins_with_bearer(word);
  if (!has_scheme) {
    if (mentions_bearer(word) || hides_jwt(word)) return std::nullopt;
    return Credentials{{}, word};
  }
  if (hides_jwt(word) || looks_like_jwt(word)) return std::nullopt;
  if (!begins_with_bearer(word) && mentions_bearer(word)) return std::nullopt;
  std::string_view rest = value.substr(word.size());
  rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  const Credentials credentials{word, rest};
  if (!rest_fits_scheme(credentials)) return std::nullopt;
  return credentials;
}

std::string canonical_text(const Credentials& credentials) {
  const auto& [scheme, rest] = credentials;
  if (scheme.empty()) return std::string(rest);
  std::string text(scheme);
  std::transform(text.begin(), text.end(), text.begin(), base::lower);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return rest.empty() ? text : (text += ' ').append(rest);
}

std::string_view token_of(const Credentials& credentials, bool bare_allowed) {
  const auto& [scheme, rest] = credentials;
  if (base::same_ignoring_case(scheme, kBearer)) return rest;
  if (bare_allowed && scheme.empty()) return rest;
  return looks_like_jwt(rest) ? rest : std::string_view{};
}

}  // namespace weir::identity
