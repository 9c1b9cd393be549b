#include "rules/compile/rule_set.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "rules/read/rules_file.h"

// Counts what this program takes from the heap, for the tests that forbid it.
namespace {
thread_local std::size_t allocations = 0;
}
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::rules {
namespace {

using namespace std::chrono_literals;
using Attributes = std::vector<Attribute>;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

class RuleSetTest : public testing::Test {
 protected:
  void load(const std::string& rules, const std::string& top = "") {
    const Result<Rules> parsed = parse_rules("version: 1\n" + top + "rules:\n" + rules, "f.yaml");
    ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
    compile(parsed.value());
  }
  void compile(const Rules& rules) {
    auto set = RuleSet::compile(rules, names_);
    ASSERT_TRUE(set.ok()) << set.failure().message;
    set_ = set.value();
  }

  Matches matches(const Attributes& attributes, std::int64_t cost = 1, TimePoint now = kNow) const {
    ResolvedNames names;
    Matches found;
    const Request request(attributes, Cost{cost});
    set_->match(request, now, names, found);
    check_explanation(request, now, found);
    return found;
  }
  // The ids of the rules that apply, as "a b c".
  std::string ids(const Attributes& attributes, TimePoint now = kNow) const {
    std::string out;
    for (const Match& match : matches(attributes, 1, now)) {
      if (!out.empty()) out += ' ';
      out += match.rule->name.id;
    }
    return out;
  }
  // The limit chosen by the only rule; 0: unlimited, -1: it does not apply.
  std::int64_t limit(const Attributes& attributes, TimePoint now = kNow) const {
    const Matches found = matches(attributes, 1, now);
    if (found.empty()) return -1;
    return found[0].allowance == nullptr ? 0 : found[0].allowance->limit;
  }
  std::int64_t cost(const Attributes& attributes, std::int64_t requested = 1) const {
    return matches(attributes, requested)[0].cost;
  }
  std::string why_not(const Attributes& attributes) const {
    return set_->explain(Request(attributes), kNow).rules[0].why_not;
  }
  std::string chosen(const Attributes& attributes) const {
    return set_->explain(Request(attributes), kNow).rules[0].chosen;
  }

  RuleNames names_;
  std::shared_ptr<const RuleSet> set_;

 private:
  // The explanation agrees with the match.
  void check_explanation(const Request& request, TimePoint now, const Matches& found) const {
    std::size_t next = 0;
    for (const RuleExplanation& explained : set_->explain(request, now).rules) {
      const bool applies = next < found.size() && found[next].rule->name.id == explained.rule;
      EXPECT_EQ(explained.applies, applies) << explained.rule << ": " << explained.why_not;
      EXPECT_EQ(explained.why_not.empty(), applies);
      if (!applies) continue;
      EXPECT_EQ(explained.cost, found[next].cost);
      EXPECT_EQ(explained.allowance.has_value(), found[next].allowance != nullptr);
      if (explained.allowance) {
        EXPECT_EQ(explained.allowance->limit, found[next].allowance->limit);
      }
      ++next;
    }
    EXPECT_EQ(next, found.size());
  }
};

TEST_F(RuleSetTest, MatchesByEqualityListGlobExpressionAndBlock) {
  load(R"(
- {id: all, limit: 1, window: 1s}
- {id: equal, match: {action: search}, limit: 1, window: 1s}
- {id: list, match: {method: [GET, HEAD]}, limit: 1, window: 1s}
- {id: glob, match: {path: "/v1/*"}, limit: 1, window: 1s}
- {id: regex, match: {path: "~/v[0-9]+/users"}, limit: 1, window: 1s}
- {id: block, match: {ip: [10.0.0.0/8, "2001:db8::/32"]}, limit: 1, window: 1s}
- {id: mixed, match: {action: [search, "find*", "~l.st"]}, limit: 1, window: 1s}
- {id: both, match: {action: search, method: GET}, limit: 1, window: 1s}
)");
  EXPECT_EQ(ids({}), "all");
  EXPECT_EQ(ids({{"unheard-of", "x"}}), "all");
  EXPECT_EQ(ids({{"action", "search"}}), "all equal mixed");
  EXPECT_EQ(ids({{"action", "find-all"}}), "all mixed");
  EXPECT_EQ(ids({{"action", "last"}}), "all mixed");
  EXPECT_EQ(ids({{"action", "at last"}}), "all");  // an expression must fit the whole value
  EXPECT_EQ(ids({{"method", "HEAD"}}), "all list");
  EXPECT_EQ(ids({{"method", "GET"}, {"action", "search"}}), "all equal list mixed both");
  EXPECT_EQ(ids({{"path", "/v1/users"}}), "all glob regex");
  EXPECT_EQ(ids({{"path", "/v22/users"}}), "all regex");
  EXPECT_EQ(ids({{"ip", "10.1.2.3"}}), "all block");
  EXPECT_EQ(ids({{"ip", "2001:db8::5"}}), "all block");
  EXPECT_EQ(ids({{"ip", "192.0.2.1"}}), "all");
}

TEST_F(RuleSetTest, AnyValueOfARepeatedNameMatchesAndARuleOnlyOnce) {
  load(R"(
- {id: slow, match: {generic_key: slow}, limit: 1, window: 1s}
- {id: either, match: {generic_key: [fast, slow]}, limit: 1, window: 1s}
- {id: glob, match: {generic_key: "f*"}, limit: 1, window: 1s}
)");
  EXPECT_EQ(ids({{"generic_key", "fast"}, {"generic_key", "slow"}}), "slow either glob");
  EXPECT_EQ(ids({{"generic_key", "fast"}}), "either glob");
}

TEST_F(RuleSetTest, NeedsEveryAttributeOfPer) {
  load("- {id: a, match: {action: x}, per: [tenant, user], limit: 1, window: 1s}");
  EXPECT_EQ(ids({{"action", "x"}, {"tenant", "t"}, {"user", "u"}}), "a");
  EXPECT_EQ(ids({{"action", "x"}, {"tenant", "t"}}), "");
  EXPECT_EQ(ids({{"action", "x"}, {"tenant", ""}, {"user", ""}}), "a");  // empty is a value
  EXPECT_EQ(why_not({{"action", "x"}, {"tenant", "t"}}), "per: the request has no user");
  EXPECT_EQ(why_not({{"action", "y"}}), "match: action has none of the expected values");
  EXPECT_EQ(why_not({{"tenant", "t"}}), "match: the request has no action");
  ASSERT_EQ(set_->rules()[0].per.size(), 2u);
}

TEST_F(RuleSetTest, MatchesRequestsWithoutAnAttribute) {
  load(R"(
- {id: without, match: {api_key: absent}, limit: 1, window: 1s}
- {id: with, match: {api_key: "*"}, limit: 1, window: 1s}
- {id: search, match: {action: search, api_key: absent}, limit: 1, window: 1s}
- {id: either, match: {api_key: ["absent", guest]}, limit: 1, window: 1s}
- {id: text, match: {api_key: "~absent"}, limit: 1, window: 1s}
)");
  EXPECT_EQ(ids({}), "without either");
  EXPECT_EQ(ids({{"action", "search"}}), "without search either");
  EXPECT_EQ(ids({{"action", "search"}, {"api_key", "k"}}), "with");
  EXPECT_EQ(ids({{"api_key", ""}}), "with") << "empty is a value";
  EXPECT_EQ(ids({{"api_key", "guest"}}), "with either");
  EXPECT_EQ(ids({{"api_key", "k"}, {"api_key", "guest"}}), "with either");
  EXPECT_EQ(ids({{"api_key", "absent"}}), "with text") << "a caller that sends the word has the attribute";
  EXPECT_EQ(why_not({{"api_key", "k"}}), "match: the request has api_key, expected none");
}

TEST_F(RuleSetTest, AnOverrideCanBeForRequestsWithoutAnAttribute) {
  load("- {id: a, limit: 9, window: 1s, overrides: [{when: {api_key: absent}, limit: 3}]}");
  EXPECT_EQ(limit({}), 3);
  EXPECT_EQ(limit({{"api_key", "k"}}), 9);
}

TEST_F(RuleSetTest, CountsByTheFirstOfTheAlternativesThatTheRequestCarries) {
  load("- {id: a, match: {action: x}, per: [tenant, api_key | session|ip], limit: 1, window: 1s}");
  const auto counted_by = [this](const Attributes& attributes) {
    return set_->explain(Request(attributes), kNow).rules[0].counted_by;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(ids({{"action", "x"}, {"tenant", "t"}, {"ip", "i"}}), "a");
  EXPECT_EQ(counted_by({{"action", "x"}, {"tenant", "t"}, {"ip", "i"}}), (Names{"tenant", "ip"}));
  EXPECT_EQ(counted_by({{"action", "x"}, {"tenant", "t"}, {"ip", "i"}, {"api_key", "k"}}), (Names{"tenant", "api_key"}))
      << "by the order in the rule, not in the request";
  EXPECT_EQ(ids({{"action", "x"}, {"tenant", "t"}}), "");
  EXPECT_EQ(why_not({{"action", "x"}, {"tenant", "t"}}), "per: the request has no api_key, session or ip");
  EXPECT_EQ(ids({{"action", "x"}, {"ip", "i"}}), "");
  EXPECT_EQ(why_not({{"action", "x"}, {"ip", "i"}}), "per: the request has no tenant");
  EXPECT_EQ(ids({{"tenant", "t"}, {"ip", "i"}}), "");
}

TEST_F(RuleSetTest, ResolvesNamesForTheEngine) {
  load("- {id: a, per: [tenant, a_name_longer_than_sixteen_bytes], limit: 1, window: 1s}");
  const Attributes attributes = {
      {"a_name_longer_than_sixteen_bytes", "1"}, {"a_name_longer_then_sixteen_bytes", "2"}, {"tenant", "3"}, {"", "4"}};
  ResolvedNames names;
  Matches found;
  set_->match(Request(attributes), kNow, names, found);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(names.ids[0], found[0].rule->per[1]);
  EXPECT_EQ(names.ids[1], kUnknownName);
  EXPECT_EQ(names.ids[2], found[0].rule->per[0]);
  EXPECT_EQ(names.ids[3], kUnknownName);
}

TEST_F(RuleSetTest, ModesAndGlobalShadow) {
  const std::string rules = R"(
- {id: a, limit: 1, window: 1s}
- {id: b, limit: 1, window: 1s, mode: shadow}
- {id: c, limit: 1, window: 1s, mode: off, match: {x: y}}
- {id: d, limit: 1, window: 1s, mode: off}
)";
  load(rules);
  EXPECT_EQ(ids({{"x", "y"}}), "a b");
  EXPECT_EQ(set_->rules()[0].mode, Mode::enforce);
  EXPECT_EQ(set_->explain(Request(), kNow).rules[3].why_not, "mode: off");
  load(rules, "global_mode: shadow\n");
  EXPECT_EQ(set_->rules()[0].mode, Mode::shadow);
  EXPECT_EQ(set_->rules()[2].mode, Mode::off);
  EXPECT_EQ(ids({{"x", "y"}}), "a b");
}

TEST_F(RuleSetTest, EmergencyBeatsOverrideBeatsPlanBeatsRule) {
  load(R"(
- id: a
  limit: 10
  window: 1s
  plans: {free: {limit: 20}, big: unlimited}
  overrides:
    - {when: {tenant: acme}, limit: 30, reason: launch}
    - {when: {tenant: [acme, beta]}, limit: 40}
    - {when: {tenant: "g*"}, limit: 50}
    - {when: {tenant: beta, user: root}, emergency: true, limit: 60}
    - {when: {user: root}, emergency: true, unlimited: true}
)");
  EXPECT_EQ(limit({}), 10);
  EXPECT_EQ(limit({{"plan", "free"}}), 20);
  EXPECT_EQ(limit({{"plan", "big"}}), 0);
  EXPECT_EQ(limit({{"plan", "other"}}), 10);
  EXPECT_EQ(limit({{"plan", "other"}, {"plan", "free"}}), 20);
  EXPECT_EQ(limit({{"plan", "free"}, {"tenant", "acme"}}), 30);
  EXPECT_EQ(limit({{"tenant", "beta"}}), 40);
  EXPECT_EQ(limit({{"tenant", "beta"}, {"tenant", "acme"}}), 30);
  EXPECT_EQ(limit({{"tenant", "gamma"}}), 50);
  EXPECT_EQ(limit({{"tenant", "beta"}, {"user", "root"}}), 60);
  EXPECT_EQ(limit({{"tenant", "acme"}, {"user", "root"}}), 0);
  EXPECT_EQ(chosen({}), "rule");
  EXPECT_EQ(chosen({{"plan", "free"}}), "plan free");
  EXPECT_EQ(chosen({{"tenant", "acme"}}), "override #1 (launch)");
  EXPECT_EQ(chosen({{"tenant", "acme"}, {"user", "root"}}), "emergency override #5");
}

TEST_F(RuleSetTest, AnOverrideEndsAtItsTime) {
  load(R"(
- id: a
  limit: 10
  window: 1s
  overrides:
    - {when: {tenant: acme}, limit: 30, until: 2026-12-31T00:00:00Z}
    - {when: {tenant: acme}, limit: 20}
)");
  const TimePoint until = from_micros(1'798'675'200'000'000);
  EXPECT_EQ(limit({{"tenant", "acme"}}, until - Duration(1)), 30);
  EXPECT_EQ(limit({{"tenant", "acme"}}, until), 20);
}

TEST_F(RuleSetTest, WhatAPlanDoesNotSayStays) {
  load(R"(
- {id: a, limit: 10, window: 1s, burst: 15, plans: {p: {limit: 20}, w: {window: 2s, burst: 3}}}
- {id: b, limit: 10, window: 1s, plans: {p: {limit: 20}}}
- {id: c, limit: unlimited, window: 1s, plans: {p: {limit: 7}, w: {window: 2s}}}
)");
  const Matches p = matches({{"plan", "p"}});
  EXPECT_EQ(p[0].allowance->burst, 15);
  EXPECT_EQ(p[1].allowance->burst, 20);  // a burst that follows the limit follows the plan's
  EXPECT_EQ(p[2].allowance->limit, 7);
  const Matches w = matches({{"plan", "w"}});
  EXPECT_EQ(w[0].allowance->limit, 10);
  EXPECT_EQ(w[0].allowance->window, Duration(2s));
  EXPECT_EQ(w[0].allowance->burst, 3);
  EXPECT_EQ(w[2].allowance, nullptr);
}

TEST_F(RuleSetTest, CostComesFromRequestNumberAttributeOrTable) {
  load("- {id: a, limit: 9, window: 1s}");
  EXPECT_EQ(cost({}, 5), 5);
  EXPECT_EQ(cost({}, 0), 0);
  EXPECT_EQ(cost({}, -3), 0);
  EXPECT_EQ(cost({}, std::numeric_limits<std::int64_t>::max()), kMaxUnits);
  load("- {id: a, limit: 9, window: 1s, cost: 3}");
  EXPECT_EQ(cost({}, 5), 3);
  load("- {id: a, limit: 9, window: 1s, cost: {attribute: tokens}}");
  EXPECT_EQ(cost({{"tokens", "17"}}, 5), 17);
  EXPECT_EQ(cost({{"tokens", "0"}}, 5), 0);
  EXPECT_EQ(cost({{"tokens", "1000000000000"}}, 5), kMaxUnits);
  for (const char* wrong : {"", "-1", "-0", "+1", " 1", "1.5", "x", "1000000000001", "99999999999999999999"}) {
    EXPECT_EQ(cost({{"tokens", wrong}}, 5), 5) << wrong;
  }
  EXPECT_EQ(cost({}, 5), 5);
  load("- {id: a, limit: 9, window: 1s, cost: {by: method, GET: 2, POST: 3, default: 4}}");
  EXPECT_EQ(cost({{"method", "POST"}}, 5), 3);
  EXPECT_EQ(cost({{"method", "PUT"}, {"method", "GET"}}, 5), 2);
  EXPECT_EQ(cost({{"method", "PUT"}}, 5), 4);
  EXPECT_EQ(cost({}, 5), 4);
  load("- {id: a, limit: 9, window: 1s, cost: {by: method}}");
  EXPECT_EQ(cost({{"method", "PUT"}}, 5), 1);
}

TEST_F(RuleSetTest, RolloutTakesAStableShareOfSubjects) {
  constexpr int kSubjects = 10'000;
  std::vector<bool> before(kSubjects, false);
  for (const int percent : {0, 1, 25, 75, 100}) {
    load("- {id: roll, per: [tenant], limit: 1, window: 1s, rollout: " + std::to_string(percent) + "}");
    int taken = 0;
    for (int i = 0; i < kSubjects; ++i) {
      const std::string tenant = "tenant-" + std::to_string(i);
      ResolvedNames names;
      Matches found;
      const Attributes attributes = {{"tenant", tenant}, {"other", tenant}};
      set_->match(Request(attributes), kNow, names, found);
      EXPECT_TRUE(!before[static_cast<std::size_t>(i)] || !found.empty()) << "raising the share dropped " << tenant;
      before[static_cast<std::size_t>(i)] = !found.empty();
      taken += static_cast<int>(found.size());
    }
    // Five standard deviations of a fair draw; deterministic, so never flaky.
    EXPECT_NEAR(taken, kSubjects * percent / 100, percent == 0 || percent == 100 ? 0 : 220) << percent;
  }
}

// The hash is a promise: nodes of different versions must take the same subjects.
TEST_F(RuleSetTest, RolloutTakesTheSameSubjectsForEver) {
  load("- {id: r1, per: [tenant], limit: 1, window: 1s, rollout: 50}");
  std::string taken;
  for (const char* tenant : {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}) {
    if (!ids({{"tenant", tenant}}).empty()) taken += tenant;
  }
  EXPECT_EQ(taken, "bcefhl");
}

TEST_F(RuleSetTest, RolloutTakesAlternativesWithTheSameValueApart) {
  load("- {id: a, per: [api_key|ip], limit: 1, window: 1s, rollout: 50}");
  int same = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::string value = std::to_string(i);
    same += ids({{"api_key", value}}) == ids({{"ip", value}}) ? 1 : 0;
    EXPECT_EQ(ids({{"api_key", value}}), ids({{"ip", "x"}, {"api_key", value}})) << "what is not counted has no part";
  }
  EXPECT_GT(same, 400);
  EXPECT_LT(same, 600);
}

TEST_F(RuleSetTest, MatchesStayInTheOrderOfTheFile) {
  std::string rules;
  for (int i = 0; i < 60; ++i) {
    const char* match[] = {"{a: x}", "{b: y}", "{c: 'z*'}"};
    rules += "- {id: r" + std::to_string(100 + i) + ", match: " + match[i % 3] + ", limit: 1, window: 1s}\n";
  }
  load(rules);
  const Matches found = matches({{"c", "zz"}, {"b", "y"}, {"a", "x"}});
  ASSERT_EQ(found.size(), 60u);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(found[i].rule, &set_->rules()[i]);
}

TEST_F(RuleSetTest, ManyNamesStillNeedEveryAttribute) {
  std::string rules;
  for (int i = 0; i < 200; ++i) {
    rules += "- {id: r" + std::to_string(i) + ", per: [n" + std::to_string(i) + ", m], limit: 1, window: 1s}\n";
  }
  load(rules);
  EXPECT_EQ(ids({{"n7", "x"}, {"m", "x"}}), "r7");  // n71, n135 share a bit with it
  EXPECT_EQ(ids({{"n135", "x"}}), "");
  EXPECT_EQ(ids({{"m", "x"}}), "");
  load(rules + "- {id: s, match: {n135: absent}, per: [n8|n9], limit: 1, window: 1s}\n");
  EXPECT_EQ(ids({{"n7", "x"}, {"m", "x"}, {"n9", "x"}}), "r7 r9 s");
  EXPECT_EQ(ids({{"n9", "x"}, {"n135", "x"}}), "");
  EXPECT_EQ(ids({{"n72", "x"}, {"n73", "x"}}), "") << "they share a bit with n8 and n9";
}

TEST_F(RuleSetTest, TenThousandOverridesAreLookedUp) {
  Rules rules;
  Rule rule;
  rule.id = "many";
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1, .window = 1s};
  for (int i = 0; i < 10'000; ++i) {
    Override override;
    override.when = {{"tenant", {"t" + std::to_string(i)}}};
    override.change.limit = 10 + i;
    rule.overrides.push_back(override);
  }
  rules.rules.push_back(rule);
  compile(rules);
  EXPECT_EQ(limit({{"tenant", "t0"}}), 10);
  EXPECT_EQ(limit({{"tenant", "t9999"}}), 10'009);
  EXPECT_EQ(limit({{"tenant", "t10000"}}), 1);
}

TEST_F(RuleSetTest, MatchingDoesNotAllocate) {
  std::string rules;
  for (int i = 0; i < 4; ++i) {
    const std::string n = std::to_string(i);
    rules +=
        "- {id: e" + n + ", match: {action: search, path: '/v?/*x*'}, per: [tenant, user], limit: 1, window: 1s, " +
        "plans: {free: {limit: 2}}, overrides: [{when: {tenant: acme, ip: 10.0.0.0/8}, limit: 3}], rollout: 100, " +
        "cost: {by: method, GET: 2}}\n";
    rules += "- {id: g" + n + ", match: {ip: '::/0'}, limit: 1, window: 1s}\n";
    rules += "- {id: i" + n + ", match: {ip: '10.0.0.0/8', key: absent}, per: [key|ip], limit: 1, window: 1s}\n";
  }
  load(rules);
  Attributes attributes = {{"action", "search"}, {"path", "/v1/xx"}, {"tenant", "acme"}, {"user", "u"},
                           {"ip", "10.0.0.1"},   {"method", "GET"},  {"plan", "free"}};
  while (attributes.size() < kMaxAttributes) attributes.push_back({"action", "none-of-these-long-values"});
  const Request request(attributes);
  ResolvedNames names;
  Matches found;
  const std::size_t before = allocations;
  set_->match(request, kNow, names, found);
  EXPECT_EQ(allocations, before);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0].allowance->limit, 3);
  EXPECT_EQ(found[0].cost, 2);
}

