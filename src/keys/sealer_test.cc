#include "keys/sealer.h"

#include <gtest/gtest.h>

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
