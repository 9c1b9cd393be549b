#include "observe/request_counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "observe/metric_table.h"
#include "observe/metric_text.h"

namespace weir::observe {
namespace {

class RequestCountersTest : public testing::Test {
 protected:
  RequestCountersTest() {
    const LabelledRule rules[] = {{"search", 0, "tenant"}};
    labels_->update(rules);
    loops_ = {std::make_shared<RequestCounters>(labels_, std::vector<std::string>{"acme"}),
              std::make_shared<RequestCounters>(labels_, std::vector<std::string>{"acme"})};
  }

  void decide(std::size_t loop, std::vector<Attribute> attributes, bool allowed, std::int64_t remaining = 50) {
    Decision decision;
    decision.allowed = allowed;
    RuleOutcome rule;
    rule.rule = "search";
    rule.capacity = 100;
    rule.remaining = remaining;
    decision.rules.push_back(rule);
    RequestContext context;
    context.attributes = attributes;
    loops_[loop]->on_decision(decision, context);
  }

  double value(std::string_view name, std::string_view label, std::string_view outcome) {
    Facts facts;
    add_request_counts(loops_, "eu", facts);
    for (const FactMetric& each : facts.more) {
      if (each.name == name && each.labels.front().second == label && each.labels.back().second == outcome)
        return each.value;
    }
    return -1;
  }

  std::shared_ptr<RuleLabels> labels_ = std::make_shared<RuleLabels>();
  std::vector<std::shared_ptr<RequestCounters>> loops_;
};

TEST_F(RequestCountersTest, CountByActionOverAllLoops) {
  decide(0, {{"action", "search"}}, true);
  decide(1, {{"action", "search"}}, true);
  decide(1, {{"action", "search"}}, false);
  decide(0, {{"user", "u"}}, true);
  EXPECT_EQ(value("weir_action_decisions_total", "search", "allowed"), 2);
  EXPECT_EQ(value("weir_action_decisions_total", "search", "denied"), 1);
  EXPECT_EQ(value("weir_action_decisions_total", "none", "allowed"), 1);
  EXPECT_EQ(value("weir_action_decisions_total", "other", "allowed"), 0);
}

TEST_F(RequestCountersTest, CountLaterActionsTogetherWhenThereAreTooMany) {
  for (std::size_t i = 0; i < RequestCounters::kMaxActions + 10; ++i) {
    const std::string action = "action-" + std::to_string(i);
    decide(0, {{"action", action}}, true);
  }
  EXPECT_EQ(value("weir_action_decisions_total", "other", "allowed"), 10);
  EXPECT_EQ(value("weir_action_decisions_total", "action-0", "allowed"), 1);
  EXPECT_EQ(value("weir_action_decisions_total", "action-105", "allowed"), -1);
}

TEST_F(RequestCountersTest, CountOnlyTheTenantsOfTheList) {
  decide(0, {{"tenant", "acme"}}, false);
  decide(0, {{"tenant", "globex"}}, true);
  decide(1, {}, true);
  EXPECT_EQ(value("weir_tenant_decisions_total", "acme", "denied"), 1);
  EXPECT_EQ(value("weir_tenant_decisions_total", "other", "allowed"), 2);
  EXPECT_EQ(value("weir_tenant_decisions_total", "globex", "allowed"), -1);
}

TEST_F(RequestCountersTest, SampleWhatIsLeftOfEachRule) {
  for (std::uint32_t i = 0; i < RequestCounters::kSampled; ++i) decide(0, {}, true, 0);
  for (std::uint32_t i = 0; i < 2 * RequestCounters::kSampled; ++i) decide(1, {}, true, 100);
  Facts facts;
  add_request_counts(loops_, "", facts);
  ASSERT_EQ(facts.remaining.size(), 1U);
  EXPECT_EQ(facts.remaining[0].rule, "search");
  EXPECT_EQ(facts.remaining[0].counts.front(), 1U);
  EXPECT_EQ(facts.remaining[0].counts[kRemainingBounds.size() - 1], 2U);
  EXPECT_EQ(facts.remaining[0].counts.back(), 0U);
}

TEST(MetricTable, DescribesEachMetricOnce) {
  for (const MetricRow& row : metric_table()) {
    const auto same = [&](const MetricRow& other) { return other.name == row.name; };
    EXPECT_EQ(std::count_if(metric_table().begin(), metric_table().end(), same), 1) << row.name;
    EXPECT_FALSE(row.help.empty()) << row.name;
    EXPECT_EQ(row.kind == MetricKind::counter, row.name.ends_with("_total")) << row.name;
    EXPECT_TRUE(row.labels.empty() || !row.bound.empty()) << row.name << " has labels without a bound";
  }
}

TEST(MetricText, GivesFamiliesTheHelpOfTheTable) {
  std::vector<prometheus::MetricFamily> families(3);
  families[0].name = "weir_connections";
  families[1].name = "someone_elses";
  families[1].help = "as it\nwas";
  families[2].name = "without_samples";
  for (std::size_t i = 0; i < 2; ++i) families[i].metric.resize(1);
  std::string out;
  append_families(out, families);
  EXPECT_THAT(out, testing::HasSubstr("# HELP weir_connections " + std::string(find_metric("weir_connections")->help)));
  EXPECT_THAT(out, testing::HasSubstr("# HELP someone_elses as it\\nwas\n"));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("without_samples")));
}

TEST(MetricText, WritesNumbersThatPrometheusReads) {
  const std::pair<double, const char*> numbers[] = {{0, "0"},
                                                    {7, "7"},
                                                    {-2, "-2"},
                                                    {0.05, "0.05"},
                                                    {1'782'907'200.5, "1782907200.5"},
                                                    {1e300, "1e+300"},
                                                    {std::numeric_limits<double>::infinity(), "+Inf"},
                                                    {std::numeric_limits<double>::quiet_NaN(), "NaN"}};
  for (const auto& [value, expected] : numbers) {
    std::string out;
    append_metric_number(out, value);
    EXPECT_EQ(out, expected);
  }
  std::string out;
  MetricLines lines(out, prometheus::MetricType::Counter, "x_total", "Help\\.");
  std::string labels;
  append_label(labels, "a", "q\"\\\n");
  append_label(labels, "b", "");
  EXPECT_EQ(out, "") << "a family without samples is not written";
  lines.add(labels, 18'446'744'073'709'551'615ULL);
  EXPECT_EQ(out,
            "# HELP x_total Help\\\\.\n# TYPE x_total counter\n"
            "x_total{a=\"q\\\"\\\\\\n\",b=\"\"} 18446744073709551615\n");
}

TEST(MetricText, WritesLinesThatBeginInTheSameWay) {
  std::string out;
  MetricLines lines(out, prometheus::MetricType::Histogram, "x", "h");
  lines.begin("rule=\"r\"", "le", "_bucket");
  lines.end("0.5", 1);
  lines.end("+Inf", ",b=\"c\"", 2);
  lines.begin("", "le", "_bucket");
  lines.end("1", 3);
  lines.add("", 4, "_count");
  lines.add_fraction("rule=\"r\"", 0.25, "_sum");
  EXPECT_EQ(out,
            "# HELP x h\n# TYPE x histogram\n"
            "x_bucket{rule=\"r\",le=\"0.5\"} 1\nx_bucket{rule=\"r\",le=\"+Inf\",b=\"c\"} 2\n"
            "x_bucket{le=\"1\"} 3\nx_count 4\nx_sum{rule=\"r\"} 0.25\n");
}

}  // namespace
}  // namespace weir::observe
