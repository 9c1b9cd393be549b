// The same timed sequences of reservations on memory and on Redis: every answer must be equal to the microsecond.
#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <string>

#include "stores/memory/memory_store.h"
#include "tests/redis/redis_servers.h"
#include "tests/redis/store_harness.h"

namespace weir::redis::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kFirstSeed = 20'261'118;
constexpr std::uint64_t kSeeds = 60;
constexpr int kSteps = 70;

class ReservationDice {
 public:
  explicit ReservationDice(std::uint64_t seed) : random_(seed) {}
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(bound));
  }
  bool one_in(std::int64_t sides) { return below(sides) == 0; }
  template <typename T, std::size_t N>
  T pick(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  std::mt19937_64 random_;
};

// The number of sub-buckets is the same for all: with another one, memory gives back where it can without more memory.
Allowance any_allowance_of(Algorithm algorithm, std::int64_t buckets, ReservationDice& dice) {
  const std::int64_t limit = dice.pick({1L, 3L, 7L, 10L, 100L, 1'000L});
  const Duration window =
      dice.pick({Duration(milliseconds(7)), Duration(seconds(1)), Duration(seconds(3)), Duration(seconds(60))});
  AllowanceSpec spec{.algorithm = algorithm, .limit = limit, .window = window};
  if (algorithm == Algorithm::bucketed_window) spec.buckets = buckets;
  if (algorithm == Algorithm::bucketed_window) spec.window = Duration{window.count() / *spec.buckets * *spec.buckets};
  if (algorithm == Algorithm::leaky_bucket && dice.one_in(2)) spec.queue = dice.below(2 * limit);
  if ((algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) && dice.one_in(2)) {
    spec.burst = 1 + dice.below(2 * limit);
  }
  Allowance made = make_allowance(spec).value();
  made.overdraft = dice.one_in(3) ? dice.below(5) : made.largest_cost();
  made.charges_lapsed = dice.one_in(4);
  return made;
}

// One store under the sequence.
struct Answered {
  Code status = Code::ok;
  std::vector<ChargeOutcome> outcomes;
  HoldStep hold;
  std::vector<ListedHold> listed;
};

// Keys far from each other, as hashes are.
Charge spread_charge(const Allowance& allowance, std::uint64_t number) {
  Charge charge = charge_of(allowance, number);
  charge.key = {number * 0x9E3779B97F4A7C15, (number + 1) * 0xC2B2AE3D27D4EB4F};
  return charge;
}

std::string shown(const Answered& answered) {
  const HoldStep& hold = answered.hold;
  std::string text = "status " + std::to_string(static_cast<int>(answered.status)) + " hold " +
                     std::to_string(static_cast<int>(hold.state)) + " reserved " +
                     std::to_string(static_cast<int>(hold.reserved)) + " granted " + std::to_string(hold.granted) +
                     " actual " + std::to_string(hold.actual) + " returned " + std::to_string(hold.returned) +
                     " debt " + std::to_string(hold.debt) + " uncharged " + std::to_string(hold.uncharged) +
                     " expires " + std::to_string(micros(hold.expires));
  if (hold.state != HoldState::none) text += " token " + std::to_string(hold.token);
  for (const ChargeOutcome& each : answered.outcomes) {
    text += "\n  " + std::to_string(each.admitted) + (each.too_large ? " too large" : "") +
            (each.crowded ? " crowded" : "") + " remaining " + std::to_string(each.remaining) + " retry " +
            std::to_string(each.retry_after.count()) + " reset " + std::to_string(each.reset_after.count()) +
            " delay " + std::to_string(each.delay.count());
  }
  for (const ListedHold& each : answered.listed) {
    text += "\n  listed " + std::to_string(each.charge) + ' ' + std::to_string(each.id.low) + ' ' +
            std::to_string(each.units) + ' ' + std::to_string(micros(each.reserved)) + ' ' +
            std::to_string(micros(each.expires));
  }
  return text;
}

class ReservationDifferential : public ::testing::TestWithParam<int> {
 protected:
  static RedisOptions options() {
    static RedisServer server;
    RedisOptions options = parse_redis_url(server.url()).value();
    options.time = TimeSource::node;
    options.deadline = seconds(10);
    return options;
  }

  Answered on_memory(memory::MemoryStore& store, Action action, const std::vector<Charge>& charges,
                     const HoldStep* hold, TimePoint now) {
    return ask(action, charges, hold, now, [&](TestCall& call) { ASSERT_TRUE(store.begin(call)); });
  }
  Answered on_redis(Action action, const std::vector<Charge>& charges, const HoldStep* hold, TimePoint now) {
    return ask(action, charges, hold, now, [&](TestCall& call) { redis_.run(call); });
  }

  StoreHarness redis_{options()};

 private:
  template <typename Run>
  static Answered ask(Action action, const std::vector<Charge>& charges, const HoldStep* hold, TimePoint now, Run run) {
    Answered answered;
    TestCall call(action, charges, now);
    if (hold != nullptr) {
      answered.hold = *hold;
      if (hold->listed != nullptr) answered.hold.listed = &answered.listed;
      call.hold = &answered.hold;
    }
    run(call);
    answered.status = call.status;
    answered.outcomes.assign(call.outcomes.begin(), call.outcomes.end());
    return answered;
  }
};

TEST_P(ReservationDifferential, MemoryAndRedisAnswerAlike) {
  const auto algorithm = static_cast<Algorithm>(GetParam());
  const Allowance slots = make_concurrency({.algorithm = {}, .limit = 3, .window = Duration{0}}, seconds(5)).value();
  const Allowance none;
  std::uint64_t key = static_cast<std::uint64_t>(GetParam()) << 40U;
  for (std::uint64_t seed = kFirstSeed; seed < kFirstSeed + kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    ReservationDice dice(seed);
    memory::MemoryStore memory;
    const std::int64_t buckets = dice.pick({2L, 4L, 10L});
    std::deque<Allowance> allowances;
    allowances.push_back(any_allowance_of(algorithm, buckets, dice));
    allowances.push_back(any_allowance_of(dice.one_in(3) ? Algorithm::token_bucket : algorithm, buckets, dice));
    key += 100;
    TimePoint now = from_micros(1'800'000'000'000'000 + dice.below(100'000'000));
    for (int step = 0; step < kSteps; ++step) {
      // The numbers change now and then, and with them the window.
      if (dice.one_in(20)) allowances.push_back(any_allowance_of(algorithm, buckets, dice));
      const Duration window = allowances.front().window;
      now += dice.one_in(3) ? Duration{0}
                            : Duration{dice.below(dice.one_in(4) ? 2 * window.count() : window.count() / 4 + 1)};
      const auto any_bucket = [&](std::uint64_t number) {
        const std::size_t which =
            dice.one_in(4) ? static_cast<std::size_t>(dice.below(static_cast<std::int64_t>(allowances.size())))
                           : (number == 0 ? allowances.size() - 1 : 1);
        const Allowance& allowance = number == 0 && allowances[which].algorithm != algorithm && !dice.one_in(10)
                                         ? allowances.front()
                                         : allowances[which];
        Charge charge = spread_charge(allowance, key + number);
        charge.cost = dice.below(4);
        charge.binding = number == 0 || !dice.one_in(4);
        charge.count_denied = dice.one_in(6);
        return charge;
      };
      std::vector<Charge> charges = {any_bucket(0)};
      HoldStep hold;
      const HoldStep* asked = &hold;
      Action action = Action::take;
      std::vector<ListedHold> listed;
      const std::int64_t what = dice.below(20);
      if (what < 6) {
        asked = nullptr;
        action = what < 4 ? Action::take : what == 4 ? Action::refund : dice.one_in(3) ? Action::reset : Action::peek;
        if (what == 0) charges.push_back(any_bucket(1));
      } else {
        hold.reservation = true;
        const std::uint64_t id = key + 50 + static_cast<std::uint64_t>(dice.below(6));
        hold.id = spread_charge(none, id).key;
        hold.ttl = dice.one_in(3) ? Duration(milliseconds(10)) : Duration{10'000 + dice.below(3 * window.count())};
        hold.amount = dice.below(allowances.front().largest_cost() + 2);
        if (dice.one_in(3)) hold.amount = dice.below(3);
        hold.partial = dice.one_in(3);
        charges[0].follows = true;
        if (dice.one_in(2)) {
          charges.push_back(any_bucket(1));
          charges.back().follows = dice.one_in(2);
        }
        if (dice.one_in(3)) {
          charges.push_back(spread_charge(slots, key + 9));
          charges.back().kind = ChargeKind::lease;
        }
        if (what >= 12) hold.actual = dice.below(2 * allowances.front().largest_cost() + 2);
        if (what == 10 || what == 11) {
          action = Action::renew;
          if (dice.one_in(3)) hold.ttl = Duration{0};
        }
        if (what >= 12) action = Action::settle;
        if (what >= 16) hold.closing = ReservationState::released;
        if (what == 18) action = Action::peek;
        if (what == 19) action = Action::list;
        for (Charge& charge : charges) {
          if (charge.follows) charge.cost = action == Action::renew || action == Action::take ? hold.amount : 0;
        }
        if (action == Action::list && dice.one_in(2)) {
          hold.listed = &listed;
          charges.resize(1);
        } else {
          charges.push_back(spread_charge(none, key));
          charges.back().key = hold.id;
          charges.back().kind = ChargeKind::record;
        }
      }
      const Answered expected = on_memory(memory, action, charges, asked, now);
      const Answered got = on_redis(action, charges, asked, now);
      ASSERT_EQ(shown(got), shown(expected))
          << "step " << step << " action " << static_cast<int>(action) << " hold " << (asked != nullptr) << " amount "
          << hold.amount << " partial " << hold.partial << " ttl " << hold.ttl.count() << " id " << hold.id.high
          << " at " << micros(now) << " of " << algorithm_name(charges[0].allowance->algorithm) << " limit "
          << charges[0].allowance->limit << " window " << charges[0].allowance->window.count() << " charges "
          << charges.size();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, ReservationDifferential, ::testing::Range(0, kAlgorithmCount),
                         [](const auto& tested) {
                           std::string name(algorithm_name(static_cast<Algorithm>(tested.param)));
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace weir::redis::testing
