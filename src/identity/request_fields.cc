#include "identity/request_fields.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/ascii.h"
#include "identity/route_path.h"

namespace weir::identity {
namespace {

using Kind = FieldSource::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds = {{{"header", Kind::header},
                                                                      {"gateway", Kind::gateway},
                                                                      {"cookie", Kind::cookie},
                                                                      {"query", Kind::query},
                                                                      {"path", Kind::path},
                                                                      {"jwt", Kind::jwt}}};

void meet(Field& field, std::string_view value) {
  using enum Field::State;
  if (field.state != malformed) field.state = field.state == absent ? present : repeated;
  field.value = value;
}

void spoil(Field& field) { field.state = Field::State::malformed; }

bool same_as_in_cgi(std::string_view a, std::string_view b) {
  const auto folded = [](char c) { return c == '_' ? '-' : base::lower(c); };
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [&](char x, char y) { return folded(x) == folded(y); });
}

// RFC 6265's cookie-octet.
bool is_cookie_text(std::string_view text) {
  constexpr std::string_view kExcluded = "\",;\\";
  return std::all_of(text.begin(), text.end(),
                     [&](char c) { return c > 0x20 && c < 0x7f && kExcluded.find(c) == std::string_view::npos; });
}

// Whether a reader with other separators than ';' would find `name` in a pair that begins with another one: it is the
// word before some '='.
bool mentions_cookie(std::string_view pair, std::string_view name) {
  constexpr std::string_view kSeparators = " \t,\"=";
  for (std::size_t equals = pair.find('='); equals != std::string_view::npos; equals = pair.find('=', equals + 1)) {
    const std::string_view before = pair.substr(0, equals);
    const std::size_t last = before.find_last_not_of(" \t");
    if (last == std::string_view::npos) continue;
    const std::size_t separator = before.find_last_of(kSeparators, last);
    const std::size_t first = separator == std::string_view::npos ? 0 : separator + 1;
    const std::string_view word = before.substr(first, last + 1 - first);
    if (word.size() >= name.size() && base::same_ignoring_case(undo_escapes(word), name)) return true;
  }
  return false;
}

void take_cookie(Field& field, std::string_view pair, std::string_view name) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos) return;
  const std::string_view own = base::trimmed(pair.substr(0, equals));
  std::string_view value = base::trimmed(pair.substr(equals + 1));
  if (own != name) {
    if (mentions_cookie(pair, name)) spoil(field);
    return;
  }
  if (value.size() >= 2 && value.front() == '"' && value.back() == '"') value = value.substr(1, value.size() - 2);
  meet(field, value);
  if (!is_cookie_text(value) || mentions_cookie(value, name)) spoil(field);
}

void take_parameter(Field& field, std::string_view pair, std::string_view name, bool has_semicolon) {
  const std::size_t equals = pair.find('=');
  const std::string_view value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
  std::string own(pair.substr(0, equals));
  std::replace(own.begin(), own.end(), '+', ' ');
  own = undo_escapes(own);
  if (own == name) {
    meet(field, value);
    if (has_semicolon) spoil(field);
  } else if (base::same_ignoring_case(base::trimmed(own.substr(0, own.find('\0'))), base::trimmed(name))) {
    spoil(field);
  }
}

}  // namespace

Result<FieldSource> parse_field_source(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos && colon + 1 < text.size()) {
    for (const auto& [word, kind] : kKinds) {
      if (text.substr(0, colon) == word) return FieldSource{kind, std::string(text.substr(colon + 1))};
    }
  }
  return Failure{Code::invalid_argument,
                 "\"" + std::string(text) +
                     "\" is not a source, expected header:, gateway:, cookie:, query:, path: or jwt: and a name"};
}

Field find_header(std::span<const HeaderField> headers, std::string_view name) {
  Field field;
  for (const HeaderField& header : headers) {
    if (base::same_ignoring_case(header.name, name)) meet(field, base::trimmed(header.value));
  }
  return field;
}

Field find_client_header(std::span<const HeaderField> headers, std::string_view name) {
  Field field = find_header(headers, name);
  if (std::any_of(field.value.begin(), field.value.end(), [](char c) { return base::is_control(c) && c != '\t'; }))
    spoil(field);
  for (const HeaderField& header : headers) {
    if (!base::same_ignoring_case(header.name, name) && same_as_in_cgi(header.name, name)) spoil(field);
  }
  return field;
}

Field find_cookie(std::span<const HeaderField> headers, std::string_view name) {
  Field field;
  for (const HeaderField& header : headers) {
    if (!base::same_ignoring_case(header.name, "cookie")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      take_cookie(field, base::trimmed(rest.substr(0, end)), name);
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    }
  }
  return field;
}

Field find_query(std::string_view target, std::string_view name) {
  Field field;
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return field;
  std::string_view rest = target.substr(question + 1);
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    std::string_view piece = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const bool has_semicolon = piece.find(';') != std::string_view::npos;
    while (true) {
      const std::size_t semicolon = piece.find(';');
      take_parameter(field, piece.substr(0, semicolon), name, has_semicolon);
      if (semicolon == std::string_view::npos) break;
      piece.remove_prefix(semicolon + 1);
    }
  }
  return field;
}

}  // namespace weir::identity
