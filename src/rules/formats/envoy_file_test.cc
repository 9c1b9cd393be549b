// Rule files of envoyproxy/ratelimit, read as they are.
#include "rules/formats/envoy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/compile/rule_set.h"
#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"
#include "tests/support/temporary_folder.h"

namespace weir::rules {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

Result<ForeignRules> read_text_of(std::string_view text, const std::string& file = "edge.yaml") {
  const Result<base::YamlDocument> document = base::YamlDocument::parse(text, file);
  EXPECT_TRUE(document.ok());
  FaultList faults;
  EnvoyReader reader;
  reader.add(document.value(), faults);
  return std::move(reader).finish(file, faults);
}

std::string fault_of(std::string_view text) {
  const Result<ForeignRules> read = read_text_of(text);
  return read.ok() ? "no fault" : read.failure().message;
}

// The ids of the rules that apply to a request.
class Set {
 public:
  explicit Set(const Rules& rules) {
    Result<std::shared_ptr<const RuleSet>> compiled = RuleSet::compile(rules, names_);
    EXPECT_TRUE(compiled.ok()) << (compiled.ok() ? "" : compiled.failure().message);
    set_ = std::move(compiled).value();
  }
  std::vector<std::string> match(std::initializer_list<Attribute> attributes) const {
    ResolvedNames names;
    Matches matches;
    set_->match(Request(std::span(attributes.begin(), attributes.size())), kNow, names, matches);
    std::vector<std::string> ids;
    for (const Match& match : matches) ids.emplace_back(match.rule->name.id);
    return ids;
  }
  const RuleSet& rules() const { return *set_; }

 private:
  RuleNames names_;
  std::shared_ptr<const RuleSet> set_;
};

constexpr std::string_view kEdge = R"(
domain: edge
descriptors:
  - key: remote_address
    rate_limit: {unit: minute, requests_per_unit: 60}
  - key: remote_address
    value: 10.0.0.1
  - key: remote_address
    value: 10.*
    rate_limit: {unit: Hour, requests_per_unit: 6000, name: inside}
  - key: generic_key
    value: slow
    shadow_mode: true
    rate_limit: {unit: DAY, requests_per_unit: 5}
    descriptors:
      - key: generic_key
        rate_limit: {unit: week, requests_per_unit: 7}
      - key: user
        value: root
        rate_limit: {unlimited: true}
)";

// Where the original is asked with a value that is itself written foo*, the descriptor of that very value counts.
TEST(EnvoyFile, AValueThatIsWrittenLikeABeginningIsEqualToIt) {
  const Result<ForeignRules> read = read_text_of(R"(
domain: d
descriptors:
  - {key: path, value: "f*", rate_limit: {unit: day, requests_per_unit: 1, name: short}}
  - {key: path, value: "foo*", rate_limit: {unit: day, requests_per_unit: 2, name: long}}
)");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  const Set set(read.value().rules);
  EXPECT_THAT(set.match({{"domain", "d"}, {"path", "foo*"}}), ElementsAre("long"));
  EXPECT_THAT(set.match({{"domain", "d"}, {"path", "foobar"}}), ElementsAre("short"));
  EXPECT_THAT(set.match({{"domain", "d"}, {"path", "fo*"}}), ElementsAre("short"));
}

TEST(EnvoyFile, UnlimitedSaysSoInShadowModeToo) {
  const Result<ForeignRules> read =
      read_text_of("domain: d\ndescriptors: [{key: a, shadow_mode: true, rate_limit: {unlimited: true}}]\n");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_TRUE(read.value().rules.rules.at(0).unlimited);
  EXPECT_EQ(read.value().rules.rules[0].mode, Mode::enforce);
}

// Where the original is used, files share limits with YAML's own means.
TEST(EnvoyFile, LimitsMayBeSharedByAnchorsAndMerges) {
  const Result<ForeignRules> read = read_text_of(R"(
domain: edge
descriptors:
  - {key: a, rate_limit: &slow {unit: hour, requests_per_unit: 5}}
  - {key: b, rate_limit: *slow}
  - {key: c, rate_limit: {<<: *slow, name: c-limit, requests_per_unit: 7}}
)");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  const std::vector<Rule>& rules = read.value().rules.rules;
  ASSERT_EQ(rules.size(), 3u);
  EXPECT_EQ(rules[1].allowance.limit, 5);
  EXPECT_EQ(rules[2].id, "c-limit");
  EXPECT_EQ(rules[2].allowance.limit, 7);
  EXPECT_EQ(rules[2].allowance.window, std::chrono::hours(1));
}

