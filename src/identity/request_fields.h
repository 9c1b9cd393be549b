// Where in a request an attribute's value is, and reading it there.
//
//   header:x-api-key   a header field, from any sender
//   gateway:x-tenant   a header field, trusted only from a trusted proxy (which must overwrite what a client sends),
//                      or what the gateway says itself (Inbound::gateway_fields)
//   cookie:sid         query:key         path:id ({id} of the matched route)
//   jwt:tenant_id      a claim of a verified token
//
// Servers behind us read cookies, queries and headers in different ways: the first of two or the last, names with or
// without their case, one separator or several. A field that two servers could read differently is not guessed at but
// reported as repeated or malformed.
//
// Pure functions; thread-safe. Values refer to the texts that were given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "identity/inbound.h"
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

// What was found: nothing, one value, several, or something that can be read in two ways.
struct Field {
  enum class State : std::uint8_t { absent, present, repeated, malformed };
  State state = State::absent;
  std::string_view value;
};

// The field of that name, in any case; for fields that gateways write.
Field find_header(std::span<const HeaderField> headers, std::string_view name);
// The same for fields that clients write: malformed if a name differs only in '_' for '-' (CGI and its descendants take
// one for the other) or the value has a control character.
Field find_client_header(std::span<const HeaderField> headers, std::string_view name);
// A cookie (RFC 6265), in however many Cookie fields, without the quotation marks around its value. Malformed: a value
// with other characters than a cookie may have, a name spelled in another case or with escapes, and one that only
// servers with other separators (white space, comma) would find.
Field find_cookie(std::span<const HeaderField> headers, std::string_view name);
// A query parameter, its value still escaped. Malformed: a name in another case, with white space or NUL, and
// semicolons that some servers take for separators.
Field find_query(std::string_view target, std::string_view name);

}  // namespace weir::identity
