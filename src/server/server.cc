#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/rotating_limiter.h"
#include "frontends/envoy/rls_route.h"
#include "frontends/grpc/grpc_server.h"
#include "frontends/http/api.h"
#include "frontends/http/http_protocol.h"
#include "frontends/http/status_counts.h"
#include "frontends/resp/resp_protocol.h"
#include "frontends/spop/spop_protocol.h"
#include "frontends/transport/login_guard.h"
#include "frontends/transport/loops.h"
#include "observe/decision_counters.h"
#include "observe/decision_log.h"
#include "observe/json_text.h"
#include "observe/metrics.h"
#include "server/admin_routes.h"
#include "server/clock_watch.h"
#include "server/envoy_settings.h"
#include "server/gateway_callers.h"
#include "server/gateway_time.h"
#include "server/housekeeping.h"
#include "server/identity_keeper.h"
#include "server/listener_settings.h"
#include "server/memory_return.h"
#include "server/port_probe.h"
#include "server/proxy_preamble.h"
#include "server/redis_settings.h"
#include "server/redis_stores.h"
#include "server/rule_keeper.h"
#include "server/secret_warnings.h"
#include "server/secrets.h"
#include "server/shared_hash_key.h"
#include "server/snapshot_keeper.h"
#include "server/tls_keeper.h"
#include "server/version.h"
#include "stores/memory/memory_store.h"

namespace weir::server {
namespace {

// What the failure policy `local` counts in while the store does not answer.
constexpr std::size_t kFallbackBytes = std::size_t{16} << 20;
// How much of a rules error /readyz shows.
constexpr std::size_t kShownError = 2048;

constexpr Duration kClockPeriod = std::chrono::seconds(1);
constexpr Duration kSweepPeriod = std::chrono::milliseconds(10);
constexpr std::size_t kSlotsPerSweep = 8192;
constexpr Duration kMemoryReturnPeriod = std::chrono::seconds(1);
constexpr Duration kWatchPeriod = std::chrono::milliseconds(250);
// How long housekeeping waits to see that Redis still has the hash key.
constexpr Duration kHashKeyRecheckPatience = std::chrono::milliseconds(500);
constexpr Duration kHashKeyPeriod = std::chrono::seconds(10);

std::size_t loop_count(const Config& config) {
  if (config.loops > 0) return static_cast<std::size_t>(config.loops);
  return std::max(1U, std::thread::hardware_concurrency());
}

std::shared_ptr<memory::MemoryStore> make_memory_store(std::size_t max_bytes) {
  return std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = max_bytes});
}

}  // namespace

struct Server::Parts {
  Parts(const Config& settings, std::shared_ptr<ProcessClock> process_clock, observe::Log& to,
        const keys::KeyRing& ring);
  ~Parts();

  Status make_engines();
  std::shared_ptr<Observer> observer(std::shared_ptr<observe::DecisionCounters> counts);
  void make_rotating(const LimiterOptions& decider);
  Limiter& limiter(std::size_t loop);
  engine::Engine* incoming_engine(std::size_t loop) { return incoming.empty() ? nullptr : incoming[loop].get(); }
  std::shared_ptr<GatewayTime> gateway_time();
  Status listen();
  Status listen_on(std::string_view name, const std::string& address,
                   std::function<transport::ProtocolFactory(std::size_t)> protocols);
  void keep_house();
  void keep_hash_key();
  http::HealthReport health(bool with_details) const;
  observe::Facts facts() const;

  const Config config;
  const std::shared_ptr<ProcessClock> clock;
  observe::Log& log;
  const keys::KeyRing keys;
  const TimePoint started;
  RuleKeeper rules;
  IdentityKeeper identity;
  TlsKeeper tls;
  ClockWatch clock_watch;
  bool with_gateway_time = false;
  GatewayTimeCounts gateway_times;
  const std::shared_ptr<memory::MemoryStore> fallback;
  const std::shared_ptr<memory::MemoryStore> store;  // the one in this process: with Redis, the fallback
  SnapshotKeeper snapshot;
  std::unique_ptr<observe::Log> decision_lines;                      // null: no decision is logged
  std::vector<std::shared_ptr<observe::DecisionCounters>> counters;  // one for each loop, like the engines
  const std::shared_ptr<engine::BucketGenerations> generations =
      std::make_shared<engine::BucketGenerations>();               // shared by all engines
  std::vector<std::unique_ptr<engine::Engine>> engines;            // these decide
  std::vector<std::unique_ptr<engine::Engine>> incoming;           // during a rotation: those of the current key
  std::vector<std::unique_ptr<engine::RotatingLimiter>> rotating;  // during a rotation: both
  std::vector<std::shared_ptr<http::StatusCounts>> statuses;       // of the HTTP API, one for each loop
  std::unique_ptr<observe::Metrics> metrics;
  std::atomic<bool> draining{false};
  std::vector<std::pair<std::string, std::string>> addresses;  // of the listeners, by name, in order
  const std::shared_ptr<transport::LoginGuard> logins;
  const std::shared_ptr<transport::ConnectionMemory> memory;  // of the connections of all listeners
  MemoryReturn memory_return;
  std::unique_ptr<resp::RespService> resp;
  transport::Loops loops;              // stopped before what its handlers use goes away
  std::unique_ptr<RedisStores> redis;  // null: the memory store; it lives on the loops
  Housekeeping housekeeping;
};

