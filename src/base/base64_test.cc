#include "base/base64.h"

#include <gtest/gtest.h>

namespace weir::base {
namespace {

std::string encoded(std::string_view bytes) {
  std::string out;
  append_base64(out, bytes);
  return out;
}

// The examples of RFC 4648, section 10, and bytes whose digits are the last two of the alphabet.
TEST(Base64, PadsToGroupsOfFour) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foob"), "Zm9vYg==");
  EXPECT_EQ(encoded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xfb\xef\xff"), "++//");
}

}  // namespace
}  // namespace weir::base
