#include "frontends/http2/header_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/raw_frames.h"

namespace weir::http2 {
namespace {

TEST(HeaderBlocks, ThatReferToTheTableOrStandInFullLeaveItAsItIs) {
  EXPECT_TRUE(HeaderDecoder::leaves_table("\x82\x86\xbe"));
  EXPECT_TRUE(HeaderDecoder::leaves_table("\xff\x05"));                              // entry 132
  EXPECT_TRUE(HeaderDecoder::leaves_table(header_block({{"a", "b"}, {"cc", ""}})));  // in full
  EXPECT_TRUE(HeaderDecoder::leaves_table("\x14\x01/"));                             // never to be remembered
}

TEST(HeaderBlocks, ThatAreToBeRememberedOrResizeTheTableDoNot) {
  EXPECT_FALSE(HeaderDecoder::leaves_table("\x82\x44\x01/"));
  EXPECT_FALSE(HeaderDecoder::leaves_table("\x20\x82"));
}

TEST(HeaderBlocks, ThatEndInsideAFieldAreNotTrusted) {
  EXPECT_FALSE(HeaderDecoder::leaves_table("\x04\x05/"));
  EXPECT_FALSE(HeaderDecoder::leaves_table("\x04"));
  EXPECT_FALSE(HeaderDecoder::leaves_table("\xff"));
  EXPECT_FALSE(HeaderDecoder::leaves_table("\xff\xff\xff\xff\xff\xff\xff\xff\xff"));
}

// The claim that skipping a block rests on: as nghttp2 sees it, its table did not change.
TEST(HeaderBlocks, ThatLeaveTheTableLeaveNghttp2s) {
  std::size_t left = 0;
  for (std::uint64_t seed = 1; seed <= 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::string block;
    const std::size_t size = 1 + random() % 12;
    for (std::size_t i = 0; i < size; ++i) block += static_cast<char>(random() % 4 == 0 ? random() : random() % 8);
    nghttp2_hd_inflater* inflater = nullptr;
    ASSERT_EQ(nghttp2_hd_inflate_new(&inflater), 0);
    bool sense = true;
    const auto* at = reinterpret_cast<const std::uint8_t*>(block.data());
    std::size_t rest = block.size();
    for (int flags = 0; sense && (flags & NGHTTP2_HD_INFLATE_FINAL) == 0;) {
      nghttp2_nv field;
      const ssize_t read = nghttp2_hd_inflate_hd2(inflater, &field, &flags, at, rest, 1);
      sense = read >= 0;
      if (!sense) break;
      at += read;
      rest -= static_cast<std::size_t>(read);
    }
    if (sense && HeaderDecoder::leaves_table(block)) {
      ++left;
      EXPECT_EQ(nghttp2_hd_inflate_get_dynamic_table_size(inflater), 0U);
      EXPECT_EQ(nghttp2_hd_inflate_get_max_dynamic_table_size(inflater), 4096U);
    }
    nghttp2_hd_inflate_del(inflater);
  }
  EXPECT_GT(left, 100U);
}

}  // namespace
}  // namespace weir::http2