Server::Parts::Parts(const Config& settings, std::shared_ptr<ProcessClock> process_clock, observe::Log& to,
                     const keys::KeyRing& ring)
    : config(settings),
      clock(std::move(process_clock)),
      log(to),
      keys(ring),
      started(clock->wall()),
      rules(config.rules_path, *clock, log, {}, *rules::format_from_name(config.rules_format)),
      identity(config, keys, log),
      tls(log),
      clock_watch(log),
      fallback(make_memory_store(kFallbackBytes)),
      store(uses_redis(config) ? fallback : make_memory_store(static_cast<std::size_t>(config.memory_max_bytes))),
      snapshot(*store, uses_redis(config) ? std::filesystem::path() : config.memory_snapshot, keys, log),
      logins(make_login_guard(clock, log)),
      memory(std::make_shared<transport::ConnectionMemory>(static_cast<std::size_t>(config.connection_memory))),
      memory_return(*memory),
      loops(loop_count(config)) {}

// Calls that still wait for Redis are answered by the engines, so those end last.
Server::Parts::~Parts() {
  housekeeping.stop();
  loops.stop();
  if (redis != nullptr) redis->close();
}

Status Server::Parts::make_engines() {
  if (uses_redis(config)) {
    const Result<redis::RedisOptions> options = redis_options(config);
    if (!options.ok()) return options.failure();
    with_gateway_time = options.value().time == redis::TimeSource::gateway;
    Result<std::unique_ptr<RedisStores>> stores = RedisStores::open(loops, options.value(), log);
    if (!stores.ok()) return stores.failure();
    redis = std::move(stores).value();
  }
  std::vector<const observe::DecisionCounters*> borrowed;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    statuses.push_back(std::make_shared<http::StatusCounts>());
    counters.push_back(std::make_shared<observe::DecisionCounters>(rules.labels()));
    borrowed.push_back(counters.back().get());
    LimiterOptions options;
    if (redis != nullptr) {
      options.store = redis->store(i);
    } else {
      options.store = store;
    }
    options.clock = clock;
    options.observer = observer(counters.back());
    options.hash_key = keys.previous.value_or(keys.current);
    options.prefilter = config.prefilter;
    engines.push_back(std::make_unique<engine::Engine>(rules.book(), options, fallback, generations));
    if (keys.previous) make_rotating(options);
  }
  metrics = std::make_unique<observe::Metrics>(std::move(borrowed), rules.labels(), [this] { return facts(); });
  return success();
}

// What sees a loop's decisions: its counters, with a sample of the lines behind them if any are wanted.
std::shared_ptr<Observer> Server::Parts::observer(std::shared_ptr<observe::DecisionCounters> counts) {
  const observe::DecisionSample sample{.allowed = config.log_decisions, .denied = config.log_denials};
  if (sample.none()) return counts;
  if (decision_lines == nullptr) {
    observe::Log::Options options = log.options();
    options.level = observe::Level::info;  // whoever asks for a sample wants to see it
    options.repeats_per_second = config.log_decisions_per_second;
    options.waits = false;
    decision_lines = std::make_unique<observe::Log>(options, *clock);
  }
  std::random_device seed;
  return std::make_shared<observe::DecisionLog>(std::move(counts), *decision_lines, sample,
                                                std::uint64_t{seed()} << 32 | seed());
}

// The counters hear of each decision once, from the engine that makes it.
void Server::Parts::make_rotating(const LimiterOptions& decider) {
  LimiterOptions options = decider;
  options.observer = nullptr;
  options.hash_key = keys.current;
  incoming.push_back(std::make_unique<engine::Engine>(rules.book(), std::move(options), fallback, generations));
  rotating.push_back(std::make_unique<engine::RotatingLimiter>(*engines.back(), *incoming.back()));
}

Limiter& Server::Parts::limiter(std::size_t loop) {
  if (rotating.empty()) return *engines[loop];
  return *rotating[loop];
}

