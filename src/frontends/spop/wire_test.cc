#include "frontends/spop/wire.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <vector>

namespace weir::spop {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  put_varint(out, value);
  return out;
}

TEST(SpopWire, SpellsIntegersAtTheEdgesOfEachLength) {
  EXPECT_EQ(varint(0), std::string(1, '\0'));
  EXPECT_EQ(varint(239), "\xef");
  EXPECT_EQ(varint(240), std::string("\xf0\x00", 2));
  EXPECT_EQ(varint(2287), "\xff\x7f");
  EXPECT_EQ(varint(2288), std::string("\xf0\x80\x00", 3));
  EXPECT_EQ(varint(264431), "\xff\xff\x7f");
  EXPECT_EQ(varint(264432), std::string("\xf0\x80\x80\x00", 4));
  EXPECT_EQ(varint(std::numeric_limits<std::uint64_t>::max()).size(), 10U);
}

TEST(SpopWire, ReadsBackEveryInteger) {
  const bool holds = rc::check("read(write(n)) == n", [] {
    const unsigned bits = *rc::gen::inRange(0U, 64U);
    const std::uint64_t value = *rc::gen::arbitrary<std::uint64_t>() >> bits;
    const std::string bytes = varint(value);
    std::uint64_t read = 0;
    Cursor cursor(bytes);
    RC_ASSERT(cursor.varint(read));
    RC_ASSERT(read == value);
    RC_ASSERT(cursor.at_end());
    Cursor cut(std::string_view(bytes).substr(0, bytes.size() - 1));
    RC_ASSERT(!cut.varint(read));
  });
  EXPECT_TRUE(holds);
  std::uint64_t most = 0;
  const std::string bytes = varint(std::numeric_limits<std::uint64_t>::max());
  EXPECT_TRUE(Cursor(bytes).varint(most));
  EXPECT_EQ(most, std::numeric_limits<std::uint64_t>::max());
}

TEST(SpopWire, RefusesIntegersBeyond64Bits) {
  std::uint64_t value = 0;
  EXPECT_FALSE(Cursor(std::string(40, '\xff')).varint(value));
  // The largest number and one more.
  std::string bytes = varint(std::numeric_limits<std::uint64_t>::max());
  bytes.back() = static_cast<char>(bytes.back() + 1);
  EXPECT_FALSE(Cursor(bytes).varint(value));
}

TEST(SpopWire, RefusesWhatEndsEarlyOrHasNoType) {
  const std::vector<std::string> wrong = {"",
                                          "\x02",
                                          std::string("\x06\x01\x02\x03", 4),
                                          std::string("\x07", 1) + std::string(15, 'x'),
                                          "\x08\x05"
                                          "four",
                                          "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
                                          "\x0a",
                                          "\x0f"};
  for (const std::string& bytes : wrong) {
    Value value;
    EXPECT_FALSE(Cursor(bytes).value(value)) << testing::PrintToString(bytes);
  }
}

TEST(SpopWire, ReadsEachTypeOfValue) {
  Value value;
  ASSERT_TRUE(Cursor(std::string(1, '\0')).value(value));
  EXPECT_EQ(value.type, ValueType::null);
  ASSERT_TRUE(Cursor("\x11").value(value));
  EXPECT_EQ(value.number, 1U);
  ASSERT_TRUE(Cursor("\x01").value(value));
  EXPECT_EQ(value.number, 0U);
  std::string bytes;
  put_int64_value(bytes, -5);
  ASSERT_TRUE(Cursor(bytes).value(value));
  EXPECT_EQ(static_cast<std::int64_t>(value.number), -5);
  const std::string text = "\x08\x02hi";
  ASSERT_TRUE(Cursor(text).value(value));
  EXPECT_EQ(value.bytes, "hi");
}

}  // namespace
}  // namespace weir::spop
