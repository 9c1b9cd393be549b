// Decisions in process: nanoseconds of CPU per check, one JSON object a line for bench/run.py.
//
//   engine_bench [rounds [parts of the names of the cases to measure, separated by commas]]
//
// Every case is measured in short rounds that take turns, and the median is printed, so that a machine whose speed
// drifts slows the floor and the engine alike.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "bench/bare_table.h"
#include "bench/name_parts.h"
#include "bench/quota_bench.h"
#include "engine/boot_clock.h"
#include "observe/hot_keys.h"
#include "observe/journal.h"
#include "stores/leased/leased_store.h"
#include "stores/memory/memory_store.h"
#include "stores/synced/synced_store.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/prepared_check.h"
#include "weir/reservations.h"

namespace weir::bench {
namespace {

constexpr std::uint64_t kKeys = 1'000'000;
constexpr int kChecksPerRound = 400'000;

std::uint64_t next_random(std::uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

std::uint64_t mix(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31);
}

// A 16-character key made on the spot: reading a million stored strings would measure the cache, not the engine.
std::string_view write_key(std::uint64_t number, char* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (int i = 15; i >= 0; --i, number >>= 4) out[i] = kDigits[number & 15];
  return {out, 16};
}

double thread_cpu_ns() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

// Refills so slowly that every key stays in the table: a bucket that is full again is forgotten.
Rule bucket_rule(const std::string& id) {
  Rule rule;
  rule.id = id;
  rule.match = {{"action", {"search"}}};
  rule.per = {"tenant", "api_key"};
  rule.allowance = {
      .algorithm = Algorithm::token_bucket, .limit = 1'000, .window = std::chrono::hours(24), .burst = 1'000'000'000};
  return rule;
}

std::unique_ptr<Limiter> make_limiter(const Rules& rules, LimiterOptions options = {}) {
  options.memory.max_bytes = std::size_t{4} << 30;
  auto limiter = Limiter::create(rules, options);
  if (!limiter.ok()) {
    std::cerr << limiter.failure().message << '\n';
    std::exit(1);
  }
  return std::move(limiter).value();
}

std::unique_ptr<Limiter> make_limiter(int matching, int others) {
  Rules rules;
  for (int i = 0; i < matching; ++i) rules.rules.push_back(bucket_rule("search-" + std::to_string(i)));
  for (int i = 0; i < others; ++i) {
    Rule rule = bucket_rule("other-" + std::to_string(i));
    rule.match = {{"action", {"action-" + std::to_string(i)}}};
    rules.rules.push_back(rule);
  }
  return make_limiter(rules);
}

// What a server adds to see hot subjects and to explain denials.
struct Watch {
  observe::HotKeyCounter hot_keys{42};
  observe::Journal journal{observe::JournalOptions{}, 1};