// For one loop; null unless requests are to be counted by their gateway's time.
std::shared_ptr<GatewayTime> Server::Parts::gateway_time() {
  if (!with_gateway_time) return nullptr;
  return std::make_shared<GatewayTime>(gateway_time_options(config), identity, *clock, log, gateway_times);
}

Status Server::Parts::listen_on(std::string_view name, const std::string& address,
                                std::function<transport::ProtocolFactory(std::size_t)> protocols) {
  const auto failed = [&](const Failure& failure) {
    return Failure{failure.code, failure.message + " (choose another with --listen-" + std::string(name) + ")"};
  };
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(address);
  if (!endpoint.ok()) return failed(endpoint.failure());
  if (Status free = probe_free(endpoint.value()); !free.ok()) return failed(free.failure());
  transport::ListenOptions options;
  options.endpoint = endpoint.value();
  options.limits = connection_limits(config);
  options.protocols = std::move(protocols);
  options.tls = tls.context_for(name);
  options.name = name;
  options.logins = logins;
  options.memory = memory;
  options.local_mode = static_cast<unsigned>(std::stoul(config.listen_unix_mode, nullptr, 8));
  const auto& proxied = config.listen_proxy_protocol;
  if (std::find(proxied.begin(), proxied.end(), name) != proxied.end()) {
    options.preamble = proxy_preamble(identity, log);
  }
  const Result<transport::Endpoint> bound = loops.listen(options);
  if (!bound.ok()) return failed(bound.failure());
  addresses.emplace_back(name, bound.value().text());
  return success();
}

Status Server::Parts::listen() {
  if (Status opened = tls.open(config); !opened.ok()) return opened;
  http::ApiOptions api;
  api.legacy_headers = config.http_legacy_headers;
  api.check_body_bytes = static_cast<std::size_t>(config.http_body_bytes);
  api.batch_body_bytes = static_cast<std::size_t>(config.http_body_bytes);
  api.health = [this] { return health(false); };
  const auto http = [&, this](std::size_t loop) {
    const std::shared_ptr<GatewayTime> times = gateway_time();
    api.callers = std::make_shared<GatewayCallers>(identity, *clock, log, times);
    api.times = times;
    const std::shared_ptr<http::Router> router = http::make_api_router(limiter(loop), api);
    envoy::add_rls_route(*router, limiter(loop), rls_options(config, *engines[loop], incoming_engine(loop)),
                         api.check_body_bytes, times);
    return http::http_protocols(router, message_limits(config), clock, statuses[loop]);
  };

  grpc::GrpcOptions grpc_options;
  grpc_options.clock = std::make_shared<SteadyClock>();
  grpc_options.ready = [this] { return !draining.load(std::memory_order_relaxed); };
  const auto grpc = [grpc_options, this](std::size_t loop) mutable {
    grpc_options.rls = rls_options(config, *engines[loop], incoming_engine(loop));
    grpc_options.times = gateway_time();
    return grpc::grpc_protocols(limiter(loop), grpc_options);
  };

  const Result<std::string> password = read_resp_password(config);
  if (!password.ok()) return password.failure();
  resp = std::make_unique<resp::RespService>(resp::RespOptions{.password = password.value(),
                                                               .user = "default",
                                                               .version = std::string(kVersion),
                                                               .listener = "resp",
                                                               .logins = logins});
  const auto redis_protocol = [this](std::size_t loop) -> transport::ProtocolFactory {
    return [this, loop](transport::Link& link) { return resp->serve(link, limiter(loop)); };
  };

  const auto spop = [this](std::size_t loop) -> transport::ProtocolFactory {
    spop::SpopOptions options;
    options.clients = std::make_shared<GatewayCallers>(identity, *clock, log, gateway_time());
    options.max_frame_bytes = spop_frame_bytes(config);
    return [this, loop, options](transport::Link& link) {
      return std::make_unique<spop::SpopProtocol>(link, limiter(loop), options);
    };
  };
  const auto admin = [this](std::size_t) {
    return http::http_protocols(
        make_admin_router({*metrics, config.admin_tokens, [this](bool details) { return health(details); }, logins}),
        message_limits(config), clock);
  };

  if (Status done = listen_on("http", config.listen_http, http); !done.ok()) return done;
  if (Status done = listen_on("grpc", config.listen_grpc, grpc); !done.ok()) return done;
  if (Status done = listen_on("resp", config.listen_resp, redis_protocol); !done.ok()) return done;
  if (Status done = listen_on("spop", config.listen_spop, spop); !done.ok()) return done;
  return listen_on("admin", config.listen_admin, admin);
}

