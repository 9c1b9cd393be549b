// The window against simulated servers: time is counted, not waited for.
#include "stores/redis/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

namespace weir::redis {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr microseconds kDeadline = milliseconds(20);

// Greedy clients of one server: each sends as much as its window allows whenever it gets answers. The server takes what
// has arrived from one client, works on all of it, answers all of it, and turns to the next, as Redis does.
class Simulation {
 public:
  Simulation(std::size_t clients, double service_us, double way_us) : service_us_(service_us), way_us_(way_us) {
    for (std::size_t i = 0; i < clients; ++i) windows_.emplace_back(kDeadline, 2048);
    waiting_.resize(clients);
  }

  Window& window(std::size_t client) { return windows_[client]; }
  void set_service(double service_us) { service_us_ = service_us; }

  // Lets each client have `rounds` windows answered.
  void run(int rounds) {
    longest_us_ = 0;
    for (int round = 0; round < rounds; ++round) {
      for (std::size_t client = 0; client < windows_.size(); ++client) {
        serve(client);
        fill(client);
      }
    }
  }
  double longest_us() const { return longest_us_; }
  double now_us() const { return now_us_; }
  std::size_t answered() const { return answered_; }

 private:
  struct Sent {
    double at_us;
    std::size_t place;
  };
  void fill(std::size_t client) {
    std::deque<Sent>& waiting = waiting_[client];
    while (waiting.size() < windows_[client].size()) waiting.push_back({now_us_, waiting.size() + 1});
  }
  void serve(std::size_t client) {
    if (waiting_[client].empty()) return;
    const double arrived_us = waiting_[client].front().at_us + way_us_ / 2;
    now_us_ = std::max(now_us_, arrived_us) + service_us_ * static_cast<double>(waiting_[client].size());
    std::deque<Sent> answers;
    answers.swap(waiting_[client]);
    while (!answers.empty()) {
      const Sent sent = answers.front();
      answers.pop_front();
      const double latency_us = now_us_ + way_us_ / 2 - sent.at_us;
      longest_us_ = std::max(longest_us_, latency_us);
      ++answered_;
      windows_[client].answered(sent.place, answers.size(), microseconds(static_cast<std::int64_t>(latency_us)));
    }
  }

  double service_us_;
  const double way_us_;
  double now_us_ = 0;
  double longest_us_ = 0;
  std::size_t answered_ = 0;
  std::vector<Window> windows_;
  std::vector<std::deque<Sent>> waiting_;
};

TEST(Window, BeginsWithASafeBound) {
  EXPECT_EQ(Window(kDeadline, 2048).size(), 50U) << "an eighth of the deadline at 50 us each";
  EXPECT_EQ(Window(std::chrono::seconds(2), 2048).size(), 128U);
  EXPECT_EQ(Window(kDeadline, 4).size(), 4U);
  EXPECT_EQ(Window(microseconds(1), 2048).size(), 1U);
}

TEST(Window, BoundsWhatIsUnderWayByTheDeadlineAndTheServiceTime) {
  for (const double service_us : {2.0, 10.0, 50.0, 200.0, 1'000.0, 4'000.0}) {
    Simulation simulation(1, service_us, 60);
    simulation.run(200);
    simulation.run(50);
    EXPECT_LT(simulation.longest_us(), 10'000 + service_us) << service_us << ": half of the deadline and one call";
    const double enough = std::min(2'048.0, 2'000 / service_us);
    EXPECT_GE(simulation.window(0).size(), static_cast<std::size_t>(enough)) << service_us;
  }
}

TEST(Window, FollowsAServerThatBecomesSlowerAndFasterAgain) {
  Simulation simulation(1, 5, 60);
  simulation.run(100);
  const std::size_t fast = simulation.window(0).size();
  simulation.set_service(500);
  simulation.run(100);
  EXPECT_LE(simulation.window(0).size(), 22U);
  simulation.set_service(5);
  simulation.run(100);
  EXPECT_GE(simulation.window(0).size(), fast * 9 / 10);
}

TEST(Window, SharesAServerWithOthersEvenly) {
  Simulation simulation(4, 10, 60);
  // The first has had the server for itself.
  for (int i = 0; i < 500; ++i) simulation.window(0).answered(250, 0, milliseconds(2));
  simulation.run(2'000);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < 4; ++i) sizes.push_back(simulation.window(i).size());
  const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
  EXPECT_LE(*most, *least * 2) << sizes[0] << ' ' << sizes[1] << ' ' << sizes[2] << ' ' << sizes[3];
  EXPECT_LT(simulation.longest_us(), 10'000);
}

// Work for 12 ms fits between a far server and the deadline, whatever the way takes of it.
TEST(Window, KeepsAFarServerBusy) {
  for (const double way_us : {1'000.0, 5'000.0, 12'000.0}) {
    Window window(kDeadline, 2048);
    for (int i = 0; i < 20; ++i) window.answered(1, 0, microseconds(static_cast<std::int64_t>(way_us)));
    // Answers come one by one while others are sent: each has as many before it as the window allows.
    for (int i = 0; i < 5'000; ++i) {
      const double in_flight = static_cast<double>(window.size());
      const double latency_us = std::max(way_us, in_flight * 20);
      window.answered(window.size(), window.size() - 1, microseconds(static_cast<std::int64_t>(latency_us)));
    }
    EXPECT_GE(static_cast<double>(window.size()), way_us / 20) << way_us;
    EXPECT_LT(static_cast<double>(window.size()) * 20, 16'000) << way_us;
    EXPECT_GT(window.patience(), microseconds(2'000)) << way_us;
    EXPECT_LT(window.patience().count() + static_cast<std::int64_t>(way_us), kDeadline.count()) << way_us;
  }
}

TEST(Window, ALoneCallDoesNotShrinkItAndOneHiccupDoesLittle) {
  Simulation simulation(1, 10, 60);
  simulation.run(100);
  const std::size_t before = simulation.window(0).size();
  for (int i = 0; i < 1'000; ++i) simulation.window(0).answered(1, 0, milliseconds(1));
  EXPECT_GE(simulation.window(0).size(), before);
  simulation.window(0).answered(1, 0, milliseconds(300));
  EXPECT_GE(simulation.window(0).size(), before * 8 / 10);
}

TEST(Window, NeverGrowsFarBeyondWhatWasUnderWay) {
  Window window(kDeadline, 2048);
  for (int i = 0; i < 10'000; ++i) window.answered(40, 0, microseconds(1));
  EXPECT_LE(window.size(), 80U);
}

TEST(Window, StaysWithinItsBounds) {
  Window window(kDeadline, 100);
  for (int i = 0; i < 1'000; ++i) window.answered(1'000, 999, microseconds(0));
  EXPECT_EQ(window.size(), 100U);
  for (int i = 0; i < 1'000; ++i) window.answered(1, 50, std::chrono::hours(1));
  EXPECT_EQ(window.size(), 1U);
  EXPECT_GT(window.patience(), microseconds(0));
}

// The first of many that are answered together has the latency of all of them; the way is not that long.
TEST(Window, TheFirstOfManyIsNotALoneCall) {
  Window window(kDeadline, 2048);
  for (int i = 0; i < 1'000; ++i) window.answered(1, 20, milliseconds(10));
  EXPECT_EQ(window.patience(), milliseconds(10));
  for (int i = 0; i < 1'000; ++i) window.answered(1, 0, milliseconds(10));
  EXPECT_EQ(window.patience(), milliseconds(5));
}

}  // namespace
}  // namespace weir::redis
