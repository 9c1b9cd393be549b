// Rules with a penalty and a candidate, whose buckets are beside each other: one walk finds them, and what it answers
// must be what separate look-ups would.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "stores/memory/memory_store.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::charge_of;
using contract::OwnedCall;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);
constexpr std::uint64_t kOfThePenalty = 0x11;
constexpr std::uint64_t kOfTheCandidate = 0x22;

BucketKey subject_key(std::uint64_t number) {
  const std::uint64_t mixed = (number + 1) * 0x9e37'79b9'7f4a'7c15;
  return {mixed << 8U, mixed ^ (mixed << 21U)};
}

class CompanionsTest : public testing::Test {
 protected:
  enum class Place : std::uint8_t { beside, elsewhere };

  std::vector<Charge> accompanied(std::uint64_t number, Place place, std::int64_t cost = 1) const {
    const BucketKey own = subject_key(number);
    const auto key = [&](std::uint64_t bits) {
      return place == Place::beside ? BucketKey{own.high ^ bits, own.low} : subject_key(number + bits * 1'000);
    };
    Charge active = charge_of(own, active_, cost);
    active.penalty = &penalty_;
    Charge guard = charge_of(key(kOfThePenalty), active_, 0);
    guard.kind = ChargeKind::penalty;
    guard.penalty = &penalty_;
    guard.binding = false;
    Charge trial = charge_of(key(kOfTheCandidate), candidate_, cost);
    trial.candidate = true;
    trial.binding = false;
    return {active, guard, trial};
  }
  static std::vector<ChargeOutcome> run(MemoryStore& store, Action action, TimePoint now, std::vector<Charge> charges) {
    OwnedCall call(action, now, std::move(charges));
    EXPECT_TRUE(store.begin(call));
    return call.results();
  }

  const Allowance active_ = allowance_of(Algorithm::token_bucket, 4, seconds(4));
  const Allowance candidate_ = allowance_of(Algorithm::token_bucket, 3, seconds(4));
  const Penalty penalty_{.after = 3, .within = seconds(10), .block = seconds(2)};
  MemoryStore store_;
};

TEST_F(CompanionsTest, AnswerAsThoseThatAreFoundOneByOne) {
  constexpr std::uint32_t kSeed = 20'263;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937 random(kSeed);
  const auto below = [&](std::uint32_t most) {
    return std::uniform_int_distribution<std::uint32_t>(0, most - 1)(random);
  };
  MemoryStore apart;
  TimePoint now = kStart;
  int penalized = 0;
  for (int i = 0; i < 20'000; ++i) {
    now += milliseconds(below(40));
    const std::uint64_t number = below(40);
    const std::int64_t cost = below(4);
    const std::uint32_t kind = below(20);
    const Action action = kind == 0 ? Action::peek : kind == 1 ? Action::refund : Action::take;
    const auto together = run(store_, action, now, accompanied(number, Place::beside, cost));
    const auto separate = run(apart, action, now, accompanied(number, Place::elsewhere, cost));
    ASSERT_EQ(together, separate) << "step " << i;
    penalized += together[0].penalized ? 1 : 0;
    if (below(50) == 0) {
      store_.sweep(now, 100'000);
      apart.sweep(now, 100'000);
    }
  }
  EXPECT_GT(penalized, 100);
}

TEST_F(CompanionsTest, ASubjectWithStrikesIsNotTakenForOneWithout) {
  for (int i = 0; i < 4; ++i) run(store_, Action::take, kStart, accompanied(1, Place::beside));
  for (int i = 0; i < 3; ++i) run(store_, Action::take, kStart, accompanied(1, Place::beside));
  const auto later = run(store_, Action::take, kStart + seconds(1), accompanied(1, Place::beside));
  EXPECT_FALSE(later[0].admitted);
  EXPECT_TRUE(later[0].penalized);
  EXPECT_TRUE(run(store_, Action::take, kStart + seconds(3), accompanied(1, Place::beside))[0].admitted);
}

// Only the bits of the place are compared to find the walk: the rest of `low` belongs to the key.
TEST_F(CompanionsTest, NeighboursOfTheSameHomeAreOthers) {
  std::vector<Charge> first = accompanied(1, Place::beside);
  std::vector<Charge> second = first;
  for (Charge& charge : second) charge.key.low ^= std::uint64_t{1} << 25U;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(run(store_, Action::take, kStart, first)[0].admitted);
  EXPECT_FALSE(run(store_, Action::take, kStart, first)[0].admitted);
  const auto other = run(store_, Action::take, kStart, second);
  EXPECT_TRUE(other[0].admitted);
  EXPECT_EQ(other[0].remaining, 3);
  EXPECT_EQ(other[2].remaining, 2);
}

}  // namespace
}  // namespace weir::memory
