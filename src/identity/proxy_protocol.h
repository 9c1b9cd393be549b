// The PROXY protocol, versions 1 (text) and 2 (binary): a load balancer's first bytes on a connection, saying who is
// at its other end. Only for listeners whose peers are trusted to send it; a peer that may send it may claim any
// address.
//
// A pure function over the bytes received so far; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/ip_address.h"

namespace weir::identity {

// The longest line of version 1, and what we take of version 2: addresses and a good measure of TLVs, which are
// skipped.
inline constexpr std::size_t kMaxProxyLine = 107;
inline constexpr std::size_t kMaxProxyBinary = 4096;

struct ProxyHeader {
  enum class State : std::uint8_t { incomplete, complete, malformed };

  State state = State::malformed;
  std::size_t length = 0;  // bytes to drop from the connection; only when complete
  // Absent: the connection is the balancer's own (a health check) or of a kind without addresses.
  std::optional<base::IpAddress> source;
  std::uint16_t source_port = 0;
};

ProxyHeader parse_proxy_header(std::string_view bytes);

}  // namespace weir::identity
