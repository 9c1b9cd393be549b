// ServerContext: what all modules share, and where they register.
//
//   context.add_listener({.name = "grpc", .address = context.config.listen_grpc, .protocols = …});
//   context.add_task(std::chrono::seconds(1), [this] { poll(); });
//   context.add_facts([this](observe::Facts& facts) { facts.store_keys = keys(); });
//
// The add_ functions are for Module::start(), on one thread; what they were given is called from then on: protocols and
// routes once for each loop, tasks on the background thread, facts and health from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/http/api.h"
#include "frontends/http/router.h"
#include "frontends/transport/connection_memory.h"
#include "frontends/transport/login_guard.h"
#include "frontends/transport/loops.h"
#include "keys/key_ring.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "server/background_tasks.h"
#include "server/config.h"
#include "weir/time.h"

namespace weir::server {

struct Listener {
  std::string name;  // as in `listen.<name>`
  std::string address;
  bool has_credentials = false;  // it asks for a token or a password
  std::function<transport::ProtocolFactory(std::size_t loop)> protocols;
};

// The JSON object that /readyz shows, section by section.
class HealthDetails {
 public:
  explicit HealthDetails(bool for_operators) : for_operators_(for_operators) {}

  // File names and texts of rules are shown only to operators.
  bool for_operators() const { return for_operators_; }
  // `name` needs no escape; `members` is the inside of a JSON object.
  void add_section(std::string_view name, std::string_view members);
  const std::string& sections() const { return sections_; }

 private:
  const bool for_operators_;
  std::string sections_;
};

// `,"error":"…"`, cut to what a health report shows.
std::string error_member(std::string_view error);

class ServerContext {
 public:
  using AddRoutes = std::function<void(http::Router&, std::size_t loop)>;
  using AddFacts = std::function<void(observe::Facts&)>;
  using AddHealth = std::function<void(HealthDetails&)>;

  ServerContext(const Config& settings, std::shared_ptr<ProcessClock> process_clock, observe::Log& to,
                const keys::KeyRing& ring);

  // Constant after construction. The log is borrowed.
  const Config config;
  const std::shared_ptr<ProcessClock> clock;
  observe::Log& log;
  const keys::KeyRing keys;
  const TimePoint started;
  const std::shared_ptr<transport::LoginGuard> logins;                   // of all listeners
  const std::shared_ptr<transport::ConnectionMemory> connection_memory;  // of the connections of all listeners

  std::atomic<bool> draining{false};
  std::unique_ptr<transport::Loops> loops;
  BackgroundTasks tasks;

  void add_listener(Listener listener) { listeners_.push_back(std::move(listener)); }
  // Routes for the listener of that name, if it speaks HTTP ("http", "admin").
  void add_routes(std::string_view listener, AddRoutes add) { routes_.emplace_back(listener, std::move(add)); }
  void add_task(Duration period, std::function<void()> task) { tasks.add(period, std::move(task)); }
  void add_facts(AddFacts add) { facts_.push_back(std::move(add)); }
  void add_health(AddHealth add) { health_.push_back(std::move(add)); }

  const std::vector<Listener>& listeners() const { return listeners_; }
  // A router with everything registered for the listener. Each loop has its own.
  std::shared_ptr<http::Router> make_router(std::string_view listener, std::size_t loop) const;
  // What every module has to say, for a scrape.
  observe::Facts facts() const;
  // Ready until the server drains. Invalid rules do not make it unready, because the last good ones stay loaded. Nor
  // does a store that is away: failure policies answer, and a load balancer that took every node out for it would turn
  // a degraded service into none.
  http::HealthReport health(bool for_operators) const;

 private:
  std::vector<Listener> listeners_;
  std::vector<std::pair<std::string, AddRoutes>> routes_;
  std::vector<AddFacts> facts_;
  std::vector<AddHealth> health_;
};

}  // namespace weir::server
