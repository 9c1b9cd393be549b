#include "base/nearest.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

TEST(Nearest, CountsEditsAndSwapsOfNeighbours) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("burst", "burst"), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("htpp", "http"), 1u);
  EXPECT_EQ(edit_distance("chekc", "check"), 1u);
  EXPECT_EQ(edit_distance("ca", "abc"), 3u) << "swapped letters are not changed again";
}

TEST(Nearest, FindsASlipAndIgnoresAnotherWord) {
  constexpr std::string_view kNames[] = {"http", "grpc", "resp", "admin"};
  EXPECT_EQ(nearest("htpp", kNames), "http");
  EXPECT_EQ(nearest("grcp", kNames), "grpc");
  EXPECT_EQ(nearest("admim", kNames), "admin");
  EXPECT_EQ(nearest("http", kNames), "http");
  EXPECT_EQ(nearest("redis", kNames), "");
  EXPECT_EQ(nearest("", kNames), "");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace weir::base
