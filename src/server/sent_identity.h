// SentIdentity: identity behind the hook of the front ends whose callers send the attributes themselves: the HTTP API,
// gRPC and the Redis protocol (`identity.apply`). One for each loop and front end: its buffers are reused.
//
// Borrows the live identity, the clock and the log.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "frontends/transport/request_identity.h"
#include "identity/identity.h"
#include "observe/log.h"
#include "server/live_identity.h"
#include "weir/time.h"

namespace weir::server {

class SentIdentity final : public transport::RequestIdentity {
 public:
  SentIdentity(LiveIdentity& live, Clock& clock, observe::Log& log) : live_(live), clock_(clock), log_(log) {}

  void begin() override;
  std::optional<transport::RequestRefusal> add(std::span<const Attribute> sent) override;
  std::optional<transport::RequestRefusal> add_descriptor(std::span<const Attribute> sent) override;
  std::optional<transport::RequestRefusal> end_descriptors() override;
  transport::IdentifiedAttributes identified(std::size_t i) const override {
    return {requests_.attributes(i), requests_.derived(i)};
  }

 private:
  transport::RequestRefusal refused(const identity::SentRefusal& refusal);

  LiveIdentity& live_;
  Clock& clock_;
  observe::Log& log_;
  IdentitySnapshot identity_{live_};
  TimePoint now_{};
  identity::SentRequests requests_;
};

}  // namespace weir::server
