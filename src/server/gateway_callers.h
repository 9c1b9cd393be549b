// GatewayCallers: identity behind the hooks of the front ends that gateways speak to: forward auth (HTTP), and
// HAProxy's messages that carry a client's request (SPOP). One for each loop and front end: its buffers are reused.
//
// Borrows the live, the clock and the log.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "frontends/http/forward_auth.h"
#include "frontends/spop/client_reader.h"
#include "identity/identity.h"
#include "observe/log.h"
#include "server/gateway_time.h"
#include "server/live_identity.h"
#include "weir/time.h"

namespace weir::server {

class GatewayCallers final : public http::CallerReader, public spop::ClientReader {
 public:
  // `times` may be null: then the time of gateways is not used.
  GatewayCallers(LiveIdentity& live, Clock& clock, observe::Log& log, std::shared_ptr<GatewayTime> times = {})
      : live_(live), clock_(clock), log_(log), times_(std::move(times)) {}

  // A gateway's request about another one: trusted as far as the gateway is a trusted proxy.
  std::optional<http::CallerRefusal> read(const http::HttpRequest& request, const transport::Peer& peer,
                                          http::Caller& caller) override;
  // The request itself, from a HAProxy that is trusted because it reached our listener. Its client is the peer.
  std::optional<http::CallerRefusal> read(const spop::ClientRequest& request, http::Caller& caller) override;
  void note(const spop::MessageFault& fault) override;

 private:
  bool is_time(const identity::HeaderField& field) const;
  TimePoint ingress_said();
  http::CallerRefusal refused(const identity::Refusal& refusal);
  std::optional<http::CallerRefusal> outcome(const std::optional<identity::Refusal>& refusal, http::Caller& caller);

  LiveIdentity& live_;
  Clock& clock_;
  observe::Log& log_;
  const std::shared_ptr<GatewayTime> times_;
  IdentitySnapshot identity_{live_};
  std::vector<identity::HeaderField> headers_;
  std::vector<identity::HeaderField> gateway_fields_;
  identity::CallerAttributes attributes_;
};

}  // namespace weir::server
