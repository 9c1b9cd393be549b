#include "server/memory_return.h"

#include <gtest/gtest.h>

namespace weir::server {
namespace {

using Use = transport::ConnectionMemory::Use;

TEST(MemoryReturn, GivesBackOnceAfterMuchWasFreed) {
  transport::ConnectionMemory memory(std::size_t{1} << 30);
  MemoryReturn give(memory);
  EXPECT_FALSE(give.poll());
  ASSERT_TRUE(memory.take(MemoryReturn::kLeastFreed + 1000, Use::large));
  EXPECT_FALSE(give.poll()) << "it is in use";
  memory.give_back(MemoryReturn::kLeastFreed - 1);
  EXPECT_FALSE(give.poll()) << "too little";
  memory.give_back(1);
  EXPECT_TRUE(give.poll()) << "the peak of an earlier look counts too";
  EXPECT_FALSE(give.poll()) << "once";
  // Between two looks.
  ASSERT_TRUE(memory.take(MemoryReturn::kLeastFreed, Use::large));
  memory.give_back(MemoryReturn::kLeastFreed);
  EXPECT_TRUE(give.poll());
}

}  // namespace
}  // namespace weir::server
