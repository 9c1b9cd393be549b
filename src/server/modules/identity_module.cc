#include "server/modules/identity_module.h"

#include <string>
#include <utility>

#include "server/identity_settings.h"
#include "server/redis_settings.h"

namespace weir::server {
namespace {

bool uses_gateway_time(const Config& config) {
  if (!uses_redis(config)) return false;
  const Result<redis::RedisOptions> options = redis_options(config);
  return options.ok() && options.value().time == redis::TimeSource::gateway;
}

}  // namespace

IdentityModule::IdentityModule(ServerContext& context)
    : context_(context),
      identity_(context.config, context.keys, context.log),
      with_gateway_time_(uses_gateway_time(context.config)) {}

Status IdentityModule::start() {
  if (Status loaded = identity_.load(); !loaded.ok()) return Failure{Code::invalid_argument, loaded.failure().message};
  context_.add_task(kWatchPeriod, [this] { identity_.poll(); });
  note_where_it_is_off();
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

// Gateways that ask there are refused, which would be hard to explain otherwise.
void IdentityModule::note_where_it_is_off() const {
  const Config& config = context_.config;
  const auto note = [&](std::string_view front_end, const std::string& address) {
    if (address == kOff || identity_applies(config, front_end)) return;
    context_.log.info("identity_not_applied", "identity.apply does not list this front end; gateways are refused there",
                      {{"front_end", front_end}});
  };
  note("forward-auth", config.listen_http);
  note("spop", config.listen_spop);
}

std::shared_ptr<GatewayCallers> IdentityModule::make_callers(std::string_view front_end,
                                                             std::shared_ptr<GatewayTime> times) {
  if (!identity_applies(context_.config, front_end)) return nullptr;
  return std::make_shared<GatewayCallers>(identity_, *context_.clock, context_.log, std::move(times));
}

std::shared_ptr<SentIdentity> IdentityModule::make_sent(std::string_view front_end) {
  if (!identity_applies(context_.config, front_end)) return nullptr;
  return std::make_shared<SentIdentity>(identity_, *context_.clock, context_.log);
}

std::shared_ptr<GatewayTime> IdentityModule::make_gateway_time() {
  if (!with_gateway_time_) return nullptr;
  return std::make_shared<GatewayTime>(gateway_time_options(context_.config), identity_, *context_.clock, context_.log,
                                       gateway_times_);
}

void IdentityModule::add_facts(observe::Facts& facts) const {
  using Kind = identity::Refusal::Kind;
  facts.refused_callers = {{"malformed", identity_.refused(Kind::malformed)},
                           {"unauthenticated", identity_.refused(Kind::unauthenticated)},
                           {"revoked_key", identity_.refused(Kind::blocked)}};
  facts.identity_current = identity_.last_error().empty();
  facts.gateway_times = gateway_time_facts(with_gateway_time_, gateway_times_);
}

void IdentityModule::add_health(HealthDetails& details) const {
  const std::string error = identity_.last_error();
  if (error.empty()) return;
  details.add_section("identity", "\"current\":false" + (details.for_operators() ? error_member(error) : ""));
}

}  // namespace weir::server
