#include "frontends/transport/connection_memory.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

namespace weir::transport {
namespace {

using Use = ConnectionMemory::Use;

TEST(ConnectionMemory, LargeTakingsLeaveAQuarterForSmallOnes) {
  ConnectionMemory memory(1000);
  EXPECT_TRUE(memory.take(750, Use::large));
  EXPECT_FALSE(memory.take(1, Use::large));
  EXPECT_TRUE(memory.take(250, Use::small));
  EXPECT_FALSE(memory.take(1, Use::small));
  EXPECT_EQ(memory.used(), 1000U);
  memory.give_back(251);
  EXPECT_TRUE(memory.take(1, Use::large));
  EXPECT_FALSE(memory.take(1, Use::large));
}

TEST(ConnectionMemory, SmallTakingsThatNeedMoreThanTheirQuarterKeepLargeOnesOut) {
  ConnectionMemory memory(1000);
  EXPECT_TRUE(memory.take(900, Use::small));
  EXPECT_FALSE(memory.take(1, Use::large)) << "used is above what large ones may use, and must not wrap";
  memory.charge(500);
  EXPECT_TRUE(memory.is_short());
  EXPECT_FALSE(memory.take(1, Use::small));
  EXPECT_FALSE(memory.take(ConnectionMemory::kUnbounded, Use::small));
  memory.give_back(400);
  EXPECT_FALSE(memory.is_short());
}

TEST(ConnectionMemory, RemembersThePeakSinceItWasLastAsked) {
  ConnectionMemory memory(1000);
  EXPECT_TRUE(memory.take(600, Use::large));
  memory.give_back(500);
  EXPECT_EQ(memory.take_peak(), 600U);
  EXPECT_EQ(memory.take_peak(), 100U);
  memory.charge(50);
  memory.give_back(150);
  EXPECT_EQ(memory.take_peak(), 150U);
}

TEST(ConnectionMemory, IsNeverExceededByManyThreadsAndComesBackToNothing) {
  constexpr std::size_t kLimit = 10'000;
  ConnectionMemory memory(kLimit);
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      std::vector<std::size_t> held;
      for (int i = 0; i < 20'000; ++i) {
        const std::size_t bytes = random() % 3000;
        if (memory.take(bytes, i % 2 == 0 ? Use::small : Use::large)) held.push_back(bytes);
        if (memory.used() > kLimit) exceeded = true;
        while (held.size() > 2) {
          memory.give_back(held.back());
          held.pop_back();
        }
      }
      for (const std::size_t bytes : held) memory.give_back(bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  EXPECT_EQ(memory.used(), 0U);
}

TEST(MemoryCharge, TakesTheDifferenceAndGivesAllBack) {
  ConnectionMemory memory(1 << 20);
  ASSERT_TRUE(memory.take(1000, Use::small));
  {
    MemoryCharge charge(memory, 1000);
    EXPECT_TRUE(charge.raise(500));
    EXPECT_TRUE(charge.raise(400)) << "it has that already";
    EXPECT_EQ(memory.used(), 1500U);
    EXPECT_TRUE(charge.raise(100'000));
    EXPECT_EQ(memory.used(), 101'000U);
    charge.settle(100'000 - MemoryCharge::kSlack + 1);
    EXPECT_EQ(memory.used(), 101'000U) << "too little to be worth it";
    charge.settle(0);
    EXPECT_EQ(memory.used(), 1000U);
    charge.settle(2 << 20);
    EXPECT_EQ(memory.used(), (2U << 20) + 1000U) << "what is owed is charged without asking";
    EXPECT_TRUE(memory.is_short());
  }
  EXPECT_EQ(memory.used(), 0U);
}

TEST(MemoryCharge, IsLargeBeyondWhatASmallRequestNeeds) {
  ConnectionMemory memory(100'000);
  ASSERT_TRUE(memory.take(70'000, Use::large));
  MemoryCharge charge(memory, 0);
  EXPECT_FALSE(charge.raise(MemoryCharge::kSmallBytes + 1));
  EXPECT_EQ(memory.used(), 70'000U);
  EXPECT_TRUE(charge.raise(30'000)) << "a small one may use the quarter that large ones leave";
}

}  // namespace
}  // namespace weir::transport
