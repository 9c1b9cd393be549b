#include "rules/compile/per_entry.h"

#include <gtest/gtest.h>

namespace weir::rules {
namespace {

using Names = std::vector<std::string>;

TEST(PerEntry, IsOneNameOrSeveralSeparatedByBars) {
  EXPECT_EQ(alternatives_of("ip"), Names{"ip"});
  EXPECT_EQ(alternatives_of("api_key|session|ip"), (Names{"api_key", "session", "ip"}));
  EXPECT_EQ(alternatives_of("api_key | ip"), (Names{"api_key", "ip"}));
  EXPECT_EQ(alternatives_of(" a b "), Names{" a b "}) << "without a bar a name is what is written";
  EXPECT_EQ(alternatives_of("a||b"), (Names{"a", "", "b"}));
  EXPECT_EQ(alternatives_of("|"), (Names{"", ""}));
  EXPECT_EQ(alternatives_of("a| "), (Names{"a", ""}));
}

TEST(PerEntry, ABackslashMakesABarPartOfTheName) {
  EXPECT_EQ(alternatives_of(R"(a\|b|c)"), (Names{"a|b", "c"}));
  EXPECT_EQ(alternatives_of(R"(a\b)"), Names{R"(a\b)"}) << "elsewhere it is itself";
  for (const char* name : {"ip", "a|b", "|", R"(a\|b)", R"(\)", R"(\\|)", "a | b"}) {
    EXPECT_EQ(alternatives_of(entry_for(name)), Names{name});
    EXPECT_TRUE(is_only(entry_for(name), name));
  }
  EXPECT_FALSE(is_only("a|b", "a"));
  EXPECT_FALSE(is_only("a|b", "a|b"));
}

}  // namespace
}  // namespace weir::rules
