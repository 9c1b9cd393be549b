#include "rules/read/shedding_fields.h"

#include <gtest/gtest.h>

#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

using namespace std::chrono_literals;

std::string fault_of(const std::string& shedding) {
  const Result<Rules> rules = parse_rules("version: 1\nrules: []\n" + shedding, "f.yaml");
  return rules.ok() ? "ok" : rules.failure().message;
}

constexpr const char* kShedding = R"(version: 1
shedding:
  capacity: {rate: 5000/s, in_flight: 400}
  classes:
    - {name: critical, match: {action: [pay, refund]}, shed_at: never}
    - {name: write, match: {method: [POST, PUT]}, shed_at: 90%}
    - {name: read, shed_at: 80%}
  fair_by: team
  trust_priority: {service: billing}
rules: []
)";

TEST(SheddingFields, AreReadAndWrittenBack) {
  const Result<Rules> rules = parse_rules(kShedding, "f.yaml");
  ASSERT_TRUE(rules.ok()) << rules.failure().message;
  const Shedding& shedding = rules.value().shedding.value();
  EXPECT_EQ(shedding.rate, 5'000);
  EXPECT_EQ(shedding.in_flight, 400);
  ASSERT_EQ(shedding.classes.size(), 3u);
  EXPECT_FALSE(shedding.classes[0].shed_at);
  EXPECT_EQ(shedding.classes[1].shed_at, 90);
  EXPECT_EQ(shedding.fair_by, "team");
  const std::string text = write_rules(rules.value());
  const Result<Rules> again = parse_rules(text, "again.yaml");
  ASSERT_TRUE(again.ok()) << again.failure().message << text;
  EXPECT_EQ(again.value(), rules.value()) << text;
}

TEST(SheddingFields, ARateMayBeForAnyTime) {
  for (const auto& [text, window] :
       {std::pair("300/m", Duration(1min)), std::pair("20/100ms", Duration(100ms)), std::pair("7/s", Duration(1s))}) {
    const Result<Rules> rules = parse_rules("version: 1\nrules: []\nshedding: {capacity: {rate: " + std::string(text) +
                                                "}, classes: [{name: a, shed_at: 50%}]}",
                                            "f.yaml");
    ASSERT_TRUE(rules.ok()) << rules.failure().message;
    EXPECT_EQ(rules.value().shedding->rate_window, window);
    EXPECT_EQ(parse_rules(write_rules(rules.value()), "again").value(), rules.value());
  }
}

TEST(SheddingFields, MistakesSayWhereAndWhatIsExpected) {
  EXPECT_EQ(fault_of("shedding: {capacity: {rate: fast}, classes: [{name: a, shed_at: 50%}]}"),
            "f.yaml:3:29: shedding.capacity.rate: is \"fast\", expected requests and a time, as in 5000/s");
  EXPECT_EQ(fault_of("shedding: {capacity: {}, classes: [{name: a, shed_at: 50%}]}"),
            "f.yaml:3:22: shedding.capacity: has neither rate nor in_flight, expected the capacity of this node, as in "
            "{rate: 5000/s}");
  EXPECT_EQ(fault_of("shedding: {capacity: {rate: 1/s}, classes: [{name: a, shed_at: 101%}]}"),
            "f.yaml:3:64: shedding.classes[0].shed_at: is \"101%\", expected never, or a load from 1% to 100%");
  EXPECT_EQ(fault_of("shedding: {capacity: {rate: 1/s}, classes: [{name: a}]}"),
            "f.yaml:3:45: shedding.classes[0].shed_at: is missing");
  EXPECT_EQ(fault_of("shedding: {capacity: {rate: 1/s}, classes: [{name: a, shed_at: 5%}, {name: b, shed_at: 6%}]}"),
            "f.yaml:3:69: shedding.classes[1]: is after a class without match, which has every request");
  EXPECT_EQ(fault_of("shedding: {capacity: {rate: 1/s}, classes: []}"),
            "f.yaml:3:44: shedding.classes: has no class, expected at least one, as in {name: read, shed_at: 80%}");
}

TEST(PenaltyFields, AreReadAndWrittenBack) {
  constexpr const char* kText = R"(version: 1
rules:
  - id: login-account
    match: {action: login}
    per: [account]
    algorithm: sliding-log
    limit: 5
    window: 15m
    on_exceed: challenge
    penalty: {after: 3, within: 1h, block: 30s, factor: 3, max: 2h, on: [reported], decay: 48h, challenge: 2}
  - id: accounts-per-device
    per: [device]
    algorithm: fixed-window
    limit: 5
    window: 1h
  - id: search
    per: [tenant]
    limit: 120
    window: 60s
)";
  const Result<Rules> rules = parse_rules(kText, "f.yaml");
  ASSERT_TRUE(rules.ok()) << rules.failure().message;
  const Rule& login = rules.value().rules[0];
  EXPECT_EQ(login.on_exceed, OnExceed::challenge);
  EXPECT_EQ(login.penalty, (Penalty{.after = 3,
                                    .within = 1h,
                                    .block = 30s,
                                    .factor = 3,
                                    .max = 2h,
                                    .on_denied = false,
                                    .on_reported = true,
                                    .decay = 48h,
                                    .challenges = 2}));
  EXPECT_EQ(parse_rules(write_rules(rules.value()), "again").value(), rules.value());
}

std::string fault_in_rule(const std::string& fields) {
  const Result<Rules> rules =
      parse_rules("version: 1\nrules:\n  - {id: a, per: [account], limit: 5, window: 60s, " + fields + "}\n", "f.yaml");
  return rules.ok() ? "ok" : rules.failure().message.substr(rules.failure().message.find("rules[0]"));
}

TEST(PenaltyFields, MistakesSayWhereAndWhatIsExpected) {
  EXPECT_EQ(fault_in_rule("penalty: {after: 3, within: 1h}"), "rules[0].penalty.block: is missing");
  EXPECT_EQ(fault_in_rule("penalty: {after: 0, within: 1h, block: 1s}"),
            "rules[0].penalty.after: is 0, expected 1 to 1000");
  EXPECT_EQ(fault_in_rule("penalty: {after: 1, within: 1h, block: 1500ms}"),
            "rules[0].penalty.block: is 1500 ms, expected whole seconds, 1s to 2592000s");
  EXPECT_EQ(fault_in_rule("penalty: {after: 1, within: 2h, block: 1s, decay: 1h}"),
            "rules[0].penalty.decay: is shorter than within, expected at least 7200s");
  EXPECT_EQ(fault_in_rule("penalty: {after: 1, within: 1h, block: 1s, on: [seen]}"),
            "rules[0].penalty.on: names \"seen\", expected denied or reported");
}

}  // namespace
}  // namespace weir::rules
