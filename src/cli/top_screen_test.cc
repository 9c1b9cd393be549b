#include "cli/top_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "cli/moment.h"

namespace weir::cli {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

class TopScreenTest : public testing::Test {
 protected:
  TopScreenTest() {
    now_.node = "node-1";
    now_.at = "2026-11-18T04:31:12.345Z";
    now_.allowed = 12'345;
    now_.denied = 3.2;
    now_.store = "redis";
    now_.breaker = "closed";
    now_.database = "sqlite";
    for (int i = 0; i < 20; ++i) {
      now_.rules.push_back({"rule-" + std::to_string(i), "enforce", 100.0 - i, i == 7 ? 5.0 : 0.0, 0, false});
      now_.denied_subjects.push_back({"9c41d2e07b5a", "rule-" + std::to_string(i), 3.0, 0, 0});
      now_.near_limit.push_back({"tenant=a-very-long-tenant-name-that-does-not-fit", "rule-1", 0.94, 94, 100});
      now_.series.push_back(i == 3 ? -1 : i);
    }
  }
  std::vector<std::string> lines(int columns, int rows) const {
    return top_screen(now_, state_, columns, rows, terminal_);
  }
  std::string text(int columns, int rows) const {
    std::string all;
    for (const std::string& each : lines(columns, rows)) all += each + "\n";
    return all;
  }

  Overview now_;
  TopState state_;
  std::ostringstream out_;
  const Terminal terminal_{out_, out_};
};

TEST_F(TopScreenTest, FitsIntoEverySize) {
  for (const int columns : {40, 80, 81, 200}) {
    for (const int rows : {10, 24, 60}) {
      const std::vector<std::string> shown = lines(columns, rows);
      EXPECT_EQ(shown.size(), static_cast<std::size_t>(rows));
      for (const std::string& line : shown) {
        EXPECT_LE(columns_of(line), static_cast<std::size_t>(columns)) << line;
      }
    }
  }
}

TEST_F(TopScreenTest, ShowsRatesStateRulesAndSubjects) {
  EXPECT_THAT(text(80, 24), HasSubstr("12.3k/s allowed  3.2/s denied"));
  EXPECT_THAT(text(80, 24), HasSubstr("store redis (closed)  database sqlite"));
  EXPECT_THAT(text(80, 24), HasSubstr("rule-7"));
  EXPECT_THAT(text(80, 24), HasSubstr("94.0 %"));
}

TEST_F(TopScreenTest, SaysThatTheFilterHidesAllRules) {
  state_.filter = "zzz";
  EXPECT_THAT(text(80, 24), HasSubstr("no rule with recent requests contains \"zzz\""));
  now_.rules.clear();
  EXPECT_THAT(text(80, 24), HasSubstr("no rule has counted a request recently\n"));
}

TEST_F(TopScreenTest, ShowsWhatIsShedAndDecidedWithoutTheStoreIn80Columns) {
  now_.allowed = 99'900;
  now_.denied = 12'300;
  now_.denied_share = now_.usual_denied_share = 1;
  now_.shed = 45'600;
  now_.degraded = 78.0;
  now_.shadow_denied = 11'000;
  EXPECT_THAT(text(80, 24), HasSubstr("45.6k/s shed  78/s without the store"));
}

TEST(DecisionsText, HasEveryRateThatIsNotZero) {
  Overview now;
  now.allowed = 10;
  EXPECT_EQ(decisions_text(now, ", "), "10/s allowed, 0/s denied (0.0 %, usually 0.0 %)");
  EXPECT_FALSE(now.is_shedding());
  now.shed = 330;
  now.degraded = 2;
  now.blocked = 0.5;
  now.shadow_denied = 0.01;
  EXPECT_EQ(decisions_text(now, ", "),
            "10/s allowed, 0/s denied (0.0 %, usually 0.0 %), 330/s shed, 2.0/s without the store, 0.5/s blocked");
  EXPECT_TRUE(now.is_shedding());
}

TEST_F(TopScreenTest, SortsByWhatIsDeniedOrPassedOrByName) {
  const auto first_rule = [&] { return lines(80, 24)[5]; };
  EXPECT_THAT(first_rule(), HasSubstr("rule-7"));
  state_.sort = TopSort::passed;
  EXPECT_THAT(first_rule(), HasSubstr("rule-0"));
  state_.sort = TopSort::name;
  now_.rules.push_back({"a-rule", "enforce", 0, 0, 0, false});
  EXPECT_THAT(first_rule(), HasSubstr("a-rule"));
}

TEST_F(TopScreenTest, AFilterLeavesOutWhatDoesNotContainIt) {
  state_.filter = "rule-1";
  EXPECT_THAT(text(80, 60), HasSubstr("rule-12"));
  EXPECT_THAT(text(80, 60), Not(HasSubstr("rule-7")));
}

TEST_F(TopScreenTest, TroubleIsShown) {
  now_.store_ok = false;
  now_.breaker = "open";
  EXPECT_THAT(text(80, 24), HasSubstr("the store (redis) does not answer: breaker open"));
  state_.trouble = "cannot reach the server";
  EXPECT_THAT(text(80, 24), HasSubstr("cannot reach the server"));
}

TEST(OverviewView, RatesAreShort) {
  EXPECT_EQ(rate_text(0), "0");
  EXPECT_EQ(rate_text(0.04), "0");
  EXPECT_EQ(rate_text(3.14), "3.1");
  EXPECT_EQ(rate_text(1234), "1234");
  EXPECT_EQ(rate_text(123'456), "123k");
  EXPECT_EQ(rate_text(12'345'678), "12.3M");
  EXPECT_EQ(percent_text(0.0374), "3.7 %");
}

TEST(OverviewView, AMomentIsATimeOfTodayOrAnAge) {
  const std::int64_t now = 1'800'000'000;
  EXPECT_EQ(parse_moment("10m", now).value(), now - 600);
  EXPECT_EQ(parse_moment("2027-01-15T07:00:00Z", now).value(), 1'799'996'400);
  EXPECT_EQ(parse_moment("2027-01-15T07:00:00.250Z", now).value(), 1'799'996'400);
  const Result<std::int64_t> today = parse_moment("14:03", now);
  ASSERT_TRUE(today.ok());
  EXPECT_LE(today.value(), now);
  EXPECT_GT(today.value(), now - 86'400);
  EXPECT_EQ(parse_moment("14:03:20", now).value(), today.value() + 20);
  for (const char* wrong : {"", "noon", "25:00", "14:61", "14", "2027-13-45"}) {
    EXPECT_FALSE(parse_moment(wrong, now).ok()) << wrong;
  }
}

}  // namespace
}  // namespace weir::cli
