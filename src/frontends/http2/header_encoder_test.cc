// What the encoder writes is read by nghttp2's decoder.
#include "frontends/http2/header_encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "tests/support/raw_frames.h"

namespace weir::http2 {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr Field kOk{":status", "200"};
constexpr Field kContentType{"content-type", "application/grpc", true};
constexpr Field kStatusZero{"grpc-status", "0", true};

class EncodedHeaders : public testing::Test {
 protected:
  std::string encode(std::initializer_list<Field> fields) {
    std::string block;
    encoder.encode(block, {fields.begin(), fields.size()});
    return block;
  }
  std::map<std::string, std::string> decode(std::string_view block) {
    std::map<std::string, std::string> fields;
    EXPECT_TRUE(reader.inflate(block, fields));
    return fields;
  }

  HeaderEncoder encoder;
  FrameReader reader;
};

TEST_F(EncodedHeaders, FieldsThatComeOftenAreOneByteFromTheSecondTimeOn) {
  EXPECT_GT(encode({kOk, kContentType}).size(), 3U);
  EXPECT_GT(encode({kStatusZero}).size(), 2U);
  EXPECT_EQ(encode({kOk, kContentType}).size(), 2U);
  EXPECT_EQ(encode({kStatusZero}).size(), 1U);
}

// They would fill the table, and a secret among them could be guessed at by its size.
TEST_F(EncodedHeaders, OtherFieldsAreNeverRemembered) {
  constexpr Field kRare{"grpc-message", "once"};
  const std::string first = encode({kRare});
  EXPECT_GT(first.size(), 15U);
  EXPECT_EQ(encode({kRare}), first);
}

TEST_F(EncodedHeaders, AreReadAsTheyWereMeant) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(decode(encode({kOk, kContentType})),
                ElementsAre(Pair(":status", "200"), Pair("content-type", "application/grpc")));
    EXPECT_THAT(decode(encode({kStatusZero})), ElementsAre(Pair("grpc-status", "0")));
    const std::string text(300, 'x');
    EXPECT_THAT(decode(encode({{":status", "415"}, {"grpc-status", "13"}, {"grpc-message", text}})),
                ElementsAre(Pair(":status", "415"), Pair("grpc-message", text), Pair("grpc-status", "13")));
  }
}

TEST_F(EncodedHeaders, APeerThatWillNotRememberIsSentEverythingInFull) {
  decode(encode({kOk, kContentType}));
  reader.set_table_size(0);
  encoder.set_table_size(0);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(decode(encode({kOk, kContentType})),
                ElementsAre(Pair(":status", "200"), Pair("content-type", "application/grpc")));
  }
  EXPECT_GT(encode({kContentType}).size(), 10U);
}

TEST_F(EncodedHeaders, APeerWithRoomForOneFieldIsAskedToRememberOne) {
  reader.set_table_size(70);
  encoder.set_table_size(70);
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(decode(encode({kContentType, kStatusZero})),
                ElementsAre(Pair("content-type", "application/grpc"), Pair("grpc-status", "0")));
  }
  EXPECT_EQ(encode({kContentType}).size(), 1U);
  EXPECT_GT(encode({kStatusZero}).size(), 1U);
}

TEST_F(EncodedHeaders, SurviveAnyChangeOfThePeersTable) {
  const std::array<Field, 6> all = {kOk,
                                    kContentType,
                                    kStatusZero,
                                    Field{"grpc-status", "14"},
                                    Field{"x-long", "a value of some length", true},
                                    Field{":status", "503"}};
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    HeaderEncoder own;
    FrameReader peer;
    for (int step = 0; step < 50; ++step) {
      if (random() % 8 == 0) {
        const std::size_t size = random() % 3 == 0 ? 100'000 : random() % 200;
        peer.set_table_size(size);
        own.set_table_size(size);
      }
      const Field& field = all[random() % all.size()];
      std::string block;
      own.encode(block, {&field, 1});
      std::map<std::string, std::string> fields;
      ASSERT_TRUE(peer.inflate(block, fields));
      ASSERT_THAT(fields, ElementsAre(Pair(field.name, field.value)));
    }
  }
}

}  // namespace
}  // namespace weir::http2
