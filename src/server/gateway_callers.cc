#include "server/gateway_callers.h"

namespace weir::server {
namespace {

http::CallerRefusal answer_to(const identity::Refusal& refusal) {
  // A revoked key is told no more than a wrong one: that it was ever good is nobody's business.
  return refusal.kind == identity::Refusal::Kind::malformed
             ? http::CallerRefusal{400, refusal.text}
             : http::CallerRefusal{401, "the credentials were not accepted"};
}

}  // namespace

std::optional<http::CallerRefusal> GatewayCallers::read(const http::HttpRequest& request, const frontends::Peer& peer,
                                                        http::Caller& caller) {
  if (const std::uint64_t version = keeper_.version(); version != version_) {
    version_ = version;
    identity_ = keeper_.current();
  }
  headers_.clear();
  for (const http::HttpField& field : request.fields) headers_.push_back({field.name, field.value});

  identity::Inbound inbound;
  inbound.method = request.method;
  inbound.target = request.path;  // the query is ours, not the client's
  inbound.headers = headers_;
  if (!peer.address.empty()) inbound.peer = identity::parse_ip(peer.address);
  if (const http::HttpField* host = request.find("host")) inbound.host = host->value;
  if (!identity_->trusts(inbound.peer)) {
    // Without the address: it may be a client's.
    log_.warn(
        "forward_auth_untrusted",
        "/v1/forward-auth was asked from outside identity.trusted_proxies: what it says of the client is not believed");
  }
  const auto refusal = identity_->identify_forwarded(inbound, clock_.now(), attributes_);
  if (refusal) {
    keeper_.count(refusal->kind);
    log_.debug("caller_refused", "refused before any rule was asked", {{"cause", refusal->cause}});
    return answer_to(*refusal);
  }
  caller.attributes = attributes_.attributes();
  caller.cost = attributes_.cost();
  return std::nullopt;
}

}  // namespace weir::server
