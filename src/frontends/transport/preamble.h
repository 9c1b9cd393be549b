// Preamble: bytes before a connection's protocol, and before TLS, that name the real peer: the PROXY
// protocol of load balancers. Another room defines their format and who may send them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "frontends/transport/protocol.h"

namespace weir::transport {

struct PreambleOutcome {
  enum class State : std::uint8_t { incomplete, complete, refused };

  State state = State::refused;
  std::size_t length = 0;  // bytes of the preamble; only when complete
  std::string address{};   // the client's; empty: the peer is the client
  int port = 0;
};

// Given all bytes received so far and the peer as the socket tells it, on any loop. Must call a preamble of
// unreasonable length refused.
using Preamble = std::function<PreambleOutcome(std::string_view bytes, const Peer& peer)>;

}  // namespace weir::transport
