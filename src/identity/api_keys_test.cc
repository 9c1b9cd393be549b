#include "identity/api_keys.h"

#include <gtest/gtest.h>

#include "keys/key_ring.h"
#include "tests/support/scratch_file.h"

namespace weir::identity {
namespace {

const std::string kOne = "000102030405060708090a0b0c0d0e0f";
const std::string kTwo = "F0E0D0C0B0A090807060504030201000";

keys::KeyRing ring(std::uint8_t first) {
  keys::KeyRing made;
  made.current[0] = first;
  return made;
}

// The value tells nothing about the key and differs between installations.
TEST(ApiKeys, AreHashedUnderTheSecret) {
  const ApiKeys keys(ring(1));
  const std::string value = ApiKeys::text(keys.hash("sk_live_abc"));
  EXPECT_EQ(value.size(), 34u);
  EXPECT_EQ(value.substr(0, 2), "k_");
  EXPECT_EQ(value.find("abc"), std::string::npos);
  EXPECT_EQ(value, ApiKeys::text(keys.hash("sk_live_abc")));
  EXPECT_NE(value, ApiKeys::text(keys.hash("sk_live_abd")));
  EXPECT_NE(value, ApiKeys::text(ApiKeys(ring(2)).hash("sk_live_abc")));
}

TEST(ApiKeys, AreRevokedByKeyOrByHash) {
  const ApiKeys plain(ring(1));
  const ScratchFile file("# leaked\n\n  sk_one  \r\n" + ApiKeys::text(plain.hash("sk_two")) + "\n");
  const ApiKeys keys = ApiKeys::load(ring(1), file.path()).value();
  EXPECT_TRUE(keys.is_revoked("sk_one"));
  EXPECT_TRUE(keys.is_revoked("sk_two"));
  EXPECT_FALSE(keys.is_revoked("sk_three"));
  EXPECT_FALSE(keys.is_revoked("# leaked"));
  EXPECT_FALSE(keys.is_revoked(""));
  EXPECT_FALSE(plain.is_revoked("sk_one"));
}

TEST(ApiKeys, AKeyThatLooksLikeAHashIsRevokedToo) {
  const std::string odd = "k_000102030405060708090a0b0c0d0e0f";
  const ScratchFile file(odd + "\n");
  EXPECT_TRUE(ApiKeys::load(ring(1), file.path()).value().is_revoked(odd));
}

TEST(ApiKeys, HashesOfThePreviousSecretStillRevokeDuringRotation) {
  const ScratchFile file(ApiKeys::text(ApiKeys(ring(1)).hash("sk_old")));
  keys::KeyRing rotated = ring(2);
  rotated.previous = ring(1).current;
  EXPECT_TRUE(ApiKeys::load(rotated, file.path()).value().is_revoked("sk_old"));
  EXPECT_FALSE(ApiKeys::load(ring(2), file.path()).value().is_revoked("sk_old"));
}

TEST(ApiKeys, ABadListIsAFailureThatShowsNoKey) {
  EXPECT_EQ(ApiKeys::load(ring(1), "no/such/list").failure().code, Code::not_found);
  const std::string secret(ApiKeys::kMaxKeyBytes + 1, 's');
  const ScratchFile file("# leaked\nsk_one\n" + secret + "\n");
  const auto keys = ApiKeys::load(ring(1), file.path());
  ASSERT_FALSE(keys.ok());
  EXPECT_EQ(keys.failure().message, file.path().string() + ":3: has 4097 bytes, expected an API key of at most 4096");
  EXPECT_EQ(keys.failure().message.find("sss"), std::string::npos);
}

TEST(ApiKeys, TheLongestKeyThatCanBeSentCanBeRevoked) {
  const std::string longest(kMaxAttributeValue, 'k');
  const ScratchFile file(longest + "\n");
  EXPECT_TRUE(ApiKeys::load(ring(1), file.path()).value().is_revoked(longest));
}

TEST(KeyRing, HoldsOneKeyOrTwo) {
  const ScratchFile file(kOne + "\n");
  keys::KeyRing read = keys::load_key_ring(file.path()).value();
  EXPECT_EQ(read.current[15], 0x0f);
  EXPECT_FALSE(read.previous);
  file.write("# new\n" + kTwo + "\r\n" + kOne);
  read = keys::load_key_ring(file.path()).value();
  EXPECT_EQ(read.current[0], 0xf0);
  EXPECT_EQ(read.previous.value()[15], 0x0f);
}

TEST(KeyRing, RefusesAnythingElseAndRepeatsNothingOfIt) {
  const ScratchFile file("");
  for (const std::string& text : {std::string(), std::string(32, '0'), kOne.substr(1), kOne + "0", kOne + "\n" + kOne,
                                  kOne + "\n" + kTwo + "\n" + kOne, std::string("secretsecretsecretsecretsecretse")}) {
    file.write(text);
    const auto read = keys::load_key_ring(file.path());
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.failure().code, Code::invalid_argument);
    EXPECT_EQ(read.failure().message.find("secretsecret"), std::string::npos);
    EXPECT_EQ(read.failure().message.find(kOne), std::string::npos);
  }
  file.write(std::string(5000, '#'));
  EXPECT_FALSE(keys::load_key_ring(file.path()).ok());
}

}  // namespace
}  // namespace weir::identity
