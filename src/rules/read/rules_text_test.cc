// Writing rules and reading them again loses nothing.
#include "rules/read/rules_text.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <random>
#include <set>

#include "rules/compile/per_entry.h"
#include "rules/compile/rule_check.h"
#include "rules/read/rules_file.h"

namespace weir::rules {
namespace {

// Random rules that use every field. Texts are hostile: YAML's own signs and words, escapes, line breaks of all kinds.
class RandomRules {
 public:
  explicit RandomRules(std::uint32_t seed) : random_(seed) {}

  Rules rules() {
    Rules made;
    made.global_shadow = chance(4);
    made.on_no_rule = chance(4) ? NoRulePolicy::deny : NoRulePolicy::allow;
    const std::size_t count = pick(6);
    for (std::size_t i = 0; i < count; ++i) made.rules.push_back(rule(i));
    for (std::size_t i = pick(3); i > 0; --i) made.blocks.push_back(block());
    return made;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  bool chance(std::size_t of) { return pick(of) == 0; }
  std::int64_t number(std::int64_t most) { return 1 + static_cast<std::int64_t>(random_()) % most; }
  template <typename T>
  T any(std::initializer_list<T> values) {
    return values.begin()[pick(values.size())];
  }

  std::string text() {
    constexpr std::string_view kPieces[] = {"a",
                                            "Z",
                                            "7",
                                            " ",
                                            ":",
                                            ": ",
                                            "#",
                                            " #",
                                            "'",
                                            "\"",
                                            "\\",
                                            "\n",
                                            "\r",
                                            "\t",
                                            "\x01",
                                            "\x7f",
                                            "\xc2\x85",
                                            "\xe2\x80\xa8",
                                            "é",
                                            "漢",
                                            "\xf0\x9f\x8e\x88",
                                            "null",
                                            "~",
                                            "true",
                                            "yes",
                                            "- ",
                                            "? ",
                                            "[",
                                            "]",
                                            "{",
                                            "}",
                                            ",",
                                            "&x",
                                            "*x",
                                            "!t",
                                            "|",
                                            ">",
                                            "%",
                                            "@",
                                            "`",
                                            "<<",
                                            "---",
                                            "...",
                                            "=",
                                            "0x1f",
                                            "1e3",
                                            "012",
                                            "-",
                                            "/v1/",
                                            "\xef\xbb\xbf",
                                            "\xc2\xa0",
                                            "default",
                                            "by",
                                            "values",
                                            "unlimited",
                                            "\\x41",
                                            "\xef\xbf\xbe"};
    std::string made;
    const std::size_t count = chance(20) ? 300 : pick(5);
    for (std::size_t i = 0; i < count; ++i) made += kPieces[pick(std::size(kPieces))];
    return made.size() > 1'024 ? std::string() : made;
  }
  std::string name() {
    std::string made;
    for (const char c : text().substr(0, 60)) {
      if (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f) made += c;
    }
    return made.empty() ? any<std::string>({"tenant", "ip", "<<", "é", "plan"}) : made;
  }
  Duration window() {
    return any<Duration>({std::chrono::milliseconds(1), std::chrono::seconds(number(100)),
                          std::chrono::hours(24 * number(100)), Duration(1'001)});
  }

  std::vector<Condition> conditions() {
    std::vector<Condition> made;
    const std::size_t count = pick(4);
    for (std::size_t i = 0; i < count; ++i) {
      Condition condition{chance(3) && i > 0 ? made.back().attribute : name(), {}};
      const std::size_t values = chance(30) ? 200 : 1 + pick(3);
      for (std::size_t j = 0; j < values; ++j) condition.patterns.push_back(pattern(condition.attribute));
      made.push_back(std::move(condition));
    }
    return made;
  }
  std::string pattern(const std::string& attribute) {
    if (attribute == "ip") return any<std::string>({"10.0.0.0/8", "2001:db8::/32", "192.0.2.1", "10.*"});
    switch (pick(5)) {
      case 0:
        return "~" + any<std::string>({"/v[12]/.+", "", "a{2}", "\\d+: #", "^x$"});
      case 1:
        return chance(3) ? std::string(kAbsent) : "*" + any<std::string>({"", "a?b", "*"});
      default: {
        std::string made = text();
        return made.starts_with('~') ? made.substr(1) : made;
      }
    }
  }

  AllowanceChange change(const Rule& rule) {
    AllowanceChange made;
    if (chance(4)) {
      made.unlimited = true;
      return made;
    }
    made.limit = chance(5) ? 0 : number(1'000);
    if (chance(2) || rule.allowance.window == Duration::zero()) made.window = std::chrono::seconds(10 * number(9));
    const bool bursts = rule.allowance.algorithm == Algorithm::token_bucket;
    if (bursts && chance(2)) made.burst = number(1'000);
    if (rule.allowance.algorithm == Algorithm::leaky_bucket && chance(2)) made.queue = pick(9);
    return made;
  }

  CostModel cost() {
    CostModel made;
    made.kind = static_cast<CostModel::Kind>(pick(4));
    if (made.kind == CostModel::Kind::fixed) made.units = static_cast<std::int64_t>(pick(5));
    if (made.kind == CostModel::Kind::attribute || made.kind == CostModel::Kind::table) made.attribute = name();
    if (made.kind != CostModel::Kind::table) return made;
    made.units = static_cast<std::int64_t>(pick(9));
    std::set<std::string> seen;
    for (std::size_t i = pick(6); i > 0; --i) {
      std::string value = chance(4) ? any<std::string>({"default", "by", "values", "attribute"}) : text();
      if (seen.insert(value).second) made.table.emplace_back(value, static_cast<std::int64_t>(pick(9)));
    }
    return made;
  }

  void add_numbers(Rule& rule) {
    rule.allowance.algorithm = static_cast<Algorithm>(pick(kAlgorithmCount));
    rule.unlimited = chance(5);
    if (!rule.unlimited) rule.allowance.limit = chance(6) ? 0 : number(1'000);
    if (!rule.unlimited || chance(2)) rule.allowance.window = window();
    const Algorithm algorithm = rule.allowance.algorithm;
    const bool bursts = algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra;
    if (bursts && chance(2)) rule.allowance.burst = number(1'000'000);
    if (algorithm == Algorithm::leaky_bucket && chance(2)) rule.allowance.queue = pick(100);
    if (algorithm == Algorithm::bucketed_window) {
      rule.allowance.window = std::chrono::seconds(20);
      if (chance(2)) rule.allowance.buckets = any<std::int64_t>({2, 4, 20});
    }
  }

  void make_concurrency_rule(Rule& rule) {
    rule.kind = ChargeKind::lease;
    rule.unlimited = false;
    rule.allowance = AllowanceSpec();
    rule.allowance.limit = static_cast<std::int64_t>(pick(100));
    rule.lease = std::chrono::milliseconds(10 + pick(100'000));
    rule.plans.clear();
    rule.overrides.clear();
    if (chance(2)) rule.plans.push_back({"pro", {.limit = 7}});
    rule.count_denied = false;
    rule.overdraft.reset();
    rule.estimate.reset();
    rule.on_expiry = ExpiryPolicy::release;
    rule.on_store_failure = any<FailurePolicy>({FailurePolicy::allow, FailurePolicy::deny, FailurePolicy::degrade});
  }

  Share share() {
    const bool percent = chance(2);
    return {.amount = percent ? number(100) : number(1'000'000), .percent = percent};
  }

  void make_quota_rule(Rule& rule) {
    make_concurrency_rule(rule);
    rule.kind = ChargeKind::quota;
    rule.lease = Duration::zero();
    rule.local_limit.reset();
    rule.max_subjects.reset();
    rule.quota.period =
        any<PeriodUnit>({PeriodUnit::hour, PeriodUnit::day, PeriodUnit::week, PeriodUnit::month, PeriodUnit::year});
    if (rule.quota.period == PeriodUnit::week) rule.quota.anchor_day = static_cast<int>(number(7));
    if (rule.quota.period == PeriodUnit::month && chance(2)) rule.quota.anchor_day = static_cast<int>(number(31));
    rule.quota.timezone = any<std::string>({"", "tenant", "Europe/Berlin"});
    if (chance(2)) rule.quota.grace = share();
    rule.quota.record_overage = chance(3);
    rule.quota.enforcement = chance(2) ? Enforcement::strict : Enforcement::leased;
    rule.quota.plan_change = any<PlanChange>({PlanChange::immediate, PlanChange::next_period, PlanChange::prorated});
    std::set<std::int64_t> amounts;
    for (std::size_t i = pick(4); i > 0; --i) {
      const Share each = share();
      if (amounts.insert(each.amount).second) rule.quota.notify.push_back(each);
    }
    if (rule.quota.enforcement == Enforcement::strict) rule.on_store_failure = FailurePolicy::deny;
    if (chance(3)) rule.on_expiry = ExpiryPolicy::commit;
  }

  Rule rule(std::size_t index) {
    Rule made;
    made.id = "r" + std::to_string(index) + any<std::string>({"", "-x", ".Y_z"});
    made.match = conditions();
    std::set<std::string> names;
    for (std::size_t i = pick(4); i > 0; --i) names.insert(name());
    for (const std::string& each : names) {
      if (made.per.empty() || chance(2)) {
        made.per.push_back(entry_for(each));
      } else {
        made.per.back() += any<std::string>({"|", " | "}) + entry_for(each);
      }
    }
    if (chance(3)) {
      made.descriptor.push_back({"domain", "d" + std::to_string(index)});
      for (const std::string& each : names) made.descriptor.push_back({each});
      for (std::size_t i = pick(3); i > 0; --i) made.descriptor.push_back({name(), text()});
      if (index > 0) made.replaces = {"r0"};
    }
    add_numbers(made);
    made.cost = cost();
    if (chance(3)) made.on_bad_cost = BadCostPolicy::deny;
    std::set<std::string> plans;
    for (std::size_t i = pick(4); i > 0; --i) {
      const std::string plan = text();
      if (!plan.empty() && plans.insert(plan).second) made.plans.push_back({plan, change(made)});
    }
    for (std::size_t i = pick(4); i > 0; --i) made.overrides.push_back(override(made));
    made.mode = static_cast<Mode>(pick(3));
    made.rollout = static_cast<int>(pick(101));
    if (chance(2)) made.on_store_failure = static_cast<FailurePolicy>(pick(kFailurePolicyCount));
    if (made.on_store_failure && chance(2)) {
      made.on_store_failure->term = std::chrono::seconds(number(1'000));
      made.on_store_failure->then = static_cast<FailurePolicy>(pick(kFailurePolicyCount));
    }
    made.local_share = 1 + static_cast<int>(pick(100));
    if (may_answer(made, FailurePolicy::static_limit) || chance(3)) made.static_limit = number(100);
    made.reconcile = !chance(4);
    if (!made.per.empty() && chance(3)) made.max_subjects = number(kMaxSubjects);
    if (chance(2)) made.hash_tag = static_cast<HashTag>(pick(3));
    made.count_denied = chance(2);
    made.hidden = static_cast<Hidden>(pick(3));
    if (chance(2)) made.message = any<std::string>({"{wait}", "a: #b {{x}}", "é '\"' \\", "- {limit} per {window}"});
    if (chance(2)) made.overdraft = number(100);
    if (chance(2)) made.on_expiry = ExpiryPolicy::commit;
    const bool follows = made.cost.kind == CostModel::Kind::request || made.cost.kind == CostModel::Kind::attribute;
    if (follows && chance(2)) {
      made.estimate = Estimate{any<std::string>({"", "model"}), 1 + static_cast<int>(pick(100)), number(5'000),
                               1 + static_cast<int>(pick(100))};
    }
    if (chance(5)) make_concurrency_rule(made);
    if (chance(5)) make_quota_rule(made);
    if (made.kind != ChargeKind::quota && chance(2))
      made.local_limit = LocalLimit{number(100), std::chrono::seconds(number(9)), {}};
    if (made.local_limit && chance(2)) made.local_limit->burst = number(100);
    return made;
  }

  Block block() {
    Block made;
    made.when = conditions();
    if (chance(2)) made.until = from_micros(1'700'000'000'000'001);
    if (chance(2)) made.reason = "scraping: \"x\" #1";
    return made;
  }

  Override override(const Rule& rule) {
    Override made;
    made.when = conditions();
    made.change = change(rule);
    made.emergency = chance(3);
    if (chance(4)) made.mode = static_cast<Mode>(pick(3));
    if (chance(2)) {
      made.until = any<TimePoint>({from_micros(0), from_micros(-62'135'596'800'000'000),
                                   from_micros(1'700'000'000'000'001), from_micros(253'402'300'799'999'999)});
    }
    made.reason = text().substr(0, 200);
    if (base_cut(made.reason)) made.reason.clear();
    return made;
  }
  static bool base_cut(const std::string& text) {
    return !text.empty() && (static_cast<unsigned char>(text.back()) & 0x80) != 0;
  }

  std::mt19937 random_;
};

TEST(WriteRules, ReadingWhatWasWrittenGivesEqualRules) {
  int written = 0;
  EXPECT_TRUE(rc::check([&written](std::uint32_t seed) {
    for (std::uint32_t i = 0; i < 10; ++i) {
      const Rules rules = RandomRules(seed + i).rules();
      if (!check_rules(rules).ok()) continue;
      ++written;
      const std::string text = write_rules(rules);
      const Result<Rules> read = parse_rules(text, "written.yaml");
      if (!read.ok()) RC_FAIL(read.failure().message + "\n" + text);
      RC_LOG() << text;
      RC_ASSERT(read.value() == rules);
    }
  }));
  EXPECT_GT(written, 300) << "most of the random rules are valid";
}

TEST(WriteRules, WritesAValueTooLongForOneLineAsABlock) {
  Rules rules;
  Rule& rule = rules.rules.emplace_back();
  rule.id = "a";
  rule.allowance = {.limit = 1, .window = std::chrono::seconds(1)};
  rule.match = {{"path", {std::string(40, 'a'), std::string(40, 'b'), std::string(40, 'c')}}, {"action", {"x"}}};
  rule.plans = {{"p", {.limit = 0}}, {std::string(1'000, 'k'), {.unlimited = true}}};
  const std::string text = write_rules(rules);
  EXPECT_NE(text.find("    match:\n      path:\n        - " + std::string(40, 'a') + "\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    plans:\n      p: {limit: 0}\n      ? k"), std::string::npos) << text;
  EXPECT_EQ(parse_rules(text, "written.yaml").value(), rules);
}

TEST(WriteRules, ALargeListCanBeReadAgain) {
  Rules rules;
  Rule& rule = rules.rules.emplace_back();
  rule.id = "a";
  rule.allowance = {.limit = 1, .window = std::chrono::seconds(1)};
  Condition condition{"path", {}};
  for (int i = 0; i < 10'000; ++i) condition.patterns.push_back(std::to_string(i) + std::string(200, ':'));
  rule.match = {condition};
  EXPECT_EQ(parse_rules(write_rules(rules), "written.yaml").value(), rules);
}

}  // namespace
}  // namespace weir::rules
