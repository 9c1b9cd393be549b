#include "stores/redis/redis_store.h"

#include <cassert>
#include <random>
#include <utility>

namespace weir::redis {
namespace {

using std::chrono::steady_clock;

// Log in, choose the database, say who we are, load the scripts; with Sentinel also make sure that it is a master.
Greeting make_greeting(const RedisOptions& options, const ScriptSet& scripts) {
  using Step = Greeting::Step;
  Greeting greeting;
  greet(greeting, options.user, options.password, options.database);
  if (!options.client_name.empty()) {
    CommandWriter(greeting.commands, 3).word("CLIENT").word("SETNAME").word(options.client_name);
    greeting.steps.push_back(Step::anything);
  }
  for (const Script& script : scripts.all()) {
    CommandWriter(greeting.commands, 3).word("SCRIPT").word("LOAD").word(script.body);
    greeting.steps.push_back(Step::script);
  }
  if (options.topology == Topology::sentinel) {
    CommandWriter(greeting.commands, 1).word("ROLE");
    greeting.steps.push_back(Step::role);
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
  if (!options.name_space.empty() && !is_namespace(options.name_space)) {
    return bad("namespace: expected at most 64 letters, digits, '.', '_' and '-'");
  }
  if (options.deadline.count() < 1 || options.connect_timeout.count() < 1) return bad("a timeout is not positive");
  return success();
}

}  // namespace

Result<std::unique_ptr<RedisStore>> RedisStore::open(boost::asio::io_context& loop, RedisOptions options,
                                                     StoreListener listener) {
  if (Status status = check(options); !status.ok()) return status.failure();
  auto tls = make_tls_setup(options.tls);
  if (!tls.ok()) return tls.failure();
  std::unique_ptr<RedisStore> store(
      new RedisStore(loop, std::move(options), std::move(tls).value(), std::move(listener)));
  store->directory_->open();
  return store;
}

RedisStore::RedisStore(boost::asio::io_context& loop, RedisOptions options, std::shared_ptr<TlsSetup> tls,
                       StoreListener listener)
    : options_(std::move(options)),
      scripts_(key_prefix(options_.name_space)),
      context_{.loop = loop,
               .options = options_,
               .scripts = scripts_,
               .tls = std::move(tls),
               .greeting = make_greeting(options_, scripts_),
               .stats = stats_,
               .listener = std::move(listener),
               .random = random_seed()},
      census_(options_.census != nullptr ? options_.census : std::make_shared<SubjectCensus>()),
      exchange_(*census_, context_),
      answers_(context_),
      members_(context_),
      retry_timer_(loop, [this] { retry_all(); }),
      directory_(make_directory(context_)) {}

RedisStore::~RedisStore() {
  alive_ = false;
  retry_all();
  directory_.reset();
}

bool RedisStore::begin(StoreCall& call, Origin origin) {
  assert(call.charges.size() <= kMaxCharges && call.outcomes.size() == call.charges.size());
  StoreStats::add(stats_.calls);
  call.status = Code::ok;
  call.atomic = true;
  if (call.charges.empty()) return true;
  if (call.hold != nullptr) call.hold->at = call.reading().wall();  // until the store has told its own
  if (origin == 0) origin = completing_;
  const std::size_t free = options_.max_in_flight - (operations_.size() - idle_.size());
  // One that waits with more than what is left for all others has its share.
  if (!alive_ || free == 0 || context_.queued.of(origin) > free) {
    stats_.add_failure(FailureKind::overload);
    call.status = Code::unavailable;
    return true;
  }
  Operation& operation = acquire();
  if (operation.begin(call, origin, steady_clock::now())) return false;
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

void RedisStore::complete(StoreCall& call, Origin origin) {
  const Origin outer = std::exchange(completing_, origin);
  call.complete();
  completing_ = outer;
}

void RedisStore::begin_once(const SharedAnswers::Ticket& ticket, std::size_t most, SharedAnswers::Begun done) {
  if (!alive_) return done(SharedAnswers::Found::unavailable, {});
  answers_.begin(ticket, most, *directory_, steady_clock::now(), std::move(done));
}

void RedisStore::finish_once(const SharedAnswers::Ticket& ticket, std::string_view answer, Duration delay,
                             Duration keep) {
  if (alive_) answers_.finish(ticket, answer, delay, keep, *directory_, steady_clock::now());
}

void RedisStore::forget_once(const SharedAnswers::Ticket& ticket) {
  if (alive_) answers_.forget(ticket, *directory_, steady_clock::now());
}

void RedisStore::beat(const MemberBeat& beat, MemberExchange::Answered done) {
  if (alive_) members_.beat(beat, *directory_, steady_clock::now(), std::move(done));
}

void RedisStore::bad_bucket(const Charge& charge, std::string_view why, SteadyTime now) {
  if (!context_.listener.on_bad_bucket) return;
  if (bad_bucket_told_ != SteadyTime{} && now - bad_bucket_told_ < kBadBucketPause) {
    ++bad_buckets_untold_;
    return;
  }
  bad_bucket_told_ = now;
  context_.listener.on_bad_bucket(bucket_name(charge, scripts_.key_prefix()), shown(why),
                                  std::exchange(bad_buckets_untold_, 0));
}

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
