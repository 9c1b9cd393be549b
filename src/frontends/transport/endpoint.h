// Endpoint: where a listener listens, as written in the configuration.
//
//   127.0.0.1:8080   [::1]:0   localhost:8080   unix:/run/weir/http.sock   off
//
// Plain data. Addresses are literal: a host name could resolve to another address later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/result.h"

namespace weir::transport {

struct Endpoint {
  enum class Kind : std::uint8_t { off, tcp, local };
  Kind kind = Kind::off;
  std::string host{};  // a literal address, without brackets
  std::uint16_t port = 0;
  std::string path{};  // of a Unix socket

  // In the notation above, so that it can be parsed again.
  std::string text() const;
};

// The failure's message quotes the text and says what is expected.
Result<Endpoint> parse_endpoint(std::string_view text);

}  // namespace weir::transport
