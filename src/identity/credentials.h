// The credentials of an Authorization field (RFC 9110, section 11.4): a scheme, spaces, and a token or parameters.
//
// Applications read this field leniently, each in its own way: some take a tab for the space, some look for "Bearer"
// anywhere, some take a token without a scheme. So a text in which two of them could see different tokens is refused,
// and a text that has the form of a token is a token whatever its scheme.
//
// Pure functions; thread-safe. What they return refers to the text that they were given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::identity {

struct Credentials {
  std::string_view scheme;  // as it was written; empty: the text is all in `rest`
  std::string_view rest;    // without spaces at its ends
};

// Nothing if the text can be read in two ways: a tab or another character in place of the space, a second "Bearer",
// a bearer token with characters that none can have, Basic credentials that are not strict base64.
std::optional<Credentials> parse_credentials(std::string_view value);

// The one spelling of the credentials: their scheme with a capital letter, one space, the rest.
std::string canonical_text(const Credentials& credentials);

// The token to be verified: what follows "Bearer", or else anything that has the form of a JWT. Empty: there is none.
// With `bare_allowed`, for fields other than Authorization, a text without a scheme is always a token.
std::string_view token_of(const Credentials& credentials, bool bare_allowed);

}  // namespace weir::identity
