// Where in a request an attribute's value stands, and reading it there.
//
//   header:x-api-key   a header field, whoever sent it
//   gateway:x-tenant   a header field, believed only from a trusted proxy (which must overwrite what a client sends),
//   or
//                      what the gateway says itself (Inbound::gateway_fields)
//   cookie:sid         query:key         path:id ({id} of the matched route)
//   jwt:tenant_id      a claim of a verified token
//
// Pure functions; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "identity/caller/inbound.h"
#include "weir/result.h"

namespace weir::identity {

struct FieldSource {
  enum class Kind : std::uint8_t { header, gateway, cookie, query, path, jwt };

  Kind kind = Kind::header;
  std::string name;

  // Whether someone vouches for the value: the token's issuer, or a proxy of ours.
  bool is_verified() const { return kind == Kind::jwt || kind == Kind::gateway; }
};

Result<FieldSource> parse_field_source(std::string_view text);

// What was found: nothing, one value, or something that must not be guessed about.
struct Field {
  enum class State : std::uint8_t { absent, present, ambiguous };
  State state = State::absent;
  std::string_view value;
};

// A field that stands there twice is ambiguous: another server may take the other one.
Field find_header(std::span<const HeaderField> headers, std::string_view name);
// The first of that name, as browsers put the more specific cookie first.
Field find_cookie(std::span<const HeaderField> headers, std::string_view name);
// Still escaped; ambiguous if it stands there twice.
Field find_query(std::string_view target, std::string_view name);

}  // namespace weir::identity
