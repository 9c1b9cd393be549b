#include "server/gateway_callers.h"

#include "base/ascii.h"
#include "frontends/http/ingress_field.h"

namespace weir::server {
namespace {

using spop::ClientRequest;
using spop::MessageFault;

constexpr std::string_view kUnreadable = "the request could not be read";

http::CallerRefusal answer_to(const identity::Refusal& refusal) {
  // A revoked key gets the same answer as a wrong one: whether it was ever valid is not disclosed.
  return refusal.kind == identity::Refusal::Kind::malformed
             ? http::CallerRefusal{400, refusal.text}
             : http::CallerRefusal{401, "the credentials were not accepted"};
}

identity::Refusal malformed(const char* cause) { return {identity::Refusal::Kind::malformed, kUnreadable, cause}; }

void copy(std::span<const http::HttpField> fields, std::vector<identity::HeaderField>& to) {
  to.clear();
  for (const http::HttpField& field : fields) to.push_back({field.name, field.value});
}

}  // namespace

std::optional<http::CallerRefusal> GatewayCallers::read(const http::HttpRequest& request, const transport::Peer& peer,
                                                        http::Caller& caller) {
  identity_.renew();
  copy(request.fields, headers_);
  identity::Inbound inbound;
  inbound.method = request.method;
  inbound.target = request.path;  // the query is ours, not the client's
  inbound.headers = headers_;
  if (!peer.address.empty()) inbound.peer = base::parse_ip(peer.address);
  if (const http::HttpField* host = request.find("host")) inbound.host = host->value;
  if (!identity_->trusts(inbound.peer)) {
    // Without the address: it may be a client's.
    log_.warn("forward_auth_untrusted",
              "a request to /v1/forward-auth came from outside identity.trusted_proxies: its headers about the client "
              "are ignored");
  }
  caller.ingress = http::ingress_of(request, peer, times_.get());
  return outcome(identity_->identify_forwarded(inbound, clock_.wall(), attributes_), caller);
}

std::optional<http::CallerRefusal> GatewayCallers::read(const ClientRequest& request, http::Caller& caller) {
  identity_.renew();
  copy(request.headers, headers_);
  copy(request.gateway_fields, gateway_fields_);
  for (const identity::HeaderField& field : gateway_fields_) {
    if (identity_->asks_gateway_for(field.name) || is_time(field)) continue;
    log_.warn("spop_argument_unused",
              "with the argument headers, other arguments become attributes only by identity.attributes, as gateway: "
              "and the name",
              {{"argument", field.name}});
  }
  identity::Inbound inbound;
  inbound.method = request.method;
  inbound.target = request.uri;
  inbound.headers = headers_;
  inbound.scheme = request.scheme;
  inbound.gateway_fields = gateway_fields_;
  inbound.peer = base::parse_ip(request.src);
  // Without an address a peer would be a local one, and trusted.
  if (!inbound.peer) return refused(malformed("src"));
  const identity::Field host = identity::find_header(headers_, "host");
  if (host.state == identity::Field::State::repeated) return refused(malformed("repeated_field"));
  inbound.host = host.value;
  caller.ingress = ingress_said();
  return outcome(identity_->identify(inbound, clock_.wall(), attributes_), caller);
}

void GatewayCallers::note(const MessageFault& fault) {
  live_.count(identity::Refusal::Kind::malformed);
  if (fault.cause == MessageFault::Cause::client) {
    return log_.debug("caller_refused", "refused before any rule was evaluated", {{"cause", fault.text}});
  }
  log_.error("spop_message_unusable",
             "HAProxy's message is not as docs/haproxy.md describes it: its requests are refused",
             {{"cause", fault.text}});
}

bool GatewayCallers::is_time(const identity::HeaderField& field) const {
  return times_ != nullptr && base::same_ignoring_case(field.name, times_->field_name());
}

// HAProxy's own argument: like all that it says itself, trusted.
TimePoint GatewayCallers::ingress_said() {
  if (times_ == nullptr) return {};
  std::size_t count = 0;
  std::string_view first;
  for (const identity::HeaderField& field : gateway_fields_) {
    if (is_time(field) && count++ == 0) first = field.value;
  }
  return times_->read_trusted(count, first);
}

http::CallerRefusal GatewayCallers::refused(const identity::Refusal& refusal) {
  live_.count(refusal.kind);
  log_.debug("caller_refused", "refused before any rule was evaluated", {{"cause", refusal.cause}});
  return answer_to(refusal);
}

std::optional<http::CallerRefusal> GatewayCallers::outcome(const std::optional<identity::Refusal>& refusal,
                                                           http::Caller& caller) {
  if (refusal) return refused(*refusal);
  caller.attributes = attributes_.attributes();
  caller.cost = attributes_.cost();
  return std::nullopt;
}

}  // namespace weir::server
