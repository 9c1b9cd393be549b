// IdentityModule: identifies callers: API keys, tokens, addresses and, if gateways send it, the time of arrival.
#pragma once

#include <memory>
#include <string_view>

#include "server/gateway_callers.h"
#include "server/gateway_time.h"
#include "server/live_identity.h"
#include "server/module.h"
#include "server/sent_identity.h"
#include "server/server_context.h"

namespace weir::server {

class IdentityModule final : public Module {
 public:
  explicit IdentityModule(ServerContext& context);

  Status start() override;
  Status reload() override { return identity_.reload(); }

  // Whom API keys belong to. Before start().
  void use_keys(std::shared_ptr<const identity::KeyDirectory> keys) { identity_.use_keys(std::move(keys)); }

  // For one loop and one front end; it shares `times`, which may be null. Null if identity does not apply to the front
  // end (`identity.apply`).
  std::shared_ptr<GatewayCallers> make_callers(std::string_view front_end, std::shared_ptr<GatewayTime> times);
  // The same for a front end whose callers send the attributes themselves.
  std::shared_ptr<SentIdentity> make_sent(std::string_view front_end);
  // For one loop; null unless requests are counted by their gateway's time.
  std::shared_ptr<GatewayTime> make_gateway_time();

  const LiveIdentity& identity() const { return identity_; }

 private:
  void note_where_it_is_off() const;
  void add_facts(observe::Facts& facts) const;
  void add_health(HealthDetails& details) const;

  ServerContext& context_;
  LiveIdentity identity_;
  const bool with_gateway_time_;
  GatewayTimeCounts gateway_times_;
};

}  // namespace weir::server