TEST(EnvoyFile, TurnsNestedDescriptorsIntoRules) {
  const Result<ForeignRules> read = read_text_of(kEdge);
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(write_rules(read.value().rules), R"(version: 1
rules:
  - id: edge.remote_address
    per: [remote_address]
    descriptor: [{domain: edge}, {remote_address: null}]
    algorithm: fixed-window
    limit: 60
    window: 1m
    count_denied: true
  - id: edge.remote_address.10_0_0_1-c8857b71b765
    descriptor: [{domain: edge}, {remote_address: "10.0.0.1"}]
    algorithm: fixed-window
    limit: unlimited
    mode: off
  - id: inside
    per: [remote_address]
    descriptor: [{domain: edge}, {remote_address: "10.*"}]
    algorithm: fixed-window
    limit: 6000
    window: 1h
    count_denied: true
  - id: edge.generic_key.slow
    descriptor: [{domain: edge}, {generic_key: slow}]
    algorithm: fixed-window
    limit: 5
    window: 1d
    mode: shadow
    count_denied: true
  - id: edge.generic_key.slow.generic_key
    per: [generic_key]
    descriptor: [{domain: edge}, {generic_key: slow}, {generic_key: null}]
    algorithm: fixed-window
    limit: 7
    window: 7d
    count_denied: true
  - id: edge.generic_key.slow.user.root
    descriptor: [{domain: edge}, {generic_key: slow}, {user: root}]
    algorithm: fixed-window
    limit: unlimited
)");
}

TEST(EnvoyFile, IsWrittenSoThatReadingGivesTheSameRules) {
  const Result<ForeignRules> read = read_text_of(kEdge);
  const std::string text = write_rules(read.value().rules);
  const Result<Rules> again = parse_rules(text, "imported.yaml");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(write_rules(again.value()), text);
}

TEST(EnvoyFile, PrefersEqualValuesThenBeginningsThenTheBareKey) {
  const Set set(read_text_of(kEdge).value().rules);
  EXPECT_THAT(set.match({{"domain", "edge"}, {"remote_address", "192.0.2.7"}}), ElementsAre("edge.remote_address"));
  EXPECT_THAT(set.match({{"domain", "edge"}, {"remote_address", "10.1.1.1"}}), ElementsAre("inside"));
  EXPECT_THAT(set.match({{"domain", "edge"}, {"remote_address", "10.0.0.1"}}), IsEmpty()) << "exempt: it has no limit";
}

TEST(EnvoyFile, AppliesALimitOnlyAtEqualDepthAndInOrder) {
  const Set set(read_text_of(kEdge).value().rules);
  EXPECT_THAT(set.match({{"domain", "edge"}, {"generic_key", "slow"}}), ElementsAre("edge.generic_key.slow"));
  EXPECT_THAT(set.match({{"domain", "edge"}, {"generic_key", "slow"}, {"generic_key", "x"}}),
              ElementsAre("edge.generic_key.slow.generic_key"));
  EXPECT_THAT(set.match({{"domain", "edge"}, {"generic_key", "x"}, {"generic_key", "slow"}}), IsEmpty());
  EXPECT_THAT(set.match({{"domain", "edge"}, {"generic_key", "slow"}, {"user", "u"}}), IsEmpty());
  EXPECT_THAT(set.match({{"domain", "edge"}, {"remote_address", "192.0.2.7"}, {"user", "u"}}), IsEmpty());
  EXPECT_THAT(set.match({{"domain", "edge"}}), IsEmpty());
  EXPECT_THAT(set.match({{"domain", "other"}, {"remote_address", "192.0.2.7"}}), IsEmpty());
  EXPECT_THAT(set.match({{"remote_address", "192.0.2.7"}, {"domain", "edge"}}), IsEmpty());
}