TEST_F(RuleSetTest, UnderALimitOfZeroEveryRequestCostsSomething) {
  load("  - {id: a, per: tenant, limit: 0, window: 1s}\n");
  EXPECT_EQ(limit({{"tenant", "x"}}), 0);
  EXPECT_EQ(cost({{"tenant", "x"}}, 0), 1);
  EXPECT_EQ(cost({{"tenant", "x"}}, 7), 7);
  EXPECT_EQ(matches({{"tenant", "x"}})[0].allowance->largest_cost(), 0);
}

TEST_F(RuleSetTest, ARuleCanDenyACostThatIsNoNumber) {
  load("  - {id: a, limit: 10, window: 1s, cost: {attribute: tokens}, on_bad_cost: deny}\n");
  EXPECT_EQ(cost({{"tokens", "7"}}), 7);
  EXPECT_EQ(cost({{"other", "7"}}, 3), 3) << "without the attribute it is the request's own cost";
  for (const char* bad : {"abc", "-1", "", "1.5", "1000000000001"}) {
    const Match match = matches({{"tokens", bad}})[0];
    EXPECT_TRUE(match.bad_cost) << bad;
    EXPECT_GT(match.cost, match.allowance->largest_cost()) << bad;
  }
  EXPECT_FALSE(matches({{"tokens", "7"}})[0].bad_cost);
}

