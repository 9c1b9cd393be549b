#include "base/base64url.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace weir::base {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Bit by bit.
std::string encoded_by_model(std::string_view bytes) {
  std::string text;
  unsigned held = 0, bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<unsigned char>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += kAlphabet[held >> (bits - 6) & 63];
    held &= 63;
  }
  if (bits > 0) text += kAlphabet[held << (6 - bits) & 63];
  return text;
}

std::string random_bytes(std::size_t size, std::mt19937& random) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(random());
  return bytes;
}

TEST(Base64url, HasTheCharactersOfTheStandard) {
  EXPECT_EQ(encode_base64url(""), "");
  EXPECT_EQ(encode_base64url("f"), "Zg");
  EXPECT_EQ(encode_base64url("fo"), "Zm8");
  EXPECT_EQ(encode_base64url("foo"), "Zm9v");
  EXPECT_EQ(encode_base64url("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode_base64url("\xfb\xff\xfe"), "-__-");
}

TEST(Base64url, EveryLengthIsEncodedAndDecodedLikeBitByBit) {
  std::mt19937 random(1);
  for (std::size_t size = 0; size <= 100; ++size) {
    const std::string bytes = random_bytes(size, random);
    const std::string text = encode_base64url(bytes);
    ASSERT_EQ(text, encoded_by_model(bytes)) << size;
    ASSERT_EQ(text.size(), base64url_size(size));
    ASSERT_EQ(decode_base64url(text), bytes) << size;
  }
}

TEST(Base64url, EveryByteHasItsPlaceInAText) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(encode_base64url(bytes), encoded_by_model(bytes));
  EXPECT_EQ(decode_base64url(encode_base64url(bytes)), bytes);
}

TEST(Base64url, RefusesAWrongCharacterWhereverItIs) {
  for (const std::size_t size : {4U, 7U, 10U, 16U, 23U}) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const char wrong : {'=', '+', '/', '.', ' ', '\0', '\x80', '\xff', '@', '[', '`', '{'}) {
        std::string text(size, 'A');
        text[at] = wrong;
        EXPECT_EQ(decode_base64url(text), std::nullopt) << size << " at " << at;
      }
    }
  }
}

TEST(Base64url, RefusesImpossibleLengthsAndStrayBits) {
  for (const std::size_t size : {1U, 5U, 9U, 17U}) EXPECT_EQ(decode_base64url(std::string(size, 'A')), std::nullopt);
  // Of the last character, two bits are used after one byte and four after two.
  for (const std::size_t before : {0U, 4U, 8U, 12U}) {
    const std::string whole(before, 'A');
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_EQ(decode_base64url(whole + "A" + kAlphabet[i]).has_value(), i % 16 == 0) << before << " " << i;
      EXPECT_EQ(decode_base64url(whole + "AA" + kAlphabet[i]).has_value(), i % 4 == 0) << before << " " << i;
    }
  }
}

// What lies beyond the bytes is read, but has no effect.
TEST(Base64url, WritesIntoRoomOfTheCallersWithoutLookingAtWhatIsBehind) {
  std::mt19937 random(2);
  for (std::size_t size = 0; size <= 40; ++size) {
    const std::string held = random_bytes(size + kBase64urlSlack, random);
    const std::string_view bytes = std::string_view(held).substr(0, size);
    std::string text(base64url_size(size) + 1, '!');
    encode_base64url(bytes, text.data());
    EXPECT_EQ(text, encoded_by_model(bytes) + "!") << size;
    text.pop_back();
    std::string out(text.size() * 3 / 4 + kBase64urlSlack, '\0');
    ASSERT_EQ(decode_base64url(text, out.data()), size);
    EXPECT_EQ(out.substr(0, size), bytes);
  }
}

}  // namespace
}  // namespace weir::base