void Server::Parts::keep_house() {
  housekeeping.add(kClockPeriod, [this] { clock_watch.poll(clock->read(), clock->steps().followed); });
  housekeeping.add(kMemoryReturnPeriod, [this] { memory_return.poll(); });
  housekeeping.add(kSweepPeriod, [this] { store->sweep(clock->now(), kSlotsPerSweep); });
  housekeeping.add(kWatchPeriod, [this] {
    rules.poll();
    identity.poll();
  });
  if (config.memory_snapshot_every > Duration(0)) {
    housekeeping.add(config.memory_snapshot_every, [this] { snapshot.save(); });
  }
  if (redis != nullptr) {
    const bool key_in_redis = config.hash_key_file.empty();
    housekeeping.add(kWatchPeriod, [this, key_in_redis] {
      if (redis->watch() && key_in_redis) keep_hash_key();
    });
    if (key_in_redis) housekeeping.add(kHashKeyPeriod, [this] { keep_hash_key(); });
  }
  housekeeping.start();
}

// A Redis that was flushed, or that restarted empty, no longer has the key that the running nodes hash with; a node
// that starts then would make another and count apart from them. So it is put back.
void Server::Parts::keep_hash_key() {
  if (redis->open_breaker()) return;
  const Result<redis::RedisOptions> options = redis_options(config);
  if (!options.ok()) return;
  const Result<HashKey> kept = agree_on_hash_key(options.value(), keys.current, kHashKeyRecheckPatience);
  if (!kept.ok() || kept.value() == keys.current) return;
  log.error("hash_key_differs", "Redis holds another hash key: limits are not shared with nodes that use it; restart",
            {{"key", hash_key_name(options.value())}});
}

// Rules that are refused do not make the server unready: the last good ones are in force. What is wrong with them is
// told to operators, not to the callers of the API. Nor does a store that is away: failure policies answer, and a load
// balancer that took every node out for it would turn a degraded service into none.
http::HealthReport Server::Parts::health(bool with_details) const {
  http::HealthReport report;
  report.ready = !draining.load(std::memory_order_relaxed);
  const std::string error = rules.book()->last_error();
  report.details = std::string("{\"ready\":") + (report.ready ? "true" : "false");
  report.details += std::string(",\"draining\":") + (report.ready ? "false" : "true");
  report.details += std::string(",\"rules\":{\"current\":") + (error.empty() ? "true" : "false");
  if (rules.retrying()) report.details += ",\"retrying\":true";
  if (with_details) {
    report.details += ",\"loaded\":" + std::to_string(rules.book()->current()->rules().size());
    if (!error.empty()) {
      report.details += ",\"error\":";
      observe::append_json_string(report.details, error, kShownError);
    }
  }
  report.details += "}";
  if (const std::string fault = identity.last_error(); !fault.empty()) {
    report.details += ",\"identity\":{\"current\":false";
    if (with_details) {
      report.details += ",\"error\":";
      observe::append_json_string(report.details, fault, kShownError);
    }
    report.details += "}";
  }
  if (redis != nullptr) {
    report.details += std::string(",\"store\":{\"kind\":\"redis\",\"state\":\"") +
                      redis::breaker_state_name(redis->breaker()) +
                      "\",\"fallback_ms\":" + std::to_string(redis->fallback_time().count()) + "}";
  }
  report.details += "}";
  return report;
}

