#include "observe/history.h"

#include <gtest/gtest.h>

#include "observe/history_sampler.h"

namespace weir::observe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

class HistoryTest : public testing::Test {
 protected:
  // Advances by `by` and counts.
  void count(Duration by, std::uint64_t allowed, std::uint64_t denied = 0) {
    sample_.at += by;
    sample_.totals[static_cast<std::size_t>(Total::allowed)] += allowed;
    sample_.totals[static_cast<std::size_t>(Total::denied)] += denied;
    history_.add(sample_);
  }
  void count_rule(std::string_view rule, std::uint64_t passed) {
    for (History::RuleCounts& each : sample_.rules) {
      if (each.rule == rule) {
        each.counts[0] += passed;
        return;
      }
    }
    sample_.rules.push_back({rule, {passed, 0, 0}});
  }
  static double sum(const std::vector<double>& values) {
    double all = 0;
    for (const double each : values) all += is_gap(each) ? 0 : each;
    return all;
  }
  std::vector<double> allowed(HistoryRange range) const {
    return history_.totals(range).values[static_cast<std::size_t>(Total::allowed)];
  }

  HistoryTest() {
    sample_.at = kStart;
    history_.add(sample_);
  }
  History::Sample sample_;
  History history_;
};

TEST_F(HistoryTest, EachSecondHasWhatWasCountedInIt) {
  count(seconds(1), 10);
  count(seconds(1), 20, 5);
  count(seconds(1), 0);
  const Series<kTotalCount> series = history_.totals(HistoryRange::five_minutes);
  EXPECT_EQ(series.step, seconds(1));
  const std::vector<double>& shown = series.values[static_cast<std::size_t>(Total::allowed)];
  ASSERT_GE(shown.size(), 3u);
  EXPECT_EQ(shown[shown.size() - 3], 10);
  EXPECT_EQ(shown[shown.size() - 2], 20);
  EXPECT_EQ(shown.back(), 0);
  EXPECT_EQ(series.start + series.step * static_cast<std::int64_t>(shown.size()), sample_.at);
  EXPECT_EQ(series.values[static_cast<std::size_t>(Total::denied)][shown.size() - 2], 5);
}

TEST_F(HistoryTest, StepsBeforeTheFirstSampleAreGaps) {
  count(seconds(1), 10);
  count(seconds(1), 10);
  const std::vector<double> shown = allowed(HistoryRange::five_minutes);
  EXPECT_TRUE(is_gap(shown.front()));
  EXPECT_TRUE(is_gap(shown[shown.size() - 3]));
  EXPECT_FALSE(is_gap(shown[shown.size() - 2]));
}

TEST_F(HistoryTest, SamplesThatComeLateAreDividedAmongTheStepsTheyCover) {
  count(milliseconds(1500), 30);
  count(milliseconds(1500), 60);
  count(seconds(1), 0);
  const std::vector<double> shown = allowed(HistoryRange::five_minutes);
  EXPECT_EQ(shown[shown.size() - 4], 20);
  EXPECT_EQ(shown[shown.size() - 3], 30);
  EXPECT_EQ(shown[shown.size() - 2], 40);
}

TEST_F(HistoryTest, ALongPauseIsAGapAndNotASpike) {
  count(seconds(1), 10);
  count(seconds(60), 1'000'000);
  count(seconds(1), 10);
  count(seconds(1), 10);
  const std::vector<double> shown = allowed(HistoryRange::five_minutes);
  EXPECT_TRUE(is_gap(shown[shown.size() - 30]));
  EXPECT_LE(sum(shown), 30);
}

TEST_F(HistoryTest, AStepThatPassesTwiceBecauseTheClockIsSetBackShowsTheAverage) {
  count(seconds(1), 10);
  sample_.at -= seconds(30);
  history_.add(sample_);
  count(seconds(1), 7);
  for (int i = 0; i < 31; ++i) count(seconds(1), 0);
  EXPECT_EQ(sum(allowed(HistoryRange::five_minutes)), 7 + 10 / 2);
}

TEST_F(HistoryTest, TheHourAndTheDayAreAveragesPerSecond) {
  for (int i = 0; i < 600; ++i) count(seconds(1), 5);
  const std::vector<double> hour = allowed(HistoryRange::hour);
  EXPECT_NEAR(hour[hour.size() - 2], 5, 1e-9);
  EXPECT_EQ(history_.totals(HistoryRange::hour).step, seconds(10));
  const std::vector<double> day = allowed(HistoryRange::day);
  EXPECT_NEAR(day[day.size() - 2], 5, 1e-9);
  EXPECT_LE(day.size(), 288u);
}

TEST_F(HistoryTest, OldStepsAreForgotten) {
  count(seconds(1), 1000);
  for (int i = 0; i < 320; ++i) count(seconds(1), 1);
  const std::vector<double> shown = allowed(HistoryRange::five_minutes);
  for (const double each : shown) EXPECT_EQ(each, 1);
}

TEST_F(HistoryTest, CountersThatBeginAgainCountFromZero) {
  count(seconds(1), 100);
  sample_.totals[static_cast<std::size_t>(Total::allowed)] = 3;
  count(seconds(1), 0);
  count(seconds(1), 0);
  EXPECT_EQ(sum(allowed(HistoryRange::five_minutes)), 103);
}