TEST(EnvoyFile, CountsByEveryValueThatTheRuleLeavesOpen) {
  const Rules rules = read_text_of(R"(
domain: d
descriptors:
  - key: path
    value: /files/*
    share_threshold: true
    rate_limit: {unit: second, requests_per_unit: 1}
    descriptors:
      - key: user
        rate_limit: {unit: second, requests_per_unit: 2}
  - key: tag
    value: t*
    descriptors:
      - key: tag
        rate_limit: {unit: second, requests_per_unit: 3}
)")
                          .value()
                          .rules;
  EXPECT_THAT(rules.rules[0].per, IsEmpty()) << "all paths share";
  EXPECT_THAT(rules.rules[1].per, ElementsAre("user"));
  EXPECT_THAT(rules.rules[2].per, ElementsAre("tag")) << "both values, in order";
}

TEST(EnvoyFile, LetsARuleChooseAnyAlgorithmOfOurs) {
  const Rules rules = read_text_of(R"(
domain: d
descriptors:
  - key: user
    rate_limit:
      unit: minute
      requests_per_unit: 100
      weir: {algorithm: token-bucket, burst: 20, on_store_failure: deny}
  - key: key
    rate_limit: {requests_per_unit: 9, weir: {algorithm: sliding-log, window: 90s}}
)")
                          .value()
                          .rules;
  EXPECT_EQ(rules.rules[0].allowance.algorithm, Algorithm::token_bucket);
  EXPECT_EQ(rules.rules[0].allowance.burst, 20);
  EXPECT_EQ(rules.rules[0].on_store_failure, FailurePolicy::deny);
  EXPECT_EQ(rules.rules[1].allowance.algorithm, Algorithm::sliding_log);
  EXPECT_EQ(rules.rules[1].allowance.window, std::chrono::seconds(90));
}

// What Envoy tells when a request is over has been used, whether it fits or not.
TEST(EnvoyFile, CountsDeniedHitsUnlessTheRuleOrItsAlgorithmSaysOtherwise) {
  const auto counts = [](const std::string& ours) {
    const Result<ForeignRules> read =
        read_text_of("domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 9" + ours + "}}]\n");
    EXPECT_TRUE(read.ok());
    return read.value().rules.rules.at(0).count_denied;
  };
  EXPECT_TRUE(counts(""));
  EXPECT_TRUE(counts(", weir: {on_store_failure: deny}"));
  EXPECT_FALSE(counts(", weir: {count_denied: false}"));
  EXPECT_FALSE(counts(", weir: {algorithm: token-bucket}"));
  EXPECT_TRUE(counts(", weir: {algorithm: token-bucket, count_denied: true}"));
}

TEST(EnvoyFile, ResolvesReplacesWithinTheDomainToEveryRuleOfThatName) {
  const Rules rules = read_text_of(R"(
domain: d
descriptors:
  - key: a
    rate_limit: {unit: second, requests_per_unit: 1, name: plain}
  - key: b
    rate_limit: {unit: second, requests_per_unit: 1, name: plain}
  - key: c
    rate_limit: {unit: second, requests_per_unit: 1, name: special, replaces: [{name: plain}, {name: nobody}]}
  - key: u
    rate_limit: {unlimited: true, name: plain}
)")
                          .value()
                          .rules;
  EXPECT_EQ(rules.rules[0].id, "d.a") << "several rules have the name";
  EXPECT_THAT(rules.rules[2].replaces, ElementsAre("d.a", "d.b")) << "what is unlimited stays so";

  const Set set(rules);
  const Attribute a[] = {{"domain", "d"}, {"a", "1"}};
  const Attribute b[] = {{"domain", "d"}, {"b", "1"}};
  const Attribute c[] = {{"domain", "d"}, {"c", "1"}};
  const auto replaced = [&](std::initializer_list<std::span<const Attribute>> descriptors) {
    std::vector<Request> requests;
    for (const auto& each : descriptors) requests.emplace_back(each);
    bool marks[4] = {};
    set.rules().find_replaced(requests, std::span(marks).first(requests.size()));
    std::string text;
    for (std::size_t i = 0; i < requests.size(); ++i) text += marks[i] ? 'x' : '-';
    return text;
  };
  EXPECT_EQ(replaced({a, b}), "--");
  EXPECT_EQ(replaced({a, c, b}), "x-x");
  EXPECT_EQ(replaced({c}), "-");
}

TEST(EnvoyFile, ReadsALimitOfZeroAsZero) {
  const Rules rules = read_text_of(R"(
domain: d
descriptors:
  - key: blocked
    rate_limit: {unit: second, requests_per_unit: 0}
)")
                          .value()
                          .rules;
  EXPECT_EQ(rules.rules[0].allowance.limit, 0);
  EXPECT_EQ(rules.rules[0].cost, CostModel());
}

TEST(EnvoyFile, SaysWhatItReadsAndDoesNotDo) {
  const Result<ForeignRules> read = read_text_of(R"(domain: d
descriptors:
  - key: a
    detailed_metric: true
    value_to_metric: false
    quota_mode: true
    metadata: {k: v}
    share_threshold: true
    rate_limit: {unit: second, requests_per_unit: 1}
)");
  EXPECT_THAT(read.value().notes,
              ElementsAre("edge.yaml:3:5: descriptors[0].share_threshold: only counts for a value that ends in *",
                          "edge.yaml:4:22: descriptors[0].detailed_metric: has no effect: metrics are by rule",
                          HasSubstr("edge.yaml:7:15: descriptors[0].metadata: has no effect"),
                          HasSubstr("edge.yaml:6:17: descriptors[0].quota_mode: has no effect")));
}

TEST(EnvoyFile, KnowsTheOriginalsWordsForTrueAndFalse) {
  const auto mode = [](std::string_view word) {
    const Result<ForeignRules> read =
        read_text_of("domain: d\ndescriptors:\n  - key: k\n    shadow_mode: " + std::string(word) +
                     "\n    rate_limit: {unit: day, requests_per_unit: 1, replaces: }\n");
    return read.ok() ? std::optional(read.value().rules.rules.at(0).mode) : std::nullopt;
  };
  for (const char* yes : {"true", "True", "yes", "ON", "y"}) EXPECT_EQ(mode(yes), Mode::shadow) << yes;
  for (const char* no : {"false", "FALSE", "no", "off", ""}) EXPECT_EQ(mode(no), Mode::enforce) << no;
  for (const char* neither : {"1", "maybe", "[]"}) EXPECT_EQ(mode(neither), std::nullopt) << neither;
}

// There, 010 is eight.
TEST(EnvoyFile, RefusesANumberThatMayBeOctal) {
  EXPECT_THAT(
      fault_of("domain: d\ndescriptors:\n  - key: k\n    rate_limit: {unit: day, requests_per_unit: 010}"),
      HasSubstr("edge.yaml:4:48: descriptors[0].rate_limit.requests_per_unit: is \"010\", expected a whole number"));
}

TEST(EnvoyFile, NamesLineAndColumnOfEveryMistake) {
  EXPECT_THAT(fault_of("descriptors: []"), HasSubstr("edge.yaml:1:1: domain: is missing"));
  EXPECT_THAT(fault_of("domain: ''"), HasSubstr("edge.yaml:1:9: domain: is \"\", expected"));
  EXPECT_THAT(fault_of("domain: d\ndescriptors:\n  - value: x"),
              HasSubstr("edge.yaml:3:5: descriptors[0].key: is missing"));
  EXPECT_THAT(fault_of("domain: d\ndescriptors:\n  - key: x\n    rate_limits: {}"),
              HasSubstr("edge.yaml:4:5: descriptors[0].rate_limits: unknown field (did you mean rate_limit?)"));
  EXPECT_THAT(
      fault_of("domain: d\ndescriptors:\n  - key: x\n    rate_limit: {unit: fortnight, requests_per_unit: -1}"),
      AllOf(HasSubstr("edge.yaml:4:24: descriptors[0].rate_limit.unit: is \"fortnight\""),
            HasSubstr("edge.yaml:4:54: descriptors[0].rate_limit.requests_per_unit: is -1, expected 0 to 4294967295")));
  EXPECT_THAT(fault_of("domain: d\ndescriptors:\n  - {key: x, value: a}\n  - {key: x, value: a}"),
              HasSubstr("edge.yaml:4:5: descriptors[1]: has the key and value of a descriptor before it"));
  EXPECT_THAT(fault_of("domain: d\ndescriptors:\n  - key: x\n    rate_limit: {unlimited: true, unit: day}"),
              HasSubstr("descriptors[0].rate_limit.unit: is given, but the limit is unlimited"));
  EXPECT_THAT(
      fault_of(
          "domain: d\ndescriptors:\n  - key: x\n    rate_limit: {unit: day, requests_per_unit: 1, weir: {burst: 3}}"),
      HasSubstr("descriptors[0].rate_limit.burst: "));
  EXPECT_THAT(
      fault_of(
          "domain: d\ndescriptors:\n  - key: x\n    rate_limit: {unit: day, requests_per_unit: 1, weir: {per: [a]}}"),
      HasSubstr("descriptors[0].rate_limit.weir.per: unknown field"));
}

TEST(EnvoyFile, RefusesTwoFilesOfOneDomain) {
  const TemporaryFolder folder;
  folder.write("a.yaml", "domain: d\n");
  folder.write("b.yaml", "domain: d\n");
  const Result<ForeignRules> read = read_rules(folder.path(), RulesFormat::envoy);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.failure().message, AllOf(HasSubstr("b.yaml:1:9: domain: is \"d\""), HasSubstr("a.yaml:1:9")));
}

TEST(EnvoyFile, AKeyWithABarIsOneAttribute) {
  const Result<ForeignRules> read = read_text_of(R"(
domain: edge
descriptors:
  - key: a|b
    descriptors: [{key: absent, value: absent, rate_limit: {unit: minute, requests_per_unit: 5}}]
)");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read.value().rules.rules[0].per, std::vector<std::string>{"a\\|b"});
  const Set set(read.value().rules);
  EXPECT_EQ(set.match({{"domain", "edge"}, {"a|b", "x"}, {"absent", "absent"}}).size(), 1u);
  EXPECT_THAT(set.match({{"domain", "edge"}, {"a|b", "x"}}), IsEmpty());
}

}  // namespace
}  // namespace weir::rules