  LimiterOptions options(bool with_hot_keys, bool with_journal) {
    LimiterOptions made;
    if (with_hot_keys) made.observers.emplace_back(std::shared_ptr<void>(), &hot_keys);  // owned here
    if (with_journal) made.request_observers.push_back(journal.make_writer(0, 42));
    return made;
  }
  // As once a second, so that few of many decisions are looked at.
  void settle() {
    constexpr std::uint32_t kEvery = 32;
    hot_keys.take(std::make_unique<observe::HotKeyCounter::Table>(), kEvery);
  }
};

// Every check after the first is denied.
Rules denying_rules() {
  Rule rule = bucket_rule("denying");
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = 1, .window = std::chrono::hours(24 * 365)};
  return {.rules = {rule}};
}

// One rule with each of what protects, or all of it. The capacity for shedding is never reached.
enum class Protection : std::uint8_t { penalty, shedding, candidate, all };
Rules protected_rules(Protection with) {
  const auto has = [with](Protection one) { return with == one || with == Protection::all; };
  Rules rules{.rules = {bucket_rule("search-0")}};
  Rule& rule = rules.rules[0];
  if (has(Protection::penalty)) {
    rule.penalty = Penalty{.after = 3, .within = std::chrono::hours(1), .block = std::chrono::seconds(30)};
  }
  if (has(Protection::candidate)) rule.candidate = AllowanceChange{.limit = rule.allowance.limit - 1};
  if (has(Protection::shedding)) {
    rules.shedding = Shedding{.rate = 1'000'000'000,
                              .classes = {{.name = "critical", .match = {{"action", {"pay"}}}},
                                          {.name = "other", .match = {}, .shed_at = 80}}};
  }
  return rules;
}

std::unique_ptr<Limiter> make_lease_limiter() {
  Rules rules;
  Rule rule = bucket_rule("active");
  rule.kind = ChargeKind::lease;
  rule.allowance = {.algorithm = {}, .limit = 10, .window = Duration{0}};
  rule.lease = std::chrono::seconds(30);
  rules.rules.push_back(rule);
  return make_limiter(rules);
}

// One rule with overrides for tenants that do not ask, and one for the tenant that does.
std::unique_ptr<Limiter> make_limiter_with_overrides(int count) {
  Rule rule = bucket_rule("search-0");
  for (int i = 0; i < count; ++i) {
    Override override;
    override.when = {{"tenant", {i == 0 ? "acme" : "tenant-" + std::to_string(i)}}};
    override.change.limit = 2'000;
    rule.overrides.push_back(override);
  }
  Rules rules;
  rules.rules.push_back(rule);
  return make_limiter(rules);
}

// One rule behind blocks that do not fit: half of them are about the API key, half about the address.
std::unique_ptr<Limiter> make_limiter_with_blocks(int count) {
  Rules rules;
  rules.rules.push_back(bucket_rule("search-0"));
  for (int i = 0; i < count; ++i) {
    weir::Block block;
    const std::string address =
        "10." + std::to_string(i / 65'536 % 256) + "." + std::to_string(i / 256 % 256) + "." + std::to_string(i % 256);
    if (i % 2 == 0) block.when = {{"api_key", {"blocked-" + std::to_string(i)}}};
    if (i % 2 == 1) block.when = {{"ip", {address + (i % 4 == 1 ? "/32" : "/28")}}};
    rules.blocks.push_back(block);
  }
  return make_limiter(rules);
}

// A hot key that is spent on this node: of 50 million units, a slice is a quarter of what a second needs.
Rules hot_rules(Consistency consistency) {
  Rules rules;
  rules.rules = {bucket_rule("hot")};
  rules.rules[0].allowance = {.algorithm = Algorithm::token_bucket,
                              .limit = 50'000'000,
                              .window = std::chrono::seconds(1),
                              .burst = 1'000'000'000};
  rules.rules[0].consistency = consistency;
  return rules;
}

std::unique_ptr<Limiter> make_leased_limiter() {
  LimiterOptions options;
  options.clock = std::make_shared<ProcessClock>();
  options.store = std::make_shared<leased::LeasedStore>(
      leased::Options{.store = std::make_shared<memory::MemoryStore>(), .clock = options.clock});
  return make_limiter(hot_rules(Consistency::leased), options);
}

// The same, charged afterwards: a report is due after half of a credit of 2 million units.
std::unique_ptr<Limiter> make_synced_limiter() {
  LimiterOptions options;
  options.clock = std::make_shared<ProcessClock>();
  const auto boot = std::make_shared<engine::BootClock>();
  const auto credit = std::make_shared<synced::Credit>();
  credit->set(25, boot->now() + std::chrono::hours(24));
  options.store = std::make_shared<synced::SyncedStore>(synced::Options{
      .store = std::make_shared<memory::MemoryStore>(), .clock = options.clock, .boot = boot, .credit = credit});
  return make_limiter(hot_rules(Consistency::synced), options);
}

// Requests are made outside of what is timed, a block at a time, so that a check is measured and not its caller; a
// block is small enough to stay in the cache beside the engine's own data.
constexpr std::size_t kBlock = 512;

class Block {
 public:
  void fill(std::uint64_t& state, std::uint64_t keys) {
    for (std::size_t i = 0; i < kBlock; ++i) {
      attributes_[i] = {Attribute{"tenant", "acme"},
                        {"api_key", write_key(next_random(state) % keys, texts_[i])},
                        {"action", "search"}};
      requests[i] = Request(attributes_[i]);
    }
  }
  std::array<Request, kBlock> requests;

 private:
  char texts_[kBlock][16];
  std::array<std::array<Attribute, 3>, kBlock> attributes_;
};

// Runs `work` on `count` requests; the nanoseconds of CPU that it took for each.
template <typename Work>
double timed_blocks(int count, std::uint64_t keys, std::uint64_t seed, Work work) {
  const auto block = std::make_unique<Block>();
  double spent = 0;
  for (int done = 0; done < count; done += kBlock) {
    block->fill(seed, keys);
    const double before = thread_cpu_ns();
    work(*block);
    spent += thread_cpu_ns() - before;
  }
  return spent / count;
}

double check_some(Limiter& limiter, int count, std::uint64_t keys, std::uint64_t seed) {
  return timed_blocks(count, keys, seed, [&](const Block& block) {
    for (const Request& request : block.requests) {
      const Decision decision = limiter.check(request);
      if (decision.rules.empty()) std::abort();
    }
  });
}

double check_batches(Limiter& limiter, int count, std::uint64_t keys, std::uint64_t seed) {
  constexpr std::size_t kBatch = 16;
  std::vector<Decision> decisions(kBatch);
  return timed_blocks(count, keys, seed, [&](const Block& block) {
    for (std::size_t i = 0; i < kBlock; i += kBatch) {
      limiter.check_batch({&block.requests[i], kBatch}, decisions);
      if (decisions[0].rules.empty()) std::abort();
    }
  });
}

// A reservation and its settlement, each with a handle that is sealed and opened.
double reserve_some(Limiter& limiter, int count, std::uint64_t keys, std::uint64_t seed) {
  ReservationLimiter& budget = *limiter.reservations();
  return timed_blocks(count, keys, seed, [&](const Block& block) {
    for (const Request& request : block.requests) {
      ReservationQuestion question;
      question.request = request;
      question.amount = 3;
      const ReservationAnswer made = budget.reserve(question);
      if (budget.commit(made.handle, 2).returned != 1) std::abort();
    }
  });
}

// A lease is taken and released again: both calls together.
double lease_some(Limiter& limiter, int count, std::uint64_t keys, std::uint64_t seed) {
  LeaseLimiter& leases = *limiter.leases();
  return timed_blocks(count, keys, seed, [&](const Block& block) {
    for (const Request& request : block.requests) {
      LeaseQuestion question;
      question.request = request;
      const LeaseAnswer lease = leases.acquire(question);
      if (!lease.fencing_token || leases.release(lease.handle).fault != HoldFault::none) std::abort();
    }
  });
}

// One handle for every request: what is left when the rules and the key are known.
double check_prepared(PreparedCheck& prepared, int count, std::uint64_t seed) {
  return timed_blocks(count, 1, seed, [&](const Block& block) {
    for (std::size_t i = 0; i < block.requests.size(); ++i) {
      if (prepared.check().rules.empty()) std::abort();
    }
  });
}

class StoreTake final : public StoreCall {
 public:
  void complete() override {}
};

// The store alone: a take from one bucket whose key is given. No rules, no hashing of a
// subject, no verdict.
double store_some(Store& store, const Allowance& allowance, int count, std::uint64_t keys, std::uint64_t seed) {
  ProcessClock clock;
  Charge charge;
  ChargeOutcome outcome;
  charge.allowance = &allowance;
  std::vector<BucketKey> block(kBlock);
  double spent = 0;
  for (int done = 0; done < count; done += kBlock) {
    for (BucketKey& key : block) {
      key.low = mix(next_random(seed) % keys + 1);
      key.high = mix(key.low);
    }
    const double before = thread_cpu_ns();
    for (const BucketKey& key : block) {
      charge.key = key;
      StoreTake take;
      take.now = clock.now();
      take.charges = {&charge, 1};
      store.prefetch(take.charges);
      take.outcomes = {&outcome, 1};
      if (!store.begin(take)) std::abort();
    }
    spent += thread_cpu_ns() - before;
  }
  return spent / count;
}

// The clock is read each time, as any limiter must. The next key depends on what was left, so that one request follows
// another: a processor that guesses only the answer would already be fetching the next bucket.
double bare_some(BareTable& table, int count, std::uint64_t keys, std::uint64_t seed) {
  ProcessClock clock;
  const double before = thread_cpu_ns();
  for (int i = 0; i < count; ++i) {
    const std::uint64_t key = mix(next_random(seed) % keys + 1);
    seed += static_cast<std::uint64_t>(table.take(mix(key), key, micros(clock.now()), 1, 1'000'000'000));
  }
  return (thread_cpu_ns() - before) / count;
}

struct Case {
  std::string name;
  std::string floor;                                // the case whose median is this one's floor; empty: none
  std::function<double(std::uint64_t seed)> round;  // nanoseconds per check
  std::vector<double> samples;
};

double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

// Wall time per check of two threads on different keys: both start together, the slower one counts.
double two_threads_ns(Limiter& limiter, std::uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&] { check_some(limiter, kChecksPerRound, kKeys, mix(seed)); });
  check_some(limiter, kChecksPerRound, kKeys, seed);
  other.join();
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() /
         (2.0 * kChecksPerRound);
}

double one_thread_ns(Limiter& limiter, std::uint64_t seed) {
  const auto start = std::chrono::steady_clock::now();
  check_some(limiter, kChecksPerRound, kKeys, seed);
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kChecksPerRound;
}

int run(int rounds, const std::string& only) {
  auto one = make_limiter(1, 0);
  auto three = make_limiter(3, 0);
  auto ten = make_limiter(10, 0);
  auto three_of_many = make_limiter(3, 9'997);
  auto slots = make_lease_limiter();
  Watch watch;
  watch.settle();
  const Rules one_rule{.rules = {bucket_rule("search-0")}};
  auto unwatched = make_limiter(one_rule);
  auto with_hot_keys = make_limiter(one_rule, watch.options(true, false));
  auto with_journal = make_limiter(one_rule, watch.options(false, true));
  auto watched = make_limiter(one_rule, watch.options(true, true));
  auto with_penalty = make_limiter(protected_rules(Protection::penalty));
  auto with_shedding = make_limiter(protected_rules(Protection::shedding));
  auto with_candidate = make_limiter(protected_rules(Protection::candidate));
  auto with_all = make_limiter(protected_rules(Protection::all), watch.options(false, true));
  auto denying = make_limiter(denying_rules());
  auto denying_watched = make_limiter(denying_rules(), watch.options(true, true));
  auto overridden = make_limiter_with_overrides(1'000);
  auto leased = make_leased_limiter();
  auto synced = make_synced_limiter();
  auto blocking_one = make_limiter_with_blocks(2);
  auto blocking_many = make_limiter_with_blocks(100'000);
  QuotaLimiter quota(bucket_rule("quota"));
  const auto prepared = one->prepare({{"tenant", "acme"}, {"api_key", "0000000000000000"}, {"action", "search"}});
  BareTable table(21);
  memory::MemoryStore store({.max_bytes = std::size_t{4} << 30});
  const Allowance allowance = make_allowance(bucket_rule("store").allowance).value();

  std::vector<Case> cases;
  const auto add = [&](std::string name, std::string floor, auto work) {
    cases.push_back({std::move(name), std::move(floor), work, {}});
  };
  add("engine.bare_table.uniform_1m", "", [&](std::uint64_t s) { return bare_some(table, kChecksPerRound, kKeys, s); });
  add("engine.bare_table.hot", "", [&](std::uint64_t s) { return bare_some(table, kChecksPerRound, 1, s); });
  add("engine.store.uniform_1m", "engine.bare_table.uniform_1m",
      [&](std::uint64_t s) { return store_some(store, allowance, kChecksPerRound, kKeys, s); });
  add("engine.store.hot", "engine.bare_table.hot",
      [&](std::uint64_t s) { return store_some(store, allowance, kChecksPerRound, 1, s); });
  add("engine.check.uniform_1m", "engine.bare_table.uniform_1m",
      [&](std::uint64_t s) { return check_some(*one, kChecksPerRound, kKeys, s); });
  add("engine.check.hot", "engine.bare_table.hot",
      [&](std::uint64_t s) { return check_some(*one, kChecksPerRound, 1, s); });
  add("engine.check.prepared", "engine.check.hot",
      [&](std::uint64_t s) { return check_prepared(*prepared, kChecksPerRound, s); });
  add("engine.check.batch_16", "engine.bare_table.uniform_1m",
      [&](std::uint64_t s) { return check_batches(*one, kChecksPerRound, kKeys, s); });
  add("engine.check.quota_leased", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*quota, kChecksPerRound, 1, s); });
  add("engine.check.leased", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*leased, kChecksPerRound, 1, s); });
  add("engine.check.synced", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*synced, kChecksPerRound, 1, s); });
  add("engine.check.rules_1", "", [&](std::uint64_t s) { return check_some(*one, kChecksPerRound, 1000, s); });
  add("engine.check.rules_3", "engine.check.rules_1",
      [&](std::uint64_t s) { return check_some(*three, kChecksPerRound, 1000, s); });
  add("engine.check.rules_10", "engine.check.rules_1",
      [&](std::uint64_t s) { return check_some(*ten, kChecksPerRound, 1000, s); });
  add("engine.check.rules_3_of_10000", "engine.check.rules_3",
      [&](std::uint64_t s) { return check_some(*three_of_many, kChecksPerRound, 1000, s); });
  add("engine.check.unwatched", "", [&](std::uint64_t s) { return check_some(*unwatched, kChecksPerRound, 1000, s); });
  add("engine.check.hot_keys", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_hot_keys, kChecksPerRound, 1000, s); });
  add("engine.check.journal", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_journal, kChecksPerRound, 1000, s); });
  add("engine.check.watched", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*watched, kChecksPerRound, 1000, s); });
  add("engine.check.penalty", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_penalty, kChecksPerRound, 1000, s); });
  add("engine.check.shedding", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_shedding, kChecksPerRound, 1000, s); });
  add("engine.check.candidate", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_candidate, kChecksPerRound, 1000, s); });
  add("engine.check.protected", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*with_all, kChecksPerRound, 1000, s); });
  add("engine.check.denied", "engine.check.unwatched",
      [&](std::uint64_t s) { return check_some(*denying, kChecksPerRound, 1000, s); });
  add("engine.check.denied_watched", "engine.check.denied",
      [&](std::uint64_t s) { return check_some(*denying_watched, kChecksPerRound, 1000, s); });
  add("engine.check.overrides_1000", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*overridden, kChecksPerRound, 1, s); });
  add("engine.check.blocks_2", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*blocking_one, kChecksPerRound, 1, s); });
  add("engine.check.blocks_100000", "engine.check.hot",
      [&](std::uint64_t s) { return check_some(*blocking_many, kChecksPerRound, 1, s); });
  add("reservation.reserve_commit", "engine.check.hot",
      [&](std::uint64_t s) { return reserve_some(*one, kChecksPerRound / 8, 1, s); });
  add("lease.acquire_release", "engine.check.hot",
      [&](std::uint64_t s) { return lease_some(*slots, kChecksPerRound / 4, 1, s); });
  cases.push_back({"engine.threads_1", "", [&](std::uint64_t s) { return one_thread_ns(*one, s); }, {}});
  cases.push_back(
      {"engine.threads_2", "engine.threads_1", [&](std::uint64_t s) { return two_threads_ns(*one, s); }, {}});

  std::erase_if(cases, [&](const Case& each) { return !has_part(each.name, only); });
  std::uint64_t seed = 88172645463325252ULL;
  const auto asks_many = [](const Case& each) { return has_part(each.name, "uniform,batch,threads,bare_table,store"); };
  if (std::any_of(cases.begin(), cases.end(), asks_many)) {  // every key in place before the first round
    check_some(*one, 4'000'000, kKeys, seed);
    bare_some(table, 4'000'000, kKeys, seed);
    store_some(store, allowance, 4'000'000, kKeys, seed);
  }
  for (int round = 0; round < rounds; ++round) {
    for (Case& each : cases) each.samples.push_back(each.round(mix(++seed)));
  }
  for (const Case& each : cases) {
    const auto floor =
        std::find_if(cases.begin(), cases.end(), [&](const Case& other) { return other.name == each.floor; });
    std::printf("{\"name\":\"%s\",\"unit\":\"ns\",\"value\":%.1f", each.name.c_str(), median(each.samples));
    if (floor != cases.end()) {
      std::printf(",\"floor\":%.1f,\"ratio\":%.3f", median(floor->samples),
                  median(each.samples) / median(floor->samples));
    }
    std::printf("}\n");
  }
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 11;
  return weir::bench::run(rounds, argc > 2 ? argv[2] : "");
}
