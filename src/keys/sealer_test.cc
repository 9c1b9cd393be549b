#include "keys/sealer.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weir::keys {
namespace {

constexpr HashKey kKey = {1, 2, 3, 4, 5};
constexpr HashKey kOther = {1, 2, 3, 4, 6};

TEST(Sealer, OpensWhatItSealed) {
  const Sealer sealer(kKey);
  std::string bytes;
  for (int size = 0; size < 200; ++size) {
    EXPECT_EQ(sealer.open(sealer.seal(bytes)), bytes) << size;
    bytes += static_cast<char>(size * 37);
  }
}

TEST(Sealer, SealsTheSameWithAndWithoutTheProcessorsInstructions) {
  const Sealer with(kKey);
  const Sealer without(kKey, Aes128::Instructions::none);
  for (std::size_t size = 0; size < 200; ++size) {
    const std::string bytes(size, static_cast<char>(size));
    EXPECT_EQ(with.seal(bytes), without.seal(bytes));
    EXPECT_EQ(without.open(with.seal(bytes)), bytes);
  }
}

TEST(Sealer, NoChangedTextIsOpened) {
  const Sealer sealer(kKey);
  const std::string text = sealer.seal("a lease over two rules, with its keys and numbers");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'A', 'b', '7', '-', '=', '\0'}) {
      std::string changed = text;
      if (changed[i] == c) continue;
      changed[i] = c;
      EXPECT_FALSE(sealer.open(changed)) << i << ' ' << c;
    }
    EXPECT_FALSE(sealer.open(text.substr(0, i))) << i;
  }
  EXPECT_FALSE(sealer.open(text + "A"));
  EXPECT_FALSE(sealer.open(text + text));
}

// Leases live on while a service is replaced by a later version.
TEST(Sealer, OpensWhatTheFirstVersionSealed) {
  const Sealer sealer(kKey);
  const std::string text = "AYMLuXCWWlUfqjuw3Uzworz7fu5taspNMosdZDMcdyZprpmWecD0ZqtM2fbHSmC8SHicwWjGH7DDhjI";
  EXPECT_EQ(sealer.open(text), "a lease that an earlier version has sealed");
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(sealer.open(changed)) << i;
  }
}

// Blocks are numbered and the length counts: none can be moved, left out or filled up.
TEST(Sealer, BytesThatDifferOnlyInOrderOrLengthHaveTextsOfTheirOwn) {
  const Sealer sealer(kKey);
  const std::string a(14, 'a');
  const std::string b(14, 'b');
  std::set<std::string> texts;
  for (const std::string& bytes :
       {a + b, b + a, a, b, a + a, a + a + a, a + std::string(1, '\0'), a + std::string(14, '\0'), std::string(),
        std::string(1, '\0'), std::string(14, '\0')}) {
    texts.insert(sealer.seal(bytes).substr(2, 20));
  }
  EXPECT_EQ(texts.size(), 11u);
  const std::string longest(Sealer::kMostBytes, 'x');
  EXPECT_EQ(sealer.open(sealer.seal(longest)), longest);
}

TEST(Sealer, AnotherKeyOpensNothing) { EXPECT_FALSE(Sealer(kOther).open(Sealer(kKey).seal("a lease"))); }

// Neither the text nor anything derived from it in the open.
TEST(Sealer, ATextTellsNothing) {
  const Sealer sealer(kKey);
  const std::string text = sealer.seal(std::string(96, 'r'));
  EXPECT_EQ(text.find("rrrr"), std::string::npos);
  std::size_t same = 0;
  const std::string other = sealer.seal(std::string(95, 'r') + 's');
  for (std::size_t i = 2; i < text.size(); ++i) same += text[i] == other[i] ? 1 : 0;
  EXPECT_LT(same, text.size() / 4) << "one byte more changes everything";
}

}  // namespace
}  // namespace weir::keys
