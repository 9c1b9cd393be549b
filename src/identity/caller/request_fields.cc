#include "identity/caller/request_fields.h"

#include <array>
#include <utility>

#include "identity/caller/ascii.h"
#include "identity/caller/route_path.h"

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
  field.state = field.state == Field::State::absent ? Field::State::present : Field::State::ambiguous;
  field.value = value;
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
    if (same_ignoring_case(header.name, name)) meet(field, trimmed(header.value));
  }
  return field;
}

Field find_cookie(std::span<const HeaderField> headers, std::string_view name) {
  for (const HeaderField& header : headers) {
    if (!same_ignoring_case(header.name, "cookie")) continue;
    std::string_view rest = header.value;
    while (!rest.empty()) {
      const std::size_t end = rest.find(';');
      const std::string_view pair = trimmed(rest.substr(0, end));
      rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
      const std::size_t equals = pair.find('=');
      if (equals == std::string_view::npos || pair.substr(0, equals) != name) continue;
      return {Field::State::present, pair.substr(equals + 1)};
    }
  }
  return {};
}

Field find_query(std::string_view target, std::string_view name) {
  Field field;
  const std::size_t question = target.find('?');
  if (question == std::string_view::npos) return field;
  std::string_view rest = target.substr(question + 1);
  rest = rest.substr(0, rest.find('#'));
  while (!rest.empty()) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
    const std::size_t equals = pair.find('=');
    const std::string_view value = equals == std::string_view::npos ? std::string_view{} : pair.substr(equals + 1);
    const std::optional<std::string> decoded = decode_query_text(pair.substr(0, equals));
    if (decoded && *decoded == name) meet(field, value);
  }
  return field;
}

}  // namespace weir::identity
