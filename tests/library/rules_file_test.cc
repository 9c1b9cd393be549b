// Rules files as data.
#include "weir/rules_file.h"

#include <gtest/gtest.h>

#include "weir/limiter.h"

namespace weir {
namespace {

constexpr const char* kRules = R"(version: 1
rules:
  - {id: search, per: [tenant], algorithm: fixed-window, limit: 1, window: 1h, on_store_failure: allow}
)";

TEST(RulesFile, IsReadChangedAndLoaded) {
  auto file = parse_rules(kRules, "text");
  ASSERT_TRUE(file.ok()) << file.failure().message;
  EXPECT_TRUE(file.value().warnings.empty());
  file.value().rules.rules.front().allowance.limit = 2;
  const auto limiter = std::move(Limiter::create(file.value().rules)).value();
  EXPECT_EQ(limiter->check({{"tenant", "acme"}}).decisive()->remaining, 1);
}

TEST(RulesFile, ErrorsSayWhereTheyAre) {
  const auto file = parse_rules("version: 1\nrules:\n  - {id: search, limmit: 1}\n", "my.yaml");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.failure().code, Code::invalid_argument);
  EXPECT_NE(file.failure().message.find("my.yaml:3:"), std::string::npos) << file.failure().message;
}

TEST(RulesFile, WarningsSayWhereTheyAre) {
  const auto file = parse_rules(
      "version: 1\nrules:\n  - {id: search, per: [tenant], algorithm: fixed-window, limit: 1, window: 1h}\n",
      "my.yaml");
  ASSERT_TRUE(file.ok()) << file.failure().message;
  ASSERT_FALSE(file.value().warnings.empty()) << "a rule without on_store_failure";
  EXPECT_EQ(file.value().warnings.front().find("my.yaml:3:"), 0U) << file.value().warnings.front();
}

TEST(RulesFile, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(read_rules("/no/such/rules.yaml").failure().code, Code::not_found);
}

}  // namespace
}  // namespace weir