observe::Facts Server::Parts::facts() const {
  observe::Facts facts;
  facts.version = kVersion;
  facts.started = started;
  facts.reloads_succeeded = rules.book()->successes();
  facts.reloads_failed = rules.book()->failures();
  facts.reloads_unchanged = rules.book()->unchanged();
  facts.rules_last_success = rules.book()->last_success();
  facts.rules_current = rules.book()->last_error().empty();
  facts.rules_loaded = rules.book()->current()->rules().size();
  const memory::MemoryStats stats = store->stats();
  facts.store_name = redis == nullptr ? store->name() : "fallback";
  facts.store_keys = stats.keys;
  facts.store_bytes = stats.bytes;
  facts.store_max_bytes = stats.max_bytes;
  facts.store_expired = stats.swept;
  facts.store_evictions = stats.evicted_idle;
  facts.store_refused_newcomers = stats.refused_newcomers;
  facts.store_coarse_charges = stats.coarse_charges;
  facts.snapshots_saved = snapshot.saved();
  facts.snapshots_failed = snapshot.failed();
  for (const auto& engine : engines) facts.local_denials += engine->local_denials();
  for (std::size_t p = 0; p < kFailurePolicyCount; ++p) {
    const auto policy = static_cast<FailurePolicy>(p);
    observe::PolicyCount& count = facts.fallbacks.emplace_back(observe::PolicyCount{failure_policy_name(policy), 0});
    for (const auto& engine : engines) count.count += engine->fallbacks(policy);
  }
  if (redis != nullptr) {
    facts.remote_store = redis->facts();
    for (const auto& engine : engines) facts.remote_store->prefilter_hits += engine->prefilter_hits();
  }
  constexpr std::string_view kClasses[http::kStatusClasses] = {"1xx", "2xx", "3xx", "4xx", "5xx"};
  for (std::size_t i = 0; i < http::kStatusClasses; ++i) {
    std::uint64_t sum = 0;
    for (const auto& status : statuses) sum += status->of_class(i + 1);
    facts.http_responses.push_back({kClasses[i], sum});
  }
  using Kind = identity::Refusal::Kind;
  facts.refused_callers = {{"malformed", identity.refused(Kind::malformed)},
                           {"unauthenticated", identity.refused(Kind::unauthenticated)},
                           {"revoked_key", identity.refused(Kind::blocked)}};
  facts.identity_current = identity.last_error().empty();
  for (const transport::LoginGuard::Count& each : logins->counts()) {
    facts.failed_logins.push_back({each.listener, each.kind, each.count});
  }
  const transport::Counters connections = loops.total();
  facts.connections_open = connections.open;
  facts.connections_accepted = connections.accepted;
  facts.connections_refused = connections.refused;
  facts.connections_timed_out = connections.timed_out;
  facts.clock_ahead = clock->read().ahead;
  facts.clock_steps_forward = clock->steps().forward;
  facts.clock_steps_backward = clock->steps().backward;
  facts.gateway_times = gateway_time_facts(with_gateway_time, gateway_times);
  facts.connection_bytes = memory->used();
  facts.connection_max_bytes = memory->limit();
  facts.connection_memory_refusals = memory->refused();
  const std::int64_t decision_lines_dropped = decision_lines == nullptr ? 0 : decision_lines->suppressed();
  facts.log_lines_suppressed = static_cast<std::uint64_t>(log.suppressed() + decision_lines_dropped);
  return facts;
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Server>> Server::start(const Config& config, std::shared_ptr<ProcessClock> clock,
                                              observe::Log& log) {
  const Result<keys::KeyRing> keys = choose_keys(config);
  if (!keys.ok()) return keys.failure();
  auto parts = std::make_unique<Parts>(config, std::move(clock), log, keys.value());
  if (Status made = parts->make_engines(); !made.ok()) return made.failure();
  if (Status loaded = parts->rules.load(); !loaded.ok()) {
    return Failure{Code::invalid_argument, loaded.failure().message};
  }
  if (Status known = parts->identity.load(); !known.ok()) {
    return Failure{Code::invalid_argument, known.failure().message};
  }
  // The addresses first: a second server started by mistake must not touch the snapshot of the first.
  if (Status listening = parts->listen(); !listening.ok()) return listening.failure();
  if (Status loaded = parts->snapshot.load(parts->clock->now()); !loaded.ok()) return loaded.failure();
  parts->keep_house();
  parts->loops.start();
  warn_about_secrets(config, log);
  if (keys.value().previous) {
    log.info("hash_key_rotation",
             "subjects are counted under two hash keys: drop the second one when the longest window has passed");
  }
  std::vector<observe::Field> where;
  for (const auto& [name, address] : parts->addresses) where.emplace_back(name, address);
  log.write(observe::Level::info, "listening", "ready", where);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() = default;

const std::string& Server::address(std::string_view listener) const {
  const auto found = std::find_if(parts_->addresses.begin(), parts_->addresses.end(),
                                  [&](const auto& each) { return each.first == listener; });
  assert(found != parts_->addresses.end());
  return found->second;
}
Status Server::reload() {
  warn_about_secrets(parts_->config, parts_->log);
  const Status keys = parts_->identity.reload();
  const Status certificates = parts_->tls.reload();
  Status rules = parts_->rules.reload();
  return !rules.ok() ? rules : !keys.ok() ? keys : certificates;
}

void Server::drain() {
  if (parts_->draining.exchange(true)) return;
  const Duration limit = parts_->config.drain_timeout;
  parts_->log.info("draining", "finishing what is begun", {{"timeout_ms", ceil_ms(limit)}});
  parts_->loops.drain(limit, parts_->config.drain_grace);
  parts_->housekeeping.stop();
  if (parts_->redis != nullptr) parts_->redis->close();
  parts_->snapshot.save();
  parts_->log.info("stopped", "stopped");
}

}  // namespace weir::server
