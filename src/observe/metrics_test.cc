#include "observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

namespace weir::observe {
namespace {

using testing::HasSubstr;
using testing::Not;

RuleOutcome outcome(std::uint32_t ordinal, bool allowed, std::int64_t remaining = 50) {
  RuleOutcome out;
  out.algorithm = Algorithm::token_bucket;
  out.ordinal = ordinal;
  out.allowed = allowed;
  out.limit = 100;
  out.remaining = remaining;
  return out;
}

Decision decision(std::initializer_list<RuleOutcome> rules) {
  Decision out;
  out.reason = Reason::ok;
  for (const RuleOutcome& rule : rules) {
    out.rules.push_back(rule);
    if (!rule.allowed && rule.mode == Mode::enforce) {
      out.allowed = false;
      out.reason = Reason::limit_exceeded;
    }
  }
  return out;
}

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() { load(ordinals(0, 2'000)); }

  std::string text() const {
    const Metrics metrics({&first_, &second_}, labels_, [this] { return facts_; });
    return metrics.text();
  }

  // Loads the rules with these ordinals.
  void load(const std::vector<std::uint32_t>& ordinals) {
    std::vector<LabelledRule> rules;
    for (const std::uint32_t ordinal : ordinals) rules.push_back({ids_.at(ordinal), ordinal});
    labels_->update(rules);
  }
  static std::vector<std::uint32_t> ordinals(std::uint32_t first, std::uint32_t end) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = first; i < end; ++i) out.push_back(i);
    return out;
  }
  // How often the rule allowed, as the scrape says; none: it has no series.
  std::optional<std::uint64_t> allowed(const std::string& rule) const {
    const std::string scrape = text();
    const std::string name = "weir_checks_total{rule=\"" + rule + "\",algorithm=\"token-bucket\",outcome=\"allowed\"} ";
    const std::size_t at = scrape.find(name);
    if (at == std::string::npos) return std::nullopt;
    return std::stoull(scrape.substr(at + name.size()));
  }

  std::vector<std::string> ids_ = [] {
    std::vector<std::string> ids{"search-per-key", "login"};
    while (ids.size() < 5'000) ids.push_back("rule-" + std::to_string(ids.size()));
    return ids;
  }();
  std::shared_ptr<RuleLabels> labels_ = std::make_shared<RuleLabels>();
  DecisionCounters first_{labels_};
  DecisionCounters second_{labels_};
  Facts facts_;
};

TEST_F(MetricsTest, SumsTheLoopsByRuleAlgorithmAndOutcome) {
  RuleOutcome gcra = outcome(1, false);
  gcra.algorithm = Algorithm::gcra;
  for (int i = 0; i < 3; ++i) first_.on_decision(decision({outcome(0, true)}));
  for (int i = 0; i < 4; ++i) second_.on_decision(decision({outcome(0, true), gcra}));
  EXPECT_THAT(
      text(),
      HasSubstr("weir_checks_total{rule=\"search-per-key\",algorithm=\"token-bucket\",outcome=\"allowed\"} 7\n"));
  EXPECT_THAT(text(), HasSubstr("weir_checks_total{rule=\"login\",algorithm=\"gcra\",outcome=\"denied\"} 4\n"));
  EXPECT_THAT(text(), HasSubstr("weir_decisions_total{reason=\"ok\",allowed=\"true\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr("weir_decisions_total{reason=\"limit_exceeded\",allowed=\"false\"} 4\n"));
}

TEST_F(MetricsTest, CountsOutcomesThatAreNotAnAlgorithms) {
  RuleOutcome none = outcome(0, true);
  none.algorithm.reset();
  first_.on_decision(decision({none}));
  EXPECT_THAT(text(),
              HasSubstr("weir_checks_total{rule=\"search-per-key\",algorithm=\"none\",outcome=\"allowed\"} 1\n"));
}

TEST_F(MetricsTest, TellsShadowTooLargeAndStoreFailuresApart) {
  RuleOutcome shadow = outcome(0, false);
  shadow.mode = Mode::shadow;
  RuleOutcome large = outcome(0, false);
  large.too_large = true;
  RuleOutcome open = outcome(0, true, 0);
  open.store_failed = true;
  RuleOutcome closed = outcome(0, false);
  closed.store_failed = true;
  for (const RuleOutcome& each : {shadow, large, open, closed}) {
    Decision made = decision({each});
    made.degraded = each.store_failed;
    first_.on_decision(made);
  }
  for (const char* name : {"shadow_denied", "too_large", "failed_open", "failed_closed"}) {
    EXPECT_THAT(text(), HasSubstr(std::string("outcome=\"") + name + "\"} 1\n"));
  }
  EXPECT_THAT(text(), Not(HasSubstr("algorithm=\"token-bucket\",outcome=\"denied\"")));
  EXPECT_THAT(text(), HasSubstr("weir_near_limit_total{rule=\"search-per-key\"} 0\n")) << "a failed store says nothing";
  EXPECT_THAT(text(), HasSubstr("weir_degraded_decisions_total 2\n"));
}

TEST_F(MetricsTest, NearLimitIsLessThanAFifthLeftAfterAnAllowedCheck) {
  first_.on_decision(decision({outcome(0, true, 20)}));
  first_.on_decision(decision({outcome(0, true, 19)}));
  first_.on_decision(decision({outcome(0, true, 0)}));
  first_.on_decision(decision({outcome(0, false, 0)}));
  RuleOutcome unlimited = outcome(0, true, 0);
  unlimited.unlimited = true;
  first_.on_decision(decision({unlimited}));
  EXPECT_THAT(text(), HasSubstr("weir_near_limit_total{rule=\"search-per-key\"} 2\n"));
}

TEST_F(MetricsTest, RulesBeyondTheBoundShareOneLabel) {
  for (std::uint32_t i = 0; i < 1'500; ++i) (i % 2 == 0 ? first_ : second_).on_decision(decision({outcome(i, true)}));
  first_.on_decision(decision({outcome(4'000'000'000u, true)}));
  const std::string scrape = text();
  std::size_t series = 0;
  for (std::size_t at = 0; (at = scrape.find("\nweir_checks_total{", at)) != std::string::npos; ++at) ++series;
  EXPECT_EQ(series, kMaxRuleLabels + 1);
  EXPECT_THAT(scrape, HasSubstr("rule=\"rule-999\""));
  EXPECT_THAT(scrape, Not(HasSubstr("rule=\"rule-1000\"")));
  EXPECT_THAT(scrape,
              HasSubstr("weir_checks_total{rule=\"other\",algorithm=\"token-bucket\",outcome=\"allowed\"} 501\n"));
}

TEST_F(MetricsTest, LabelsFollowTheRulesThatAreLoaded) {
  for (DecisionCounters* loop : {&first_, &second_}) {
    for (std::uint32_t i = 0; i < 2'000; ++i) loop->on_decision(decision({outcome(i, true)}));
  }
  EXPECT_THAT(text(), HasSubstr("weir_rules_without_label 1000\n"));
  EXPECT_EQ(allowed("other"), 2'000u);

  load(ordinals(3'000, 3'010));
  EXPECT_EQ(allowed("rule-500"), std::nullopt) << "series of removed rules go away";
  EXPECT_THAT(text(), HasSubstr("weir_rules_without_label 0\n"));
  first_.on_decision(decision({outcome(3'000, true)}));
  EXPECT_EQ(allowed("rule-3000"), 1u) << "rules that come later have labels, and begin at zero in a row used before";
  first_.on_decision(decision({outcome(500, true)}));
  EXPECT_EQ(allowed("other"), 2'001u) << "a decision that began under the old rules";

  load(ordinals(500, 510));
  EXPECT_EQ(allowed("rule-500"), std::nullopt) << "what comes back begins at zero, too";
  second_.on_decision(decision({outcome(500, true)}));
  EXPECT_EQ(allowed("rule-500"), 1u);
}

TEST_F(MetricsTest, ARuleKeepsItsSeriesAndFreeLabelsGoToTheFirstOfTheFile) {
  first_.on_decision(decision({outcome(999, true)}));
  std::vector<std::uint32_t> rules = ordinals(900, 2'000);  // rules 900 to 999 had labels, and 900 are free
  std::reverse(rules.begin(), rules.end());
  load(rules);
  second_.on_decision(decision({outcome(999, true)}));
  EXPECT_EQ(allowed("rule-999"), 2u);
  for (std::uint32_t i = 1'000; i < 2'000; ++i) second_.on_decision(decision({outcome(i, true)}));
  EXPECT_EQ(allowed("rule-1999"), 1u) << "the first of the file";
  EXPECT_EQ(allowed("rule-1100"), 1u);
  EXPECT_EQ(allowed("rule-1099"), std::nullopt);
  EXPECT_EQ(allowed("other"), 100u);
}

// Any sequence of loads and decisions on two loops: a series tells what was counted since its rule got the label.
TEST_F(MetricsTest, CountsBelongToOneRuleOnly) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::map<std::uint32_t, std::uint64_t> counted;
  for (int turn = 0; turn < 30; ++turn) {
    std::vector<std::uint32_t> rules;
    for (std::uint32_t i = 0; i < 12; ++i) {
      if (random() % 2 == 0) rules.push_back(i);
    }
    load(rules);
    std::map<std::uint32_t, std::uint64_t> kept;
    for (const std::uint32_t rule : rules) kept[rule] = turn == 0 ? 0 : counted[rule];
    counted = kept;
    for (unsigned i = 0; i < random() % 20 && !rules.empty(); ++i) {
      const std::uint32_t rule = rules[random() % rules.size()];
      (random() % 2 == 0 ? first_ : second_).on_decision(decision({outcome(rule, true)}));
      ++counted[rule];
    }
    for (std::uint32_t i = 0; i < 12; ++i) {
      const auto expected = counted.find(i);
      const bool shown = expected != counted.end() && expected->second > 0;
      EXPECT_EQ(allowed(ids_[i]), shown ? std::optional(expected->second) : std::nullopt) << turn << ": rule " << i;
    }
  }
}

TEST_F(MetricsTest, SumsTheAdHocChargesBySpaceAndOutcome) {
  ChargeOutcome denied;
  denied.admitted = false;
  ChargeOutcome large = denied;
  large.too_large = true;
  ChargeOutcome failed;
  failed.status = Code::unavailable;
  EXPECT_THAT(text(), HasSubstr("weir_ad_hoc_charges_total{space=\"other\",outcome=\"allowed\"} 0\n"))
      << "the family is there from the start";
  first_.on_charge("envoy.override", {});
  for (DecisionCounters* each : {&first_, &second_}) {
    each->on_charge("cl.throttle", {});
    each->on_charge("cl.throttle", denied);
    each->on_charge("cl.throttle", denied);
  }
  second_.on_charge("cl.throttle", large);
  second_.on_charge("envoy.override", failed);
  EXPECT_THAT(text(), HasSubstr("weir_ad_hoc_charges_total{space=\"cl.throttle\",outcome=\"allowed\"} 2\n"
                                "weir_ad_hoc_charges_total{space=\"cl.throttle\",outcome=\"denied\"} 4\n"
                                "weir_ad_hoc_charges_total{space=\"cl.throttle\",outcome=\"too_large\"} 1\n"
                                "weir_ad_hoc_charges_total{space=\"cl.throttle\",outcome=\"failed\"} 0\n"
                                "weir_ad_hoc_charges_total{space=\"envoy.override\",outcome=\"allowed\"} 1\n"
                                "weir_ad_hoc_charges_total{space=\"envoy.override\",outcome=\"denied\"} 0\n"
                                "weir_ad_hoc_charges_total{space=\"envoy.override\",outcome=\"too_large\"} 0\n"
                                "weir_ad_hoc_charges_total{space=\"envoy.override\",outcome=\"failed\"} 1\n"));
}

TEST_F(MetricsTest, SpacesBeyondTheBoundShareOneLabel) {
  for (int i = 0; i < 100; ++i) first_.on_charge("space-" + std::to_string(i), {});
  first_.on_charge("space-0", {});
  const std::string scrape = text();
  EXPECT_THAT(scrape, HasSubstr("{space=\"space-0\",outcome=\"allowed\"} 2\n"));
  EXPECT_THAT(scrape, HasSubstr("{space=\"space-7\",outcome=\"allowed\"} 1\n"));
  EXPECT_THAT(scrape, Not(HasSubstr("space-8")));
  EXPECT_THAT(scrape, HasSubstr("{space=\"other\",outcome=\"allowed\"} 92\n"));
}

TEST_F(MetricsTest, ShowsTheStateOfTheProcess) {
  facts_.version = "1.2.3\"\n";
  facts_.started = from_micros(1'782'907'200'500'000);
  facts_.reloads_succeeded = 2;
  facts_.reloads_failed = 1;
  facts_.rules_current = false;
  facts_.rules_version = 4;
  facts_.rule_issues = {{"unknown_plan", 0}, {"bad_cost", 3}};
  facts_.store_keys = 12;
  facts_.connections_refused = 6;
  facts_.store_coarse_charges = 13;
  EXPECT_THAT(text(), HasSubstr("weir_rules_reloads_total{result=\"success\"} 2\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rules_reloads_total{result=\"failure\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rules_current 0\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rules_version 4\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rule_issues_total{issue=\"unknown_plan\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rule_issues_total{issue=\"bad_cost\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_keys{store=\"memory\"} 12\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_coarse_charges_total{store=\"memory\"} 13\n"));
  EXPECT_THAT(text(), HasSubstr("weir_connections_refused_total 6\n"));
  EXPECT_THAT(text(), HasSubstr("weir_build_info{version=\"1.2.3\\\"\\n\"} 1\n"));
  EXPECT_THAT(text(), HasSubstr("process_start_time_seconds 1782907200.5\n"));
}

// Each has a value of its own, so that none can be exported under another's name.
TEST_F(MetricsTest, EveryFactIsExportedUnderItsName) {
  facts_.reloads_succeeded = 101;
  facts_.reloads_failed = 102;
  facts_.reloads_unchanged = 103;
  facts_.rules_last_success = from_micros(104'500'000);
  facts_.rules_loaded = 105;
  facts_.rules_version = 106;
  facts_.store_name = "elsewhere";
  facts_.store_keys = 107;
  facts_.store_bytes = 108;
  facts_.store_max_bytes = 109;
  facts_.store_expired = 110;
  facts_.store_evictions = 111;
  facts_.store_refused_newcomers = 112;
  facts_.store_coarse_charges = 113;
  facts_.snapshots_saved = 114;
  facts_.snapshots_failed = 115;
  facts_.local_denials = 116;
  facts_.forged_handles = 117;
  facts_.fallbacks = {{"allow", 118}, {"local", 119}};
  facts_.http_responses = {{"2xx", 120}, {"4xx", 121}};
  facts_.refused_callers = {{"malformed", 122}, {"revoked_key", 123}};
  facts_.failed_logins = {{"resp", "password", 124}, {"admin", "token", 125}};
  facts_.connections_open = 126;
  facts_.connections_accepted = 127;
  facts_.connections_refused = 128;
  facts_.connections_timed_out = 129;
  facts_.connection_bytes = 130;
  facts_.connection_max_bytes = 131;
  facts_.connection_memory_refusals = 132;
  facts_.clock_ahead = std::chrono::milliseconds(133'500);
  facts_.clock_steps_forward = 134;
  facts_.clock_steps_backward = 135;
  facts_.gateway_times = {{"used", 136}, {"missing", 137}};
  facts_.log_lines_suppressed = 138;
  const char* const expected[] = {
      "weir_rules_reloads_total{result=\"success\"} 101",
      "weir_rules_reloads_total{result=\"failure\"} 102",
      "weir_rules_reloads_total{result=\"unchanged\"} 103",
      "weir_rules_last_success_timestamp_seconds 104.5",
      "weir_rules_loaded 105",
      "weir_rules_version 106",
      "weir_store_keys{store=\"elsewhere\"} 107",
      "weir_store_bytes{store=\"elsewhere\"} 108",
      "weir_store_max_bytes{store=\"elsewhere\"} 109",
      "weir_store_expired_total{store=\"elsewhere\"} 110",
      "weir_store_evictions_total{store=\"elsewhere\"} 111",
      "weir_store_refused_newcomers_total{store=\"elsewhere\"} 112",
      "weir_store_coarse_charges_total{store=\"elsewhere\"} 113",
      "weir_store_snapshots_total{result=\"success\"} 114",
      "weir_store_snapshots_total{result=\"failure\"} 115",
      "weir_local_limit_denials_total 116",
      "weir_forged_handles_total 117",
      "weir_fallback_decisions_total{policy=\"allow\"} 118",
      "weir_fallback_decisions_total{policy=\"local\"} 119",
      "weir_http_responses_total{class=\"2xx\"} 120",
      "weir_http_responses_total{class=\"4xx\"} 121",
      "weir_refused_callers_total{reason=\"malformed\"} 122",
      "weir_refused_callers_total{reason=\"revoked_key\"} 123",
      "weir_failed_logins_total{listener=\"resp\",kind=\"password\"} 124",
      "weir_failed_logins_total{listener=\"admin\",kind=\"token\"} 125",
      "weir_connections 126",
      "weir_connections_accepted_total 127",
      "weir_connections_refused_total 128",
      "weir_connections_timed_out_total 129",
      "weir_connection_memory_bytes 130",
      "weir_connection_memory_max_bytes 131",
      "weir_connection_memory_refusals_total 132",
      "weir_clock_ahead_seconds 133.5",
      "weir_clock_steps_total{direction=\"forward\"} 134",
      "weir_clock_steps_total{direction=\"backward\"} 135",
      "weir_gateway_times_total{result=\"used\"} 136",
      "weir_gateway_times_total{result=\"missing\"} 137",
      "weir_log_suppressed_lines_total 138",
  };
  const std::string exported = "\n" + text();
  for (const char* line : expected) EXPECT_THAT(exported, HasSubstr("\n" + std::string(line) + "\n"));
  for (const bool current : {false, true}) {
    facts_.rules_current = facts_.identity_current = current;
    EXPECT_THAT(text(), HasSubstr(std::string("weir_rules_current ") + (current ? "1\n" : "0\n")));
    EXPECT_THAT(text(), HasSubstr(std::string("weir_identity_current ") + (current ? "1\n" : "0\n")));
  }
}

// The rules that `promtool check metrics` applies: names, types, help, and no series twice.
TEST_F(MetricsTest, FollowsThePrometheusConventions) {
  first_.on_decision(decision({outcome(0, true), outcome(1, false)}));
  first_.on_charge("cl.throttle", {});
  second_.on_charge("cl.throttle", {});
  std::istringstream lines(text());
  std::set<std::string> helped;
  std::set<std::string> typed;
  std::set<std::string> series;
  const std::regex sample_line(R"re(([a-z_]+)(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? (-?[0-9.e+]+))re");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, kind, name, rest;
    words >> hash >> kind >> name >> rest;
    if (hash == "#" && kind == "HELP") {
      EXPECT_FALSE(rest.empty()) << line;
      EXPECT_TRUE(helped.insert(name).second) << "twice: " << line;
    } else if (hash == "#") {
      EXPECT_TRUE(typed.insert(name).second) << "twice: " << line;
      EXPECT_EQ(name.ends_with("_total"), rest == "counter") << line;
    } else {
      std::smatch parts;
      ASSERT_TRUE(std::regex_match(line, parts, sample_line)) << line;
      EXPECT_TRUE(helped.contains(parts[1]) && typed.contains(parts[1])) << line;
      EXPECT_TRUE(series.insert(parts[1].str() + parts[2].str()).second) << "twice: " << line;
    }
  }
  EXPECT_GT(series.size(), 20u);
}

TEST_F(MetricsTest, AScrapeWhileTheLoopCountsSeesWholeNumbers) {
  std::thread writer([this] {
    for (std::uint32_t i = 0; i < 50'000; ++i) first_.on_decision(decision({outcome(i % 1'200, true)}));
  });
  std::uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t now = allowed("other").value_or(0);
    EXPECT_GE(now, last);
    last = now;
    // Rows change hands while they are counted in and read.
    load(i % 2 == 0 ? ordinals(100, 1'200) : ordinals(0, 1'200));
  }
  writer.join();
  EXPECT_EQ(first_.decisions(Reason::ok, true), 50'000u);
}

TEST_F(MetricsTest, RulesOnTheirFallbackShowForHowLong) {
  EXPECT_THAT(text(), HasSubstr("weir_rules_on_fallback 0\n"));
  EXPECT_THAT(text(), Not(HasSubstr("weir_rule_fallback_seconds{")));
  facts_.rule_fallbacks = {{3, "allow", std::chrono::milliseconds(1'500)},
                           {1'500, "deny", std::chrono::seconds(7)},
                           {1'600, "deny", std::chrono::seconds(9)}};
  EXPECT_THAT(text(), HasSubstr("weir_rules_on_fallback 3\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rule_fallback_seconds{rule=\"" + ids_.at(3) + "\",policy=\"allow\"} 1.5\n"));
  EXPECT_THAT(text(), HasSubstr("weir_rule_fallback_seconds{rule=\"other\",policy=\"deny\"} 9\n"))
      << "of those without a label the longest";
}

TEST_F(MetricsTest, AStoreOnTheNetworkShowsItsBreakerFailuresAndLatencies) {
  EXPECT_THAT(text(), Not(HasSubstr("weir_store_breaker_state")));
  RemoteStoreFacts remote;
  remote.breaker = RemoteStoreFacts::Breaker::open;
  remote.fallback_seconds = 1.5;
  remote.failures = {{"timeout", 3}, {"lost", 0}};
  remote.latency = {{0.001, 2}, {0.002, 1}, {0.004, 4}};
  facts_.remote_store = remote;
  EXPECT_THAT(text(), HasSubstr("weir_store_breaker_state 1\n"));
  facts_.remote_store->breaker = RemoteStoreFacts::Breaker::half_open;
  EXPECT_THAT(text(), HasSubstr("weir_store_breaker_state 2\n"));
  facts_.fallbacks = {{"allow", 7}, {"deny", 0}};
  EXPECT_THAT(text(), HasSubstr("weir_fallback_decisions_total{policy=\"allow\"} 7\n"));
  EXPECT_THAT(text(), HasSubstr("weir_fallback_decisions_total{policy=\"deny\"} 0\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_fallback_seconds_total 1.5\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_failures_total{kind=\"timeout\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_latency_seconds_bucket{le=\"0.002\"} 3\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_latency_seconds_bucket{le=\"+Inf\"} 7\n"));
  EXPECT_THAT(text(), HasSubstr("weir_store_latency_seconds_count 7\n"));
}

}  // namespace
}  // namespace weir::observe
