#include "stores/redis/redis_store.h"

#include <cassert>
#include <random>
#include <utility>

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

// Log in, choose the database, say who we are, load the scripts; with Sentinel also make sure that it is a master.
Greeting make_greeting(const RedisOptions& options, const ScriptSet& scripts) {
  using Expect = Greeting::Expect;
  Greeting greeting;
  if (!options.password.empty() || !options.user.empty()) {
    CommandWriter auth(greeting.commands, options.user.empty() ? 2 : 3);
    auth.word("AUTH");
    if (!options.user.empty()) auth.word(options.user);
    auth.word(options.password);
    greeting.replies.push_back(Expect::success);
  }
  if (options.database != 0) {
    CommandWriter(greeting.commands, 2).word("SELECT").number(options.database);
    greeting.replies.push_back(Expect::success);
  }
  if (!options.client_name.empty()) {
    CommandWriter(greeting.commands, 3).word("CLIENT").word("SETNAME").word(options.client_name);
    greeting.replies.push_back(Expect::anything);
  }
  for (const Script& script : scripts.all()) {
    CommandWriter(greeting.commands, 3).word("SCRIPT").word("LOAD").word(script.body);
    greeting.replies.push_back(Expect::success);
  }
  if (options.topology == Topology::sentinel) {
    CommandWriter(greeting.commands, 1).word("ROLE");
    greeting.replies.push_back(Expect::role_master);
  }
  return greeting;
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

Status check(const RedisOptions& options) {
  const auto bad = [](const char* what) { return Failure{Code::invalid_argument, std::string("store: ") + what}; };
  if (options.seeds.empty()) return bad("no server is given");
  if (options.connections < 1 || options.connections > kMaxConnections) return bad("connections: expected 1 to 64");
  if (options.max_in_flight < 1 || options.max_in_flight > kMaxInFlight) return bad("in_flight: expected 1 to 1000000");
  if (options.deadline.count() < 1 || options.connect_timeout.count() < 1) return bad("a timeout is not positive");
  return success();
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::open(boost::asio::io_context& loop, RedisOptions options,
                                                     BreakerListener listener) {
  if (Status status = check(options); !status.ok()) return status.failure();
  auto tls = make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  std::unique_ptr<RedisStore> store(
      new RedisStore(loop, std::move(options), std::move(tls).value(), std::move(listener)));
  store->directory_->open();
  return store;
}

RedisStore::RedisStore(boost::asio::io_context& loop, RedisOptions options, std::shared_ptr<TlsSetup> tls,
                       BreakerListener listener)
    : options_(std::move(options)),
      context_{loop,         options_, std::move(tls), make_greeting(options_, scripts_), stats_, std::move(listener),
               random_seed()},
      retry_timer_(loop, [this] { retry_all(); }),
      directory_(make_directory(context_)) {}

RedisStore::~RedisStore() {
  alive_ = false;
  retry_all();
  directory_.reset();
}

bool RedisStore::begin(StoreCall& call) {
  assert(call.charges.size() <= kMaxCharges && call.outcomes.size() == call.charges.size());
  StoreStats::add(stats_.calls);
  call.status = Code::ok;
  call.atomic = true;
  if (call.charges.empty()) return true;
  if (!alive_ || (idle_.empty() && operations_.size() >= options_.max_in_flight)) {
    stats_.add_failure(FailureKind::overload);
    call.status = Code::unavailable;
    return true;
  }
  Operation& operation = acquire();
  if (operation.begin(call, steady_clock::now())) return false;
  release(operation);
  return true;
}

Operation& RedisStore::acquire() {
  if (idle_.empty()) {
    OperationHost& host = *this;
    operations_.push_back(std::make_unique<Operation>(host));
    return *operations_.back();
  }
  Operation* const operation = idle_.back();
  idle_.pop_back();
  return *operation;
}

void RedisStore::release(Operation& operation) { idle_.push_back(&operation); }

void RedisStore::retry_later(Part& part) {
  retrying_.push_back(&part);
  if (!retry_timer_.armed()) retry_timer_.arm_after(kRetryDelay);
}

void RedisStore::retry_all() {
  std::vector<Part*> parts;
  parts.swap(retrying_);
  const SteadyTime now = steady_clock::now();
  for (Part* const part : parts) part->retry(now);
}

}  // namespace weir::redis
