// What a gateway says about the request that it asks about: nginx with X-Original-Method and X-Original-URI, Caddy and
// Traefik with X-Forwarded-Method, -Uri, -Host and -Proto, an nginx ingress with X-Original-URL.
//
// A gateway writes one family of these fields and may pass the other on just as the client sent it. So both may be
// present only if they agree; otherwise it is unknown which one is the gateway's, and the request is refused. Only
// for requests from a trusted proxy.
//
// Pure functions; thread-safe.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "identity/inbound.h"

namespace weir::identity {

struct ForwardedRequest {
  std::string_view method;  // empty: not said
  std::string_view target;  // path and query; empty: not said
  std::string_view host;    // as in a Host field; empty: not said
  std::string_view scheme;  // empty: not said
};

// Nothing if the fields are repeated, contradict each other or are not valid values.
std::optional<ForwardedRequest> read_forwarded(std::span<const HeaderField> headers);

// The path and query of "https://host/path?query"; other texts stay.
std::string_view without_origin(std::string_view url);

// Whether a text can be a method or a scheme; an empty one is one that was not said.
bool is_method(std::string_view text);
bool is_scheme(std::string_view text);

// A host in the one spelling that rules see: lower case, without port and final dot. Empty if there is no host, nothing
// if it cannot be one.
std::optional<std::string> normal_host(std::string_view host);

}  // namespace weir::identity
