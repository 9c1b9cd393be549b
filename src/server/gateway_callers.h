// GatewayCallers: identity behind the HTTP front end's hook. One for each loop: its buffers are reused.
//
// Borrows the keeper, the clock and the log.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "frontends/http/forward_auth.h"
#include "identity/caller/identity.h"
#include "observe/log.h"
#include "server/identity_keeper.h"
#include "weir/time.h"

namespace weir::server {

class GatewayCallers final : public http::CallerReader {
 public:
  GatewayCallers(IdentityKeeper& keeper, Clock& clock, observe::Log& log) : keeper_(keeper), clock_(clock), log_(log) {}

  std::optional<http::CallerRefusal> read(const http::HttpRequest& request, const frontends::Peer& peer,
                                          http::Caller& caller) override;

 private:
  IdentityKeeper& keeper_;
  Clock& clock_;
  observe::Log& log_;
  std::uint64_t version_ = 0;
  std::shared_ptr<const identity::Identity> identity_;
  std::vector<identity::HeaderField> headers_;
  identity::CallerAttributes attributes_;
};

}  // namespace weir::server
