#include "keys/key_ring.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/temporary_folder.h"

namespace weir::keys {
namespace {

TEST(KeyRing, AKeyIsThirtyTwoHexadecimalDigits) {
  const HashKey key = parse_hash_key("000102030405060708090a0B0C0D0e0f").value();
  for (std::size_t i = 0; i < key.size(); ++i) EXPECT_EQ(key[i], i);
  EXPECT_EQ(hash_key_text(key), "000102030405060708090a0b0c0d0e0f");
  for (const std::string& text : {std::string(), std::string(31, '1'), std::string(33, '1'), std::string(32, 'g'),
                                  std::string(32, '0'), " " + std::string(31, '1')}) {
    EXPECT_FALSE(parse_hash_key(text)) << text;
  }
}

TEST(KeyRing, AFileHasOneKeyOrTwoDifferentOnes) {
  const std::string one(32, '1');
  const std::string two(32, '2');
  const rules::TemporaryFolder folder;
  const auto load = [&](const std::string& text) {
    folder.write("keys", text);
    return load_key_ring(folder.path() / "keys");
  };
  EXPECT_FALSE(load(one + "\n").value().previous);
  const KeyRing ring = load("# new\n" + one + "\n# old\n" + two + "\n").value();
  EXPECT_EQ(hash_key_text(ring.current), one);
  EXPECT_EQ(hash_key_text(ring.previous.value()), two);
  for (const std::string& text : {std::string(), one + "\n" + one, one + "\n" + two + "\n" + one, one + "\nx"}) {
    const Result<KeyRing> refused = load(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.failure().code, Code::invalid_argument);
    EXPECT_EQ(refused.failure().message.find(one), std::string::npos) << "a message must not contain a key";
  }
  EXPECT_NE(load("x\n" + two).failure().message.find("keys: key 1 is not a hash key"), std::string::npos);
  EXPECT_NE(load(one + "\nx\n").failure().message.find("keys: key 2 is not a hash key"), std::string::npos);
  EXPECT_EQ(load_key_ring(folder.path() / "missing").failure().code, Code::not_found);
}

}  // namespace
}  // namespace weir::keys