// Their bits are those of the rules' names again, from the 65th name on.
TEST_F(RuleSetTest, NamesThatOnlySheddingMentionsAreNotTakenForThoseOfRules) {
  Rule rule;
  rule.id = "per-tenant";
  rule.per = {"tenant"};
  rule.allowance = {.limit = 10, .window = 1s};
  SheddingClass many{.name = "many", .match = {}, .shed_at = 80};
  std::vector<std::string> texts;
  for (int i = 0; i < 64; ++i) texts.push_back("only-shedding-" + std::to_string(i));
  Attributes carried;
  for (const std::string& text : texts) {
    many.match.push_back({text, {"x"}});
    carried.push_back({text, "x"});
  }
  compile({.rules = {rule}, .shedding = Shedding{.rate = 1'000, .classes = {many}}});
  EXPECT_TRUE(matches(carried).empty());
  carried.back() = {"tenant", "acme"};
  EXPECT_EQ(matches(carried).size(), 1u);
}

TEST_F(RuleSetTest, CountsMistakesInRequests) {
  const auto issues = std::make_shared<MatchIssueCounters>();
  const Result<Rules> rules = parse_rules(
      "version: 1\nrules:\n"
      "  - {id: a, match: {action: x, path: '/v1/*'}, per: tenant, limit: 10, window: 1s, plans: {pro: {limit: 20}}}\n"
      "  - {id: b, match: {action: y}, limit: 10, window: 1s, cost: {attribute: tokens}}\n"
      "  - {id: c, match: {action: z}, per: [user|ip], limit: 10, window: 1s}\n",
      "f.yaml");
  const auto set = RuleSet::compile(rules.value(), names_, RulesAre::checked, {.version = 3, .issues = issues}).value();
  EXPECT_EQ(set->version(), 3u);
  const auto totals_after = [&](const Attributes& attributes) {
    ResolvedNames names;
    Matches found;
    set->match(Request(attributes), kNow, names, found);
    return std::vector<std::uint64_t>{issues->total(MatchIssue::unknown_plan), issues->total(MatchIssue::bad_cost),
                                      issues->total(MatchIssue::missing_attribute)};
  };
  using Totals = std::vector<std::uint64_t>;
  const Attribute action{"action", "x"};
  const Attribute path{"path", "/v1/a"};
  const Attribute tenant{"tenant", "t"};
  EXPECT_EQ(totals_after({action, path, tenant}), (Totals{0, 0, 0}));
  EXPECT_EQ(totals_after({action, path, tenant, {"plan", "pro"}}), (Totals{0, 0, 0}));
  EXPECT_EQ(totals_after({action, path, tenant, {"plan", "Pro"}}), (Totals{1, 0, 0}));
  EXPECT_EQ(totals_after({action, path}), (Totals{1, 0, 1}));
  EXPECT_EQ(totals_after({action, {"path", "/v2"}}), (Totals{1, 0, 1})) << "the rule would not apply anyway";
  EXPECT_EQ(totals_after({{"action", "y"}, {"tokens", "abc"}}), (Totals{1, 1, 1}));
  EXPECT_EQ(totals_after({{"action", "y"}, {"tokens", "12"}}), (Totals{1, 1, 1}));
  EXPECT_EQ(totals_after({{"action", "z"}, {"ip", "i"}}), (Totals{1, 1, 1}));
  EXPECT_EQ(totals_after({{"action", "z"}}), (Totals{1, 1, 2})) << "none of the alternatives";
}

}  // namespace
}  // namespace weir::rules
