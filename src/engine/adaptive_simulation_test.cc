// AdaptiveLimit beside its rivals, in front of a simulated backend whose capacity is halved in mid-run. With the
// variable WEIR_FIGURES the figures and the course of the limits are written to that file (scripts/shedding_plots.py).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "engine/adaptive_simulation_test_support.h"

namespace weir::engine {
namespace {

constexpr int kSeeds = 3;
constexpr double kLoads[] = {1, 2, 5, 12};
constexpr std::string_view kNames[] = {"Weir", "Gradient2", "Vegas", "AIMD", "fixed 60"};
constexpr std::size_t kPolicies = 5;

std::unique_ptr<ConcurrencyPolicy> make_policy(std::size_t which) {
  switch (which) {
    case 0:
      return std::make_unique<OurPolicy>();
    case 1:
      return std::make_unique<Gradient2Policy>();
    case 2:
      return std::make_unique<VegasPolicy>();
    case 3:
      return std::make_unique<AimdPolicy>(0.5);  // five times the work of a request
    default:
      return std::make_unique<FixedPolicy>(60);  // a fifth more than the workers that there are at first
  }
}

// The mean over the seeds; the limits are those of the first.
Simulated simulate(const Backend& backend, std::size_t which) {
  Simulated mean;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    const std::unique_ptr<ConcurrencyPolicy> policy = make_policy(which);
    Simulated one = BackendSimulator(backend, *policy, static_cast<std::uint64_t>(seed)).run();
    mean.goodput += one.goodput / kSeeds;
    mean.p99_s += one.p99_s / kSeeds;
    mean.refused += one.refused / kSeeds;
    if (seed == 1) mean.limits = std::move(one.limits);
  }
  return mean;
}

TEST(AdaptiveSimulation, NoRivalIsBetterInBothAndEachIsWorseInBothSomewhere) {
  std::array<std::array<Simulated, kPolicies>, 4> results;
  for (std::size_t load = 0; load < std::size(kLoads); ++load) {
    Backend backend;
    backend.load = kLoads[load];
    for (std::size_t which = 0; which < kPolicies; ++which) results[load][which] = simulate(backend, which);
  }
  if (const char* const path = std::getenv("WEIR_FIGURES")) {
    std::ofstream out(path);
    for (std::size_t load = 0; load < std::size(kLoads); ++load) {
      for (std::size_t which = 0; which < kPolicies; ++which) {
        const Simulated& each = results[load][which];
        out << kLoads[load] << ',' << kNames[which] << ',' << each.goodput << ',' << each.p99_s << ',' << each.refused;
        for (const double limit : each.limits) out << ',' << limit;
        out << '\n';
      }
    }
  }
  for (std::size_t rival = 1; rival < kPolicies; ++rival) {
    bool worse_in_both = false;
    for (std::size_t load = 0; load < std::size(kLoads); ++load) {
      const Simulated& ours = results[load][0];
      const Simulated& theirs = results[load][rival];
      const bool better = theirs.goodput > 1.05 * ours.goodput && theirs.p99_s < 0.95 * ours.p99_s;
      EXPECT_FALSE(better) << kNames[rival] << " at " << kLoads[load] << "×: goodput " << theirs.goodput << ", p99 "
                           << theirs.p99_s << " s; ours " << ours.goodput << ", " << ours.p99_s << " s";
      worse_in_both = worse_in_both || (theirs.goodput < ours.goodput && theirs.p99_s > ours.p99_s);
    }
    EXPECT_TRUE(worse_in_both) << kNames[rival];
  }
}

// The work itself becomes slower: fewer at a time would only do less.
class SlowWork {
 public:
  // Runs for so long with this many in progress, each for `work`.
  void run(AdaptiveLimit& limit, Duration work, Duration length, std::int64_t workers) {
    const TimePoint end = now_ + length;
    while (now_ < end) {
      const std::int64_t held = limit.limit();
      const std::int64_t rate = std::min(held, workers);
      // One of them completes.
      const Duration gap = work / rate;
      now_ += std::max(gap, Duration(1));
      const double jitter = 0.75 + 0.5 * static_cast<double>(count_++ % 7) / 6;
      const auto took = static_cast<double>(work.count()) * static_cast<double>(held) / static_cast<double>(rate);
      limit.refused();
      limit.completed(Duration(static_cast<std::int64_t>(took * jitter)), now_);
    }
  }

 private:
  TimePoint now_ = from_micros(1'800'000'000'000'000);
  int count_ = 0;
};

TEST(AdaptiveLimit, DoesNotStarveWorkThatTakesLonger) {
  using namespace std::chrono_literals;
  AdaptiveLimit limit(AutoLimit{2, 400});
  SlowWork work;
  work.run(limit, 100ms, 60s, 50);
  EXPECT_GE(limit.limit(), 45);
  work.run(limit, 300ms, 120s, 50);
  EXPECT_GE(limit.limit(), 40) << "three times as long, by the same workers";
  EXPECT_GE(limit.baseline(), 250ms);
}

TEST(AdaptiveLimit, ALongOverloadDoesNotRaiseTheBaseline) {
  using namespace std::chrono_literals;
  AdaptiveLimit limit(AutoLimit{2, 400});
  SlowWork work;
  work.run(limit, 100ms, 30min, 50);
  EXPECT_LE(limit.baseline(), 115ms);
  EXPECT_LE(limit.limit(), 65);
  work.run(limit, 100ms, 60s, 10);
  EXPECT_LE(limit.limit(), 14) << "four of five workers are gone";
}

TEST(AdaptiveLimit, StaysWithinItsBounds) {
  using namespace std::chrono_literals;
  AdaptiveLimit limit(AutoLimit{3, 8});
  SlowWork work;
  EXPECT_EQ(limit.limit(), 3);
  work.run(limit, 20ms, 60s, 100);
  EXPECT_LE(limit.limit(), 8);
  EXPECT_GE(limit.limit(), 7);
  work.run(limit, 20ms, 60s, 1);
  EXPECT_GE(limit.limit(), 3);
  EXPECT_LE(limit.limit(), 5);
}

}  // namespace
}  // namespace weir::engine
