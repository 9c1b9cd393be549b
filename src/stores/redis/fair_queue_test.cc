#include "stores/redis/fair_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <vector>

namespace weir::redis {
namespace {

using std::chrono::milliseconds;

constexpr SteadyTime at(int ms) { return SteadyTime(milliseconds(ms)); }

class FairQueueTest : public ::testing::Test {
 protected:
  class Call final : public QueuedCall {
   public:
    Call(FairQueueTest& test, Origin whose, int number, int ms) : number_(number), test_(test) {
      origin = whose;
      since = at(ms);
    }
    void proceed(SteadyTime) override {}
    void give_up(SteadyTime) override {
      test_.given_up_.push_back(number_);
      if (test_.on_give_up_) test_.on_give_up_();
    }
    const int number_;

   private:
    FairQueueTest& test_;
  };

  void push(Origin whose, int number, int ms = 0) { queue_.push(calls_.emplace_back(*this, whose, number, ms)); }
  std::vector<int> pop_all() {
    std::vector<int> numbers;
    while (!queue_.empty()) numbers.push_back(static_cast<Call&>(queue_.pop()).number_);
    return numbers;
  }

  QueuedCount counts_;
  FairQueue queue_{counts_};
  std::deque<Call> calls_;
  std::vector<int> given_up_;
  std::function<void()> on_give_up_;
};

TEST_F(FairQueueTest, EachOriginHasItsTurnAndKeepsItsOrder) {
  for (int i = 0; i < 4; ++i) push(1, 10 + i);
  push(2, 20);
  for (int i = 0; i < 2; ++i) push(3, 30 + i);
  EXPECT_EQ(queue_.size(), 7U);
  EXPECT_EQ(pop_all(), (std::vector{10, 20, 30, 11, 31, 12, 13}));
}

TEST_F(FairQueueTest, ANewcomerWaitsForOneRoundAtTheMost) {
  for (int i = 0; i < 100; ++i) {
    push(1, 100 + i);
    push(2, 200 + i);
  }
  for (int i = 0; i < 5; ++i) queue_.pop();
  push(3, 300);
  std::vector<int> next;
  for (int i = 0; i < 3; ++i) next.push_back(static_cast<Call&>(queue_.pop()).number_);
  EXPECT_EQ(next, (std::vector{202, 103, 300}));
}

TEST_F(FairQueueTest, CountsAreThoseOfAllQueuesTogether) {
  FairQueue other(counts_);
  push(1, 10);
  push(1, 11);
  other.push(calls_.emplace_back(*this, 1, 12, 0));
  EXPECT_EQ(counts_.of(1), 3U);
  EXPECT_EQ(counts_.of(2), 0U);
  pop_all();
  EXPECT_EQ(counts_.of(1), 1U);
  other.pop();
  EXPECT_EQ(counts_.of(1), 0U);
}

TEST_F(FairQueueTest, GivesUpThoseThatHaveWaitedTooLong) {
  push(1, 10, 0);
  push(1, 11, 5);
  push(1, 12, 6);
  push(2, 20, 1);
  push(3, 30, 9);
  EXPECT_EQ(queue_.oldest(), at(0));
  queue_.give_up_since(at(5), at(20));
  EXPECT_EQ(given_up_, (std::vector{10, 11, 20}));
  EXPECT_EQ(queue_.oldest(), at(6));
  EXPECT_EQ(counts_.of(2), 0U);
  EXPECT_EQ(pop_all(), (std::vector{12, 30}));
}

TEST_F(FairQueueTest, GivesUpAllWhenAllHaveWaitedTooLong) {
  for (int i = 0; i < 3; ++i) push(static_cast<Origin>(i), i);
  queue_.give_up_since(at(0), at(1));
  EXPECT_EQ(given_up_, (std::vector{0, 1, 2}));
  EXPECT_TRUE(queue_.empty());
  queue_.give_up_since(at(0), at(1));
  push(7, 70);
  EXPECT_EQ(pop_all(), std::vector{70});
}

TEST_F(FairQueueTest, WhatIsGivenUpMayPushOthers) {
  for (int i = 0; i < 3; ++i) push(1, i, 0);
  int more = 100;
  on_give_up_ = [&] { push(1, more++, 50); };
  queue_.give_up_since(at(10), at(50));
  EXPECT_EQ(given_up_, (std::vector{0, 1, 2}));
  EXPECT_EQ(pop_all(), (std::vector{100, 101, 102}));
}

// Against a plain model, with many origins that come and go.
TEST_F(FairQueueTest, BehavesAsTheModel) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::map<Origin, std::deque<int>> lines;
  std::deque<Origin> turns;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 100 < 52) {
      const Origin whose = random() % 12;
      if (lines[whose].empty()) turns.push_back(whose);
      lines[whose].push_back(step);
      push(whose, step, step);
    } else if (random() % 10 == 0) {
      const int limit = step - 40;
      for (auto turn = turns.begin(); turn != turns.end();) {
        std::deque<int>& line = lines[*turn];
        while (!line.empty() && line.front() <= limit) line.pop_front();
        turn = line.empty() ? turns.erase(turn) : turn + 1;
      }
      queue_.give_up_since(at(limit), at(step));
    } else if (!turns.empty()) {
      const Origin whose = turns.front();
      turns.pop_front();
      const int expected = lines[whose].front();
      lines[whose].pop_front();
      if (!lines[whose].empty()) turns.push_back(whose);
      ASSERT_EQ(static_cast<Call&>(queue_.pop()).number_, expected);
    }
    std::size_t size = 0;
    for (const auto& [whose, line] : lines) {
      size += line.size();
      ASSERT_EQ(counts_.of(whose), line.size());
    }
    ASSERT_EQ(queue_.size(), size);
  }
}

}  // namespace
}  // namespace weir::redis