TEST_F(HistoryTest, RatesAreThoseOfTheLastTenSeconds) {
  for (int i = 0; i < 60; ++i) count(seconds(1), 1000);
  for (int i = 0; i < 12; ++i) count(seconds(1), 10, 30);
  EXPECT_NEAR(history_.rates()[static_cast<std::size_t>(Total::allowed)], 10, 1e-9);
  EXPECT_NEAR(history_.rates()[static_cast<std::size_t>(Total::denied)], 30, 1e-9);
  EXPECT_NEAR(history_.usual_denied_share(), 360.0 / (60'120 + 360), 1e-9);
}

TEST_F(HistoryTest, ARuleHasASeriesOfItsOwnAndATimeWhenItWasLastSeen) {
  count_rule("search", 0);
  count(seconds(1), 0);
  count_rule("search", 40);
  count(seconds(1), 40);
  const TimePoint seen = sample_.at;
  count(seconds(1), 0);
  const Series<kRuleTotalCount> series = history_.rule("search", HistoryRange::five_minutes);
  EXPECT_EQ(series.values[0][series.values[0].size() - 2], 40);
  ASSERT_TRUE(history_.rule_rates("search").has_value());
  EXPECT_EQ(history_.rule_rates("search")->last_seen, seen);
  EXPECT_EQ(sum(history_.rule("other", HistoryRange::five_minutes).values[0]), 0);
  EXPECT_TRUE(is_gap(history_.rule("other", HistoryRange::five_minutes).values[0].back()));
}

TEST_F(HistoryTest, OnlySoManyRulesAreKeptAndTheLongestIdleOneGoesFirst) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMaxHistoryRules; ++i) names.push_back("rule-" + std::to_string(i));
  for (const std::string& each : names) count_rule(each, 1);
  count(seconds(1), 1);
  count_rule("one-more", 1);
  count(seconds(1), 1);
  EXPECT_EQ(history_.rule_rates().size(), kMaxHistoryRules);
  EXPECT_FALSE(history_.rule_rates("one-more").has_value());
  for (int i = 0; i < 70; ++i) {
    for (std::size_t n = 1; n < names.size(); ++n) count_rule(names[n], 1);
    count(seconds(1), 1);
  }
  EXPECT_EQ(history_.rule_rates().size(), kMaxHistoryRules);
  EXPECT_TRUE(history_.rule_rates("one-more").has_value());
  EXPECT_TRUE(history_.rule_rates("rule-1").has_value());
}

TEST_F(HistoryTest, LatencyIsThatOfTheLastTenSeconds) {
  base::LatencyCounts counts;
  counts.add(1'000'000'000);
  sample_.latency = counts.sums();
  count(seconds(1), 1);
  for (int i = 0; i < 20; ++i) {
    counts.add(1000);
    sample_.latency = counts.sums();
    count(seconds(1), 1);
  }
  EXPECT_EQ(history_.latency().count(), 10u);
  EXPECT_LE(base::latency_quantile(history_.latency(), 990), 1'250u);
}

TEST_F(HistoryTest, EachStepHasTheSlowestSecondOfTheDecisionTime) {
  base::LatencyCounts counts;
  count(seconds(1), 1);
  for (const std::uint64_t ns : {1'000'000u, 8'000'000u, 0u, 1'000'000u}) {
    if (ns > 0) counts.add(ns);
    sample_.latency = counts.sums();
    count(seconds(1), 1);
  }
  const std::vector<double> fine = history_.p99_ms(HistoryRange::five_minutes);
  ASSERT_EQ(fine.size(), allowed(HistoryRange::five_minutes).size());
  const std::vector<double> last(fine.end() - 4, fine.end());
  EXPECT_NEAR(last[0], 1, 0.3);
  EXPECT_NEAR(last[1], 8, 2);
  EXPECT_TRUE(is_gap(last[2])) << "nothing was decided in this second";
  EXPECT_NEAR(history_.p99_ms(HistoryRange::hour).back(), 8, 2);
  EXPECT_TRUE(is_gap(fine.front())) << "before the first sample";
}

TEST(HistorySampler, SumsTheLoopsAndKnowsPassedFromDenied) {
  const auto labels = std::make_shared<RuleLabels>();
  const LabelledRule loaded[] = {{"search", 0}};
  labels->update(loaded);
  DecisionCounters first(labels);
  DecisionCounters second(labels);
  History history;
  HistorySampler sampler({&first, &second}, labels, history);
  sampler.sample(kStart);
  Decision decision;
  decision.reason = Reason::ok;
  decision.rules.append().rule = "search";
  first.on_decision(decision);
  second.on_decision(decision);
  decision.rules[0].mode = Mode::shadow;
  decision.rules[0].allowed = false;
  second.on_decision(decision);
  decision.rules[0].mode = Mode::enforce;
  decision.allowed = false;
  decision.deciding = 0;
  decision.reason = Reason::limit_exceeded;
  first.on_decision(decision);
  decision.reason = Reason::shed;
  first.on_decision(decision);
  sampler.sample(kStart + seconds(1));
  sampler.sample(kStart + seconds(2));
  const auto at = [&](Total total) {
    const std::vector<double> values =
        history.totals(HistoryRange::five_minutes).values[static_cast<std::size_t>(total)];
    return values[values.size() - 2];
  };
  EXPECT_EQ(at(Total::allowed), 3);
  EXPECT_EQ(at(Total::denied), 1);
  EXPECT_EQ(at(Total::shed), 1);
  EXPECT_EQ(at(Total::shadow_denied), 1);
  const auto rule = history.rule("search", HistoryRange::five_minutes);
  EXPECT_EQ(rule.values[0][rule.values[0].size() - 2], 2);
  EXPECT_EQ(rule.values[1][rule.values[1].size() - 2], 2);
  EXPECT_EQ(rule.values[2][rule.values[2].size() - 2], 1);
}

}  // namespace
}  // namespace weir::observe
