// Penalties, counts of different values and candidates on memory and on Redis, together in one call as a rules file can
// have them: every answer must be equal to the microsecond.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "stores/memory/memory_store.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

class ProtectionCase {
 public:
  explicit ProtectionCase(std::uint64_t seed) : random_(seed), key_(seed * 1'000) {
    for (int i = 0; i < 3; ++i) numbers_.push_back(any_allowance());
    distinct_ = allowance_of(below(2) == 0 ? Algorithm::fixed_window : Algorithm::sliding_log, 1 + below(5),
                             std::chrono::seconds(1 + below(30)));
    penalty_ = {.after = 1 + below(4),
                .within = std::chrono::seconds(1 + below(60)),
                .block = std::chrono::seconds(1 + below(30)),
                .factor = 1 + below(4),
                .max = below(2) == 0 ? Duration(0) : Duration(std::chrono::seconds(60 + below(300))),
                .on_denied = below(4) != 0,
                .on_reported = true,
                .decay = std::chrono::seconds(60 + below(300)),
                .challenges = below(3)};
    has_penalty_ = below(3) != 0;
    has_candidate_ = below(3) != 0;
    has_distinct_ = below(3) != 0;
  }

  // The bucket, one more that binds, a count of values (of a group sometimes two), then what belongs to the first.
  std::vector<Charge> charges(bool group) {
    std::vector<Charge> list = {bucket(0, numbers_[0]), bucket(1, numbers_[1])};
    list[1].binding = below(3) != 0;
    if (has_penalty_) list[0].penalty = &penalty_;
    for (int i = 0; has_distinct_ && i < (group ? 1 + below(2) : 1); ++i) {
      Charge value = bucket(2, distinct_);
      value.cost = below(6) == 0 ? 0 : 1;
      value.value = static_cast<std::uint64_t>(1 + below(4) + 4 * i);
      list.push_back(value);
    }
    if (has_penalty_) {
      Charge guard = bucket(3, numbers_[0]);
      guard.kind = ChargeKind::penalty;
      guard.penalty = &penalty_;
      guard.cost = 0;
      guard.binding = false;
      list.push_back(guard);
    }
    if (has_candidate_) {
      Charge candidate = bucket(4, numbers_[2]);
      candidate.candidate = true;
      candidate.binding = false;
      candidate.cost = list[0].cost;
      list.push_back(candidate);
    }
    return list;
  }

  Action action() {
    const int what = below(20);
    if (what == 0) return Action::reset;
    if (what < 3) return Action::refund;
    if (what < 5) return Action::peek;
    if (what == 5) return Action::report_success;
    return what < 8 ? Action::report_failure : Action::take;
  }
  Duration step() { return std::chrono::milliseconds(below(5) == 0 ? below(60'000) : below(1'500)); }
  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

 private:
  Allowance any_allowance() {
    return allowance_of(static_cast<Algorithm>(below(kAlgorithmCount)), 1 + below(5),
                        std::chrono::seconds(1 + below(20)));
  }
  Charge bucket(std::uint64_t number, const Allowance& allowance) {
    Charge charge = charge_of(allowance, key_ + number);
    charge.key.high = (key_ + number) * 0x9e3779b97f4a7c15U;
    charge.cost = 1 + below(2);
    charge.count_denied = number < 2 && below(6) == 0;
    return charge;
  }

  std::mt19937_64 random_;
  std::uint64_t key_;
  std::deque<Allowance> numbers_;
  Allowance distinct_;
  Penalty penalty_;
  bool has_penalty_ = false;
  bool has_candidate_ = false;
  bool has_distinct_ = false;
};

std::string text_of(const ChargeOutcome& outcome) {
  return "admitted " + std::to_string(outcome.admitted) + " too large " + std::to_string(outcome.too_large) +
         " penalized " + std::to_string(outcome.penalized) + " challenge " + std::to_string(outcome.challenge) +
         " remaining " + std::to_string(outcome.remaining) + " wait " + std::to_string(outcome.retry_after.count()) +
         " reset " + std::to_string(outcome.reset_after.count());
}

TEST(ProtectionDifferential, MemoryAndRedisAnswerAlike) {
  RedisServer server;
  RedisOptions options = parse_redis_url(server.url()).value();
  options.time = TimeSource::node;
  options.deadline = std::chrono::seconds(10);
  StoreHarness redis(options);
  const std::uint64_t first_seed = 1'118;
  for (std::uint64_t seed = first_seed; seed < first_seed + 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ProtectionCase dice(seed);
    memory::MemoryStore memory;
    TimePoint now = from_micros(1'800'000'000'000'000);
    for (int step = 0; step < 80; ++step) {
      const Action action = dice.action();
      std::vector<Charge> charges = dice.charges(action == Action::take);
      // As the engine does: a failure charges nothing, and a success clears what has a cost.
      const bool clears = action == Action::report_success && dice.below(2) == 0;
      if (action == Action::report_failure || (action == Action::report_success && !clears)) {
        for (Charge& charge : charges) charge.cost = 0;
      }
      TestCall expected(action, charges, now);
      ASSERT_TRUE(memory.begin(expected));
      TestCall got(action, charges, now);
      redis.run(got);
      ASSERT_EQ(got.status, Code::ok);
      for (std::size_t i = 0; i < charges.size(); ++i) {
        // When there is room for a second value of one call depends on what becomes of the first.
        if (i == 3 && charges[i].value != 0) {
          expected.outcomes[i].reset_after = got.outcomes[i].reset_after;
          expected.outcomes[i].retry_after = got.outcomes[i].retry_after;
        }
        ASSERT_EQ(got.outcomes[i], expected.outcomes[i])
            << "step " << step << " action " << static_cast<int>(action) << " charge " << i << " of " << charges.size()
            << (charges[i].candidate    ? ", a candidate"
                : charges[i].value != 0 ? ", a value"
                                        : "")
            << "\nmemory: " << text_of(expected.outcomes[i]) << "\nredis:  " << text_of(got.outcomes[i]);
      }
      now += dice.step();
    }
  }
}

}  // namespace
}  // namespace weir::redis::testing
