#include "server/proxy_preamble.h"

#include <optional>

#include "identity/proxy_protocol.h"

namespace weir::server {
namespace {

using State = transport::PreambleOutcome::State;

// Without the address: it may be a client's.
transport::PreambleOutcome refused(observe::Log& log, std::string_view cause) {
  log.warn("proxy_protocol_refused", "a connection did not begin with a PROXY header from a trusted proxy",
           {{"cause", cause}});
  return {};
}

}  // namespace

transport::Preamble proxy_preamble(const LiveIdentity& live, observe::Log& log) {
  return [&live, &log](std::string_view bytes, const transport::Peer& peer) -> transport::PreambleOutcome {
    std::optional<base::IpAddress> address;
    if (!peer.address.empty()) address = base::parse_ip(peer.address);
    if (!live.current()->trusts(address)) return refused(log, "untrusted");
    const identity::ProxyHeader header = identity::parse_proxy_header(bytes);
    if (header.state == identity::ProxyHeader::State::malformed) return refused(log, "malformed");
    transport::PreambleOutcome outcome;
    if (header.state == identity::ProxyHeader::State::incomplete) {
      outcome.state = State::incomplete;
      return outcome;
    }
    outcome.state = State::complete;
    outcome.length = header.length;
    if (header.source) {
      outcome.address = base::ip_text(*header.source);
      outcome.port = header.source_port;
    }
    return outcome;
  };
}

}  // namespace weir::server
