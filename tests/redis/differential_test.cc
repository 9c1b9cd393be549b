// The same timed sequences on memory and on Redis: every answer must be equal to the microsecond.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "stores/memory/memory_store.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  bool one_in(std::int64_t sides) { return below(sides) == 0; }
  template <std::size_t N>
  std::int64_t pick(const std::int64_t (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

// From everyday rules to the largest that Redis is allowed to count.
Allowance any_allowance(Algorithm algorithm, std::int64_t buckets, Dice& dice) {
  const bool log = algorithm == Algorithm::sliding_log;
  while (true) {
    AllowanceSpec spec;
    spec.algorithm = algorithm;
    spec.limit = dice.pick({1, 2, 3, 7, 10, 100, 999, 65'537, 1'000'000, 999'999'999'989, kMaxUnits});
    if (log) spec.limit = 1 + spec.limit % 200;
    spec.window =
        Duration{dice.pick({1'000, 7'000, 1'000'000, 3'000'000, 60'000'000, 86'400'000'000, kMaxWindow.count()})};
    if (algorithm == Algorithm::bucketed_window) {
      spec.buckets = buckets;
      spec.window = Duration{(spec.window.count() / buckets) * buckets};
    }
    const std::int64_t capacity = 1 + dice.below(std::min<std::int64_t>(3 * spec.limit, kMaxUnits));
    if ((algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) && dice.one_in(2)) spec.burst = capacity;
    if (algorithm == Algorithm::leaky_bucket && dice.one_in(2)) spec.queue = capacity - 1;
    // Debts that take thousands of years to repay.
    if ((algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) && dice.one_in(10)) {
      spec.limit = 1;
      spec.window = kMaxWindow;
      spec.burst = 14'000;
    }
    const auto made = make_allowance(spec);
    if (made.ok()) return made.value();
  }
}

std::int64_t any_cost(const Allowance& allowance, Dice& dice) {
  const std::int64_t largest = std::min(allowance.largest_cost(), kMaxUnits);
  switch (dice.below(8)) {
    case 0:
      return 0;
    case 1:
      return largest;
    case 2:
      return std::min(largest + 1, kMaxUnits);
    case 3:
      return 1 + dice.below(largest);
    case 4:
      return dice.one_in(4) ? kMaxUnits : 1 + dice.below(largest / 4 + 1);
    default:
      return 1 + dice.below(std::min<std::int64_t>(3, largest));
  }
}

Duration any_step(const Allowance& allowance, Dice& dice) {
  const std::int64_t window = allowance.window.count();
  switch (dice.below(8)) {
    case 0:
      return Duration{-dice.below(window)};
    case 1:
      return Duration{dice.below(3 * window)};
    case 2:
      return Duration{window - 1 + dice.below(3)};
    case 3:
    case 4:
      return Duration{0};
    default:
      return Duration{dice.below(window / std::min(allowance.limit, window) + 2)};
  }
}

DrawStep any_draw(const Allowance& allowance, TimePoint now, Dice& dice) {
  DrawStep step;
  step.want = any_cost(allowance, dice);
  step.parts = 1 + dice.below(8);
  step.floor = dice.one_in(2) ? 0 : 1 + dice.below(std::min(allowance.largest_cost() / 5 + 1, kMaxUnits));
  if (dice.one_in(3)) step.late = 1 + dice.below(std::min(allowance.largest_cost() + 3, kMaxUnits));
  step.late_at = std::max(from_micros(0), now - Duration{dice.below(allowance.window.count() + 2)});
  return step;
}

class Differential : public ::testing::TestWithParam<int> {};

TEST_P(Differential, MemoryAndRedisAnswerAlike) {
  static RedisServer server;
  RedisOptions options = parse_redis_url(server.url()).value();
  options.time = TimeSource::node;
  options.deadline = std::chrono::seconds(10);
  StoreHarness redis(options);
  const auto algorithm = static_cast<Algorithm>(GetParam());
  const std::uint64_t first_seed = 20'261'115;
  std::uint64_t key = static_cast<std::uint64_t>(GetParam()) << 32U;

  for (std::uint64_t seed = first_seed; seed < first_seed + 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Dice dice(seed);
    memory::MemoryStore memory;
    const std::int64_t buckets = dice.pick({2, 3, 10, 100});
    // Limits change in the middle of a sequence; now and then the algorithm does.
    std::deque<Allowance> allowances;
    allowances.push_back(any_allowance(algorithm, buckets, dice));
    const bool alternating = dice.one_in(2);
    if (alternating) allowances.push_back(any_allowance(algorithm, buckets, dice));
    ++key;
    TimePoint now =
        from_micros(dice.one_in(5) ? dice.below(1'000'000) : 1'800'000'000'000'000 + dice.below(100'000'000));
    std::deque<TestCall> expected;
    std::deque<TestCall> got;
    std::deque<DrawStep> draws;  // two for each step
    for (int step = 0; step < 60; ++step) {
      if (dice.one_in(25)) {
        const auto other = static_cast<Algorithm>(dice.one_in(6) ? dice.below(kAlgorithmCount) : GetParam());
        allowances.push_back(any_allowance(other, buckets, dice));
      }
      // In half of the runs requests alternate between them, as plans and overrides make them do.
      const Allowance& allowance =
          alternating ? allowances[static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(allowances.size())))]
                      : allowances.back();
      // Up to the year 2096, so that a moment and all that may be added to it are exact.
      now = std::clamp(now + any_step(allowance, dice), from_micros(0), from_micros(4'000'000'000'000'000));
      Charge charge = charge_of(allowance, key);
      charge.key.high = key * 0x9e3779b97f4a7c15U;
      charge.cost = any_cost(allowance, dice);
      charge.count_denied = dice.one_in(5);
      charge.follows = charge.count_denied && dice.one_in(2);  // as a debt
      charge.binding = !dice.one_in(5);
      const std::int64_t what = dice.below(30);
      const Action action = what == 0    ? Action::reset
                            : what < 4   ? Action::refund
                            : what < 7   ? Action::peek
                            : what >= 22 ? Action::draw
                                         : Action::take;
      // A draw has no binding to tell, and its denials do not count.
      if (action == Action::draw) charge.count_denied = charge.follows = false;
      draws.push_back(any_draw(allowance, now, dice));
      draws.push_back(draws.back());
      expected.emplace_back(action, std::vector{charge}, now);
      expected.back().draw = &draws[draws.size() - 2];
      ASSERT_TRUE(memory.begin(expected.back()));
      got.emplace_back(action, std::vector{charge}, now);
      got.back().draw = &draws.back();
      redis.begin(got.back());
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      redis.wait(got[i]);
      ASSERT_EQ(got[i].status, Code::ok);
      const ChargeOutcome& a = expected[i].outcomes[0];
      const ChargeOutcome& b = got[i].outcomes[0];
      const Charge& charge = got[i].charges[0];
      const Allowance& allowance = *charge.allowance;
      ASSERT_TRUE(a.admitted == b.admitted && a.too_large == b.too_large && a.remaining == b.remaining &&
                  a.retry_after == b.retry_after && a.reset_after == b.reset_after && a.delay == b.delay)
          << "step " << i << " action " << static_cast<int>(got[i].action) << " cost " << charge.cost << " at "
          << micros(got[i].now) << " of " << algorithm_name(allowance.algorithm) << " limit " << allowance.limit
          << " window " << allowance.window.count() << " burst " << allowance.burst << " queue " << allowance.queue
          << "\nmemory: " << a.admitted << ' ' << a.remaining << ' ' << a.retry_after.count() << ' '
          << a.reset_after.count() << ' ' << a.delay.count() << "\nredis:  " << b.admitted << ' ' << b.remaining << ' '
          << b.retry_after.count() << ' ' << b.reset_after.count() << ' ' << b.delay.count();
      if (got[i].action != Action::draw) continue;
      const DrawStep& x = draws[2 * i];
      const DrawStep& y = draws[2 * i + 1];
      ASSERT_TRUE(x.granted == y.granted && x.lasts == y.lasts && x.at == y.at)
          << "step " << i << " draw of " << charge.cost << " to " << x.want << " parts " << x.parts << " floor "
          << x.floor << " late " << x.late << "\nmemory: " << x.granted << ' ' << x.lasts.count() << ' ' << micros(x.at)
          << "\nredis:  " << y.granted << ' ' << y.lasts.count() << ' ' << micros(y.at);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Differential, ::testing::Range(0, kAlgorithmCount), [](const auto& tested) {
  std::string name(algorithm_name(static_cast<Algorithm>(tested.param)));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace weir::redis::testing
