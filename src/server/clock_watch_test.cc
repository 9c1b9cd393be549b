#include "server/clock_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/support/log_file.h"

namespace weir::server {
namespace {

using namespace std::chrono_literals;

class ClockWatchTest : public testing::Test {
 protected:
  // The events logged since the last look, in order, with their numbers.
  std::vector<std::string> poll(Duration ahead, Duration followed = 0us, Duration later = 1s) {
    clock_.advance(later);
    watch_.poll({clock_.now(), ahead}, followed);
    std::istringstream lines(log_.text());
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t event = line.find("\"event\":\"") + 9;
      std::string text = line.substr(event, line.find('"', event) - event);
      for (const std::string field : {"ahead_ms", "by_ms"}) {
        const std::size_t at = line.find("\"" + field + "\":");
        if (at != std::string::npos)
          text += " " + line.substr(at + field.size() + 3, line.find('}') - at - field.size() - 3);
      }
      all.push_back(text);
    }
    const std::vector<std::string> news(all.begin() + static_cast<std::ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    return news;
  }

  using Lines = std::vector<std::string>;
  ManualClock clock_;
  LogFile log_{clock_};
  ClockWatch watch_{log_.log()};
  std::size_t seen_ = 0;
};

TEST_F(ClockWatchTest, SaysNothingAboutAClockThatKeepsTime) {
  for (int i = 0; i < 100; ++i) EXPECT_EQ(poll(i % 2 == 0 ? 0us : 999'999us), Lines{});
}

TEST_F(ClockWatchTest, WarnsOnceForEachChangeAndWhenItIsOver) {
  EXPECT_EQ(poll(7'200s), Lines{"clock_set_back 7200000"});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(poll(7'200s + i * 1ms), Lines{});
  EXPECT_EQ(poll(7'201s, 0us), Lines{"clock_set_back 7201000"});
  EXPECT_EQ(poll(100s, 0us, 20s), Lines{"clock_set_back 100000"});
  EXPECT_EQ(poll(0us, 0us, 20s), Lines{"clock_agrees"});
  EXPECT_EQ(poll(0us, 0us, 20s), Lines{});
  EXPECT_EQ(poll(1s, 0us, 20s), Lines{"clock_set_back 1000"}) << "the least that is worth a line";
  EXPECT_EQ(poll(999ms, 0us, 20s), Lines{"clock_agrees"});
}

TEST_F(ClockWatchTest, TellsHowFarBucketTimeHasJumped) {
  EXPECT_EQ(poll(0us, 999ms), Lines{});
  EXPECT_EQ(poll(0us, 1s), Lines{"clock_set_forward 1000"});
  EXPECT_EQ(poll(0us, 1s, 20s), Lines{});
  EXPECT_EQ(poll(0us, 61s, 20s), Lines{"clock_set_forward 60000"});
}

TEST_F(ClockWatchTest, DoesNotFloodTheLogForAClockThatIsSetAllTheTime) {
  std::size_t lines = 0;
  for (int i = 0; i < 100; ++i) lines += poll(i % 2 == 0 ? 100s : 0s, i * 1s).size();
  EXPECT_LE(lines, 20u);
  EXPECT_GE(lines, 10u);
  // What was held back is counted in the next line.
  EXPECT_EQ(poll(500s, 1'000s, 20s).size(), 2u);
}

}  // namespace
}  // namespace weir::server
