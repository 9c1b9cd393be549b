#include "base/pool.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(Pool, MakesAnObjectOnlyWhenAllAreInUse) {
  Pool<int> pool;
  int& first = pool.take(1);
  int& second = pool.take(2);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
  EXPECT_FALSE(pool.all_idle());
  pool.give_back(first);
  EXPECT_EQ(&pool.take(3), &first);
  EXPECT_EQ(first, 1) << "as it was left";
  EXPECT_EQ(pool.take(4), 4);
}

TEST(Pool, IsIdleWhenAllHaveComeBack) {
  Pool<int> pool;
  EXPECT_TRUE(pool.all_idle());
  int& one = pool.take(1);
  EXPECT_FALSE(pool.all_idle());
  pool.give_back(one);
  EXPECT_TRUE(pool.all_idle());
}

}  // namespace
}  // namespace weir::base
