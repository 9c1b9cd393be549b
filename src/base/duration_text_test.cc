#include "base/duration_text.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(DurationText, IsRoundedUpAndShownForPeople) {
  EXPECT_EQ(duration_for_people(0), "0 ms");
  EXPECT_EQ(duration_for_people(250), "250 ms");
  EXPECT_EQ(duration_for_people(1500), "1.5 s");
  EXPECT_EQ(duration_for_people(1501), "1.6 s");
  EXPECT_EQ(duration_for_people(2000), "2 s");
  EXPECT_EQ(duration_for_people(59'001), "60 s");
  EXPECT_EQ(duration_for_people(125'000), "2 min 5 s");
  EXPECT_EQ(duration_for_people(3'600'000), "1 h");
  EXPECT_EQ(duration_for_people(7'260'000), "2 h 1 min");
  EXPECT_EQ(duration_for_people(86'400'000), "1 day");
  EXPECT_EQ(duration_for_people((402LL * 60 + 19) * 60'000), "16 days 19 h");
  EXPECT_EQ(duration_for_people(3650LL * 86'400'000), "3650 days");
}

}  // namespace
}  // namespace weir::base
