#include <array>
#include <string>
#include <utility>
#include <vector>

#include "frontends/envoy/rls_route.h"
#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/http/status_counts.h"
#include "frontends/http/usage_handler.h"
#include "server/envoy_settings.h"
#include "server/listener_settings.h"
#include "server/log_settings.h"
#include "server/modules/front_ends.h"
#include "server/modules/tracing_module.h"
#include "server/redis_once.h"
#include "server/redis_settings.h"
#include "server/reset_audit.h"
#include "server/token_file.h"

namespace weir::server {
namespace {

class HttpModule final : public Module {
 public:
  HttpModule(ServerContext& context, AdminToolsModule& tools, DecisionsModule& decisions, IdentityModule& identity,
             const RedisModule& redis, const TracingModule& tracing)
      : context_(context),
        tools_(tools),
        decisions_(decisions),
        identity_(identity),
        redis_(redis),
        tracing_(tracing) {}

  Status start() override {
    if (Status loaded = load_tokens(); !loaded.ok()) return loaded;
    if (Status made = make_resets(); !made.ok()) return made;
    if (!uses_redis(context_.config)) {
      const auto entries = static_cast<std::size_t>(context_.config.http_idempotency_keys);
      once_table_ = std::make_shared<http::IdempotencyTable>(http::IdempotencyTable::Bounds{.entries = entries});
    }
    for (std::size_t i = 0; i < context_.loops->size(); ++i)
      statuses_.push_back(std::make_shared<http::StatusCounts>());
    context_.add_routes("http", [this](http::Router& router, std::size_t loop) { add_routes(router, loop); });
    context_.add_listener({.name = "http",
                           .address = context_.config.listen_http,
                           .has_credentials = tokens_ != nullptr,
                           .protocols = [this](std::size_t loop) {
                             return http::http_protocols(context_.make_router("http", loop),
                                                         message_limits(context_.config), context_.clock,
                                                         statuses_[loop]);
                           }});
    context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
    return success();
  }
  Status reload() override { return tokens_ == nullptr ? success() : tokens_->reload(); }

 private:
  Status load_tokens() {
    if (context_.config.http_tokens_file.empty()) return success();
    tokens_ = std::make_shared<TokenFile>(context_.config.http_tokens_file, http::kApiRoles, context_.log);
    if (Status loaded = tokens_->load(); !loaded.ok()) return loaded;
    context_.add_task(kWatchPeriod, [this] { tokens_->poll(); });
    context_.add_health([this](HealthDetails& details) {
      const std::string error = tokens_->last_error();
      if (error.empty()) return;
      details.add_section("tokens", "\"current\":false" + (details.for_operators() ? error_member(error) : ""));
    });
    return success();
  }
  Status make_resets() {
    Result<observe::DecisionLogOptions> lines = decision_log_options(context_.config, context_.keys);
    if (!lines.ok()) return lines.failure();
    ResetAudit::Options options{.node = tools_.node(),
                                .plain = lines.value().plain,
                                .secrets = std::move(lines.value().secrets),
                                .hash_key = lines.value().hash_key,
                                .name_of = {}};
    if (tokens_ != nullptr) {
      const http::TokenGuard reader("http", tokens_, nullptr);
      options.name_of = [tokens = tokens_, reader](const http::HttpRequest& request) {
        return tokens->name_of(reader.token_of(request));
      };
    }
    resets_ = std::make_shared<ResetAudit>(tools_.audit_queue(), context_.clock, std::move(options));
    return success();
  }
  void add_routes(http::Router& router, std::size_t loop) {
    const Config& config = context_.config;
    const std::shared_ptr<GatewayTime> times = identity_.make_gateway_time();
    http::ApiOptions options;
    options.headers = header_options(config);
    options.check_body_bytes = static_cast<std::size_t>(config.http_body_bytes);
    options.batch_body_bytes = static_cast<std::size_t>(config.http_body_bytes);
    options.health = [this] { return context_.health(/*for_operators=*/false); };
    options.callers = identity_.make_callers("forward-auth", times);
    options.times = times;
    options.identity = identity_.make_sent("http");
    options.tracing = tracing_.make_tracing();
    options.resets = resets_;
    options.once = {.table = once_table_,
                    .clock = context_.clock,
                    .keep = config.http_idempotency_ttl,
                    .required = config.http_require_idempotency_key};
    if (redis_.stores() != nullptr) {
      options.once.store = std::make_shared<RedisOnce>(*redis_.stores(), loop, context_.keys.current,
                                                       static_cast<std::size_t>(config.http_idempotency_keys));
    }
    if (tokens_ != nullptr) {
      using From = http::TokenGuard::From;
      const auto guard = std::make_shared<http::TokenGuard>("http", tokens_, context_.logins);
      router.set_guard(guard);
      options.caller_of = [guard](const http::HttpRequest& request) {
        return token_hash_text(guard->token_of(request));
      };
      options.once.caller_of = options.caller_of;
      options.gateway_guard = std::make_shared<http::TokenGuard>("http", tokens_, context_.logins, From::own_field);
    }
    http::add_api_routes(router, decisions_.limiter(loop), options);
    http::add_usage_routes(router, decisions_.usage(loop),
                           {.body_bytes = options.batch_body_bytes,
                            .once = options.once,
                            .caller_of = options.caller_of,
                            .identity = options.identity});
    envoy::add_rls_route(router, decisions_.limiter(loop), rls_options(config, context_.clock),
                         options.check_body_bytes, times, options.identity, options.tracing);
  }

  void add_facts(observe::Facts& facts) const {
    constexpr std::array<std::string_view, http::kStatusClasses> kClasses = {"1xx", "2xx", "3xx", "4xx", "5xx"};
    for (std::size_t i = 0; i < kClasses.size(); ++i) {
      std::uint64_t sum = 0;
      for (const auto& status : statuses_) sum += status->of_class(i + 1);
      facts.http_responses.push_back({kClasses[i], sum});
    }
  }

  ServerContext& context_;
  AdminToolsModule& tools_;
  DecisionsModule& decisions_;
  IdentityModule& identity_;
  const RedisModule& redis_;
  const TracingModule& tracing_;
  // Null: answers are kept in Redis, for all nodes.
  std::shared_ptr<http::IdempotencyTable> once_table_;
  std::shared_ptr<TokenFile> tokens_;  // null: no token is needed
  std::shared_ptr<ResetAudit> resets_;
  std::vector<std::shared_ptr<http::StatusCounts>> statuses_;  // one for each loop
};

}  // namespace

std::unique_ptr<Module> make_http_module(ServerContext& context, AdminToolsModule& tools, DecisionsModule& decisions,
                                         IdentityModule& identity, const RedisModule& redis,
                                         const TracingModule& tracing) {
  return std::make_unique<HttpModule>(context, tools, decisions, identity, redis, tracing);
}

}  // namespace weir::server
