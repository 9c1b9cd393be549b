#include "rules/read/region_fields.h"

#include <gtest/gtest.h>

#include "rules/read/rules_file.h"
#include "rules/read/rules_text.h"

namespace weir::rules {
namespace {

std::string region_fault(const std::string& fields) {
  const auto read =
      parse_rules("version: 1\nrules: [{id: a, per: [k], limit: 100, window: 10s, " + fields + "}]\n", "f.yaml");
  return read.ok() ? "" : read.failure().message;
}

TEST(RegionFields, AreReadWhereTheyMakeSense) {
  EXPECT_EQ(region_fault("region: slices"), "");
  EXPECT_EQ(region_fault("region: slices, algorithm: gcra"), "");
  EXPECT_EQ(region_fault("region: slices, algorithm: fixed-window"), "");
  EXPECT_EQ(region_fault("region: reconcile, algorithm: fixed-window, on_partition: continue"), "");
  EXPECT_EQ(region_fault("region: central, home: eu, algorithm: sliding-log"), "");
}

TEST(RegionFields, AreRefusedWithTheReasonWhereTheyDoNot) {
  const std::string slices = "f.yaml:2:60: rules[0].region: is slices, expected none: ";
  EXPECT_EQ(region_fault("region: slices, algorithm: sliding-log"),
            slices +
                "a share must be a smaller limit of the same kind, expected algorithm token-bucket, gcra or "
                "fixed-window; central shares all");
  EXPECT_EQ(region_fault("region: slices, consistency: leased"),
            slices + "consistency: leased keeps units on a node, which the other regions cannot see");
  EXPECT_EQ(region_fault("region: slices, penalty: {after: 3, within: 1h, block: 30s, decay: 24h}"),
            slices + "a penalty counts every denial in one place; use central");
  EXPECT_EQ(region_fault("region: reconcile"),
            "f.yaml:2:60: rules[0].region: is reconcile, expected none: regions report to each other what they have "
            "admitted in a window, expected algorithm fixed-window; slices shares a token-bucket");
  EXPECT_EQ(region_fault("region: central"),
            "f.yaml:2:60: rules[0].region: is central, which needs home: the name of the region that counts");
  EXPECT_EQ(region_fault("home: eu"),
            "f.yaml:2:58: rules[0].home: is 'eu', which only a rule with region: central can have");
  const std::string longest(64, 'r');
  EXPECT_EQ(region_fault("region: central, home: " + longest), "");
  EXPECT_EQ(region_fault("region: central, home: r" + longest),
            "f.yaml:2:75: rules[0].home: is 'r" + longest + "', expected at most 64 letters, digits, '.', '_' and '-'");
  EXPECT_EQ(region_fault("on_partition: continue"),
            "f.yaml:2:66: rules[0].on_partition: is continue, which only a rule with region: reconcile can have");
}

TEST(RegionFields, AreWrittenAsTheyAreRead) {
  const std::string text =
      "version: 1\nrules:\n  - {id: a, per: [k], algorithm: fixed-window, limit: 100, window: 10s, region: reconcile, "
      "on_partition: continue}\n  - {id: b, limit: 5, window: 1s, region: central, home: eu}\n";
  const auto read = parse_rules(text, "f.yaml");
  ASSERT_TRUE(read.ok());
  const auto again = parse_rules(write_rules(read.value()), "g.yaml");
  ASSERT_TRUE(again.ok()) << again.failure().message;
  EXPECT_EQ(again.value(), read.value());
}

}  // namespace
}  // namespace weir::rules
