#include "server/server.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "server/module.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/clock_module.h"
#include "server/modules/connections_module.h"
#include "server/modules/database_module.h"
#include "server/modules/decisions_module.h"
#include "server/modules/front_ends.h"
#include "server/modules/identity_module.h"
#include "server/modules/memory_module.h"
#include "server/modules/operators_module.h"
#include "server/modules/quota_module.h"
#include "server/modules/redis_module.h"
#include "server/modules/regions_module.h"
#include "server/modules/rules_module.h"
#include "server/modules/simulate_module.h"
#include "server/modules/tracing_module.h"
#include "server/modules/traffic_module.h"
#include "server/secret_warnings.h"
#include "server/secrets.h"
#include "server/server_context.h"

namespace weir::server {

struct Server::Parts {
  Parts(const Config& config, std::shared_ptr<ProcessClock> clock, observe::Log& log, const keys::KeyRing& keys)
      : context(config, std::move(clock), log, keys) {}
  ~Parts();

  template <typename M, typename... Arguments>
  M& add(Arguments&&... arguments) {
    auto made = std::make_unique<M>(context, std::forward<Arguments>(arguments)...);
    M& module = *made;
    modules.push_back(std::move(made));
    return module;
  }
  void add(std::unique_ptr<Module> module) { modules.push_back(std::move(module)); }

  void add_modules();
  Status start();
  void stop_modules();

  ServerContext context;
  std::vector<std::unique_ptr<Module>> modules;
  ConnectionsModule* connections = nullptr;  // among the modules
};

// Every capability of the server, each after the modules that it uses.
void Server::Parts::add_modules() {
  DatabaseModule& database = add<DatabaseModule>();
  AdminToolsModule& tools = add<AdminToolsModule>(database);
  RulesModule& rules = add<RulesModule>(tools);
  IdentityModule& identity = add<IdentityModule>();
  OperatorsModule& operators = add<OperatorsModule>(tools, rules, identity);
  add<ClockModule>();
  MemoryModule& memory = add<MemoryModule>(rules);
  RedisModule& redis = add<RedisModule>();
  const RegionsModule& regions = add<RegionsModule>(rules, tools);
  QuotaModule& quotas = add<QuotaModule>(database, tools, rules, identity, operators);
  TrafficModule& traffic = add<TrafficModule>(tools, rules);
  TracingModule& tracing = add<TracingModule>(tools);
  DecisionsModule& decisions = add<DecisionsModule>(rules, memory, redis, regions, traffic, quotas, tracing);
  connections = &add<ConnectionsModule>(identity);
  add(make_http_module(context, tools, decisions, identity, redis, tracing));
  add(make_grpc_module(context, decisions, identity, tracing));
  add(make_resp_module(context, decisions, identity));
  add(make_spop_module(context, decisions, identity));
  add(make_console_module(context));
  add<SimulateModule>(tools, rules, traffic);
  add(make_admin_module(context, tools, decisions, rules, *connections));
  add(make_traffic_routes_module(context, tools, rules, operators, traffic, decisions));
}

Status Server::Parts::start() {
  for (const auto& module : modules) {
    if (Status opened = module->open(); !opened.ok()) return opened;
  }
  for (const auto& module : modules) {
    if (Status started = module->start(); !started.ok()) return started;
  }
  if (Status bound = connections->bind(); !bound.ok()) return bound;
  for (const auto& module : modules) {
    if (Status ready = module->listening(); !ready.ok()) return ready;
  }
  context.tasks.start();
  context.loops->start();
  return success();
}

void Server::Parts::stop_modules() {
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) (*module)->stop();
}

// Nothing may run when modules are destroyed, and connections refer to modules:
// 1. background tasks and loops end, so no code of a module runs any more;
// 2. modules stop: Redis fails the calls that still wait, which the engines answer;
// 3. the loops go, and with them connections, timers and what these hold of modules;
// 4. the modules go, each before those that it uses.
Server::Parts::~Parts() {
  context.tasks.stop();
  context.loops->stop();
  stop_modules();
  context.loops.reset();
  while (!modules.empty()) modules.pop_back();
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<Server>> Server::start(const Config& config, std::shared_ptr<ProcessClock> clock,
                                              observe::Log& log) {
  const Result<keys::KeyRing> keys = choose_keys(config);
  if (!keys.ok()) return keys.failure();
  auto parts = std::make_unique<Parts>(config, std::move(clock), log, keys.value());
  parts->add_modules();
  if (Status started = parts->start(); !started.ok()) return started.failure();
  warn_about_secrets(config, log);
  for (const NamedText& variable : config.unknown_variables) {
    log.warn("unknown_variable", "unknown environment variable: it sets nothing" + variable.text,
             {{"variable", variable.name}});
  }
  std::vector<observe::Field> where;
  for (const auto& [name, address] : parts->connections->addresses()) where.emplace_back(name, address);
  log.write(observe::Level::info, "listening", "ready", where);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::~Server() = default;

const std::vector<std::pair<std::string, std::string>>& Server::addresses() const {
  return parts_->connections->addresses();
}

const std::string& Server::address(std::string_view listener) const {
  const auto found =
      std::find_if(addresses().begin(), addresses().end(), [&](const auto& each) { return each.first == listener; });
  assert(found != addresses().end());
  return found->second;
}

Status Server::reload() {
  warn_about_secrets(parts_->context.config, parts_->context.log);
  Status first = success();
  for (const auto& module : parts_->modules) {
    Status reloaded = module->reload();
    if (first.ok()) first = std::move(reloaded);
  }
  return first;
}

void Server::drain() {
  ServerContext& context = parts_->context;
  if (context.draining.exchange(true)) return;
  const Duration limit = context.config.drain_timeout;
  context.log.info("draining", "waiting for open connections to finish", {{"timeout_ms", ceil_ms(limit)}});
  for (const auto& module : parts_->modules) module->leaving();
  context.loops->drain(limit, context.config.drain_grace);
  context.tasks.stop();
  parts_->stop_modules();
  for (const auto& module : parts_->modules) module->drained();
  context.log.info("stopped", "stopped");
}

}  // namespace weir::server
