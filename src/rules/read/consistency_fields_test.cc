#include "rules/read/consistency_fields.h"

#include <gtest/gtest.h>

#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

std::string fault_of(const std::string& fields) {
  const auto read = parse_rules("version: 1\nrules: [{id: a, per: [k], limit: 100, " + fields + "}]\n", "f.yaml");
  return read.ok() ? "" : read.failure().message;
}

TEST(ConsistencyFields, LeasedIsAcceptedWhereUnitsCanBeDrawnInAdvance) {
  for (const char* algorithm : {"token-bucket", "gcra", "fixed-window", "bucketed-window", "sliding-counter"}) {
    EXPECT_EQ(fault_of("window: 1s, consistency: leased, algorithm: " + std::string(algorithm)), "") << algorithm;
  }
}

TEST(ConsistencyFields, LeasedIsRefusedWithTheReasonWhereTheyCannot) {
  EXPECT_EQ(
      fault_of("window: 1s, consistency: leased, algorithm: sliding-log"),
      "f.yaml:2:64: rules[0].consistency: is leased, expected exact: a sliding-log keeps the time of each request, "
      "which units drawn in advance do not have");
  EXPECT_EQ(
      fault_of("window: 1s, consistency: leased, algorithm: leaky-bucket"),
      "f.yaml:2:64: rules[0].consistency: is leased, expected exact: a leaky-bucket tells each request how long to "
      "wait, which only the store knows");
  EXPECT_EQ(fault_of("lease: 30s, consistency: leased, algorithm: concurrency"),
            "f.yaml:2:64: rules[0].consistency: is leased, expected exact: a concurrency rule counts leases that every "
            "node must see");
  EXPECT_EQ(fault_of("period: day, consistency: leased, algorithm: quota"),
            "f.yaml:2:65: rules[0].consistency: is leased, expected exact: a quota is kept in the ledger; use "
            "enforcement: leased");
}

TEST(ConsistencyFields, LeasedIsRefusedBesideWhatNeedsEveryRequestInTheStore) {
  const std::string begins = "f.yaml:2:64: rules[0].consistency: is leased, expected exact: ";
  EXPECT_EQ(fault_of("window: 1s, consistency: leased, count_denied: true"),
            begins + "count_denied counts every denied request in the store");
  EXPECT_EQ(fault_of("window: 1s, consistency: leased, penalty: {after: 3, within: 1h, block: 30s, decay: 24h}"),
            begins + "a penalty counts every denial in the store");
  EXPECT_EQ(fault_of("window: 1s, consistency: leased, algorithm: fixed-window, plans: {pro: {window: 5s}}"),
            begins + "a plan or override has another window, and every request counts in both");
  EXPECT_EQ(fault_of("window: 1s, consistency: leased, plans: {pro: {window: 5s}}"), "")
      << "a bucket that refills has one state for all windows";
}

TEST(ConsistencyFields, SyncedIsAcceptedWhereUnitsCanBeChargedAfterwards) {
  for (const char* algorithm : {"token-bucket", "gcra", "fixed-window"}) {
    EXPECT_EQ(fault_of("window: 1s, consistency: synced, algorithm: " + std::string(algorithm)), "") << algorithm;
  }
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, tolerance: 10%, sync_interval: 50ms"), "");
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, tolerance: 7"), "");
}

TEST(ConsistencyFields, SyncedIsRefusedWithTheReasonWhereTheyCannot) {
  const std::string begins = "f.yaml:2:64: rules[0].consistency: is synced, expected exact: ";
  for (const char* algorithm : {"bucketed-window", "sliding-counter"}) {
    EXPECT_EQ(fault_of("window: 1s, consistency: synced, algorithm: " + std::string(algorithm)),
              begins +
                  "a report that comes late would be charged to the next window; use token-bucket, gcra, "
                  "fixed-window or consistency: leased");
  }
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, algorithm: sliding-log"),
            begins + "a sliding-log keeps the time of each request, which a report does not have");
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, algorithm: leaky-bucket"),
            begins + "a leaky-bucket tells each request how long to wait, which only the store knows");
  EXPECT_EQ(fault_of("lease: 30s, consistency: synced, algorithm: concurrency"),
            begins + "a concurrency rule counts leases that every node must see");
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, count_denied: true"),
            begins + "count_denied counts every denied request in the store");
}

TEST(ConsistencyFields, AToleranceIsForSyncedRulesAndInBounds) {
  EXPECT_EQ(
      fault_of("window: 1s, tolerance: 5%"),
      "f.yaml:2:62: rules[0].tolerance: is set, expected consistency: synced or region: reconcile: other rules admit "
      "nothing too much");
  EXPECT_EQ(fault_of("window: 1s, sync_interval: 50ms"),
            "f.yaml:2:66: rules[0].sync_interval: is set, expected consistency: synced: other rules report nothing");
  EXPECT_NE(fault_of("window: 1s, consistency: synced, tolerance: 0"), "");
  EXPECT_NE(fault_of("window: 1s, consistency: synced, tolerance: 101%"), "");
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, tolerance: 1000000"),
            "f.yaml:2:83: rules[0].tolerance: is 1000000, expected at most the capacity, 100: with more, the limit "
            "would mean nothing");
  EXPECT_EQ(fault_of("window: 1s, consistency: synced, sync_interval: 5ms"),
            "f.yaml:2:87: rules[0].sync_interval: is out of range, expected 10ms to 10s");
}

TEST(ConsistencyFields, DefaultsAreForTheRulesThatHaveThem) {
  const auto read = parse_rules(
      "version: 1\ndefaults: {tolerance: 10%, sync_interval: 50ms}\nrules:\n- {id: a, limit: 100, window: 1s}\n"
      "- {id: b, limit: 100, window: 1s, consistency: synced}\n",
      "f.yaml");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_FALSE(read.value().rules[0].tolerance);
  EXPECT_EQ(read.value().rules[1].tolerance, (Share{.amount = 10, .percent = true}));
  EXPECT_EQ(read.value().rules[1].sync_interval, std::chrono::milliseconds(50));
}

TEST(ConsistencyFields, HotKeysCanBeSwitchedOffForARule) {
  const auto read = parse_rules("version: 1\nrules: [{id: a, limit: 100, window: 1s, hot_keys: off}]\n", "f.yaml");
  ASSERT_TRUE(read.ok()) << read.failure().message;
  EXPECT_EQ(read.value().rules[0].hot_keys, HotKeys::off);
}

TEST(ConsistencyFields, HotKeysAreLeasedOnlyWhereTheRuleCouldBe) {
  EXPECT_EQ(fault_of("window: 1s, hot_keys: lease"), "");
  EXPECT_EQ(fault_of("window: 1s, hot_keys: show, algorithm: sliding-log"), "");
  EXPECT_EQ(fault_of("window: 1s, hot_keys: lease, count_denied: true"),
            "f.yaml:2:61: rules[0].hot_keys: is lease, expected show: count_denied counts every denied request in the "
            "store");
}

}  // namespace
}  // namespace weir::rules
