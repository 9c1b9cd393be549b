#include "base/secret_compare.h"

#include <gtest/gtest.h>

#include <string>

namespace weir::base {
namespace {

TEST(SecretCompare, AcceptsOnlyTheWholeSecret) {
  EXPECT_TRUE(same_secret("secret", "secret"));
  EXPECT_TRUE(same_secret("", ""));
  for (const char* given : {"", "s", "secre", "secrets", "Secret", "secreT", "secretsecret", "terces"}) {
    EXPECT_FALSE(same_secret(given, "secret")) << given;
  }
  EXPECT_FALSE(same_secret("x", ""));
  EXPECT_FALSE(same_secret(std::string_view("\0", 1), ""));
  EXPECT_FALSE(same_secret(std::string_view("secret\0", 7), "secret"));
}

TEST(SecretCompare, SeesADifferenceInEveryBit) {
  const std::string secret = "0123456789";
  for (std::size_t at = 0; at < secret.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string given = secret;
      given[at] = static_cast<char>(given[at] ^ 1 << bit);
      EXPECT_FALSE(same_secret(given, secret));
    }
  }
}

}  // namespace
}  // namespace weir::base
