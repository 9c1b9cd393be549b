// The wire format byte by byte. Whole messages are compared with protobuf's own parser in the tests of gRPC.
#include "base/protobuf_wire.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

namespace weir::base {
namespace {

using namespace std::string_literals;

struct Field {
  std::uint32_t tag = 0;
  std::uint64_t number = 0;
  std::string bytes;
  bool operator==(const Field&) const = default;
};

// Nothing if the message is malformed.
std::optional<std::vector<Field>> fields_of(std::string_view message) {
  WireReader reader(message);
  std::vector<Field> fields;
  while (reader.next()) {
    const auto type = static_cast<WireType>(reader.tag() & 7);
    fields.push_back({reader.tag(), type == WireType::varint ? reader.number() : 0,
                      type == WireType::bytes ? std::string(reader.bytes()) : ""});
  }
  if (reader.failed()) return std::nullopt;
  EXPECT_FALSE(reader.next()) << "the end stays the end";
  return fields;
}

TEST(ProtobufWire, WritesTheBytesOfTheSpecification) {
  std::string out;
  WireWriter writer(out);
  writer.number(1, 150);
  writer.text(2, "testing");
  writer.boolean(3, true);
  const std::size_t begun = writer.begin(4);
  writer.number(1, 1);
  writer.end(begun);
  EXPECT_EQ(out, "\x08\x96\x01\x12\x07testing\x18\x01\x22\x02\x08\x01"s);
}

TEST(ProtobufWire, LeavesOutDefaultsUnlessTold) {
  std::string out;
  WireWriter writer(out);
  writer.number(1, 0);
  writer.text(2, "");
  writer.boolean(3, false);
  EXPECT_EQ(out, "");
  writer.put_number(1, 0);
  writer.put_bytes(2, "");
  EXPECT_EQ(out, "\x08\x00\x12\x00"s);
}

TEST(ProtobufWire, ReadsBackWhatItWrote) {
  std::mt19937_64 random(20'261'118);
  for (int turn = 0; turn < 500; ++turn) {
    std::string out;
    WireWriter writer(out);
    std::vector<Field> written;
    for (std::uint64_t i = random() % 5; i > 0; --i) {
      const auto field = static_cast<std::uint32_t>(1 + random() % (random() % 2 == 0 ? 15 : 100'000));
      const std::string text(random() % 3 == 0 ? random() % 20'000 : random() % 3 + 126, 't');
      switch (random() % 3) {
        case 0:
          written.push_back({varint_field(field), random() >> random() % 64, ""});
          writer.put_number(field, written.back().number);
          break;
        case 1:
          written.push_back({bytes_field(field), 0, text});
          writer.put_bytes(field, text);
          break;
        default:
          const std::size_t begun = writer.begin(field);
          out += text;
          writer.end(begun);
          written.push_back({bytes_field(field), 0, text});
      }
    }
    EXPECT_EQ(fields_of(out), written);
  }
}

TEST(ProtobufWire, SkipsWhatItDoesNotRead) {
  const Field last{varint_field(1), 5, ""};
  const auto last_of = [](std::string_view message) {
    const auto fields = fields_of(message);
    return fields ? fields->back() : Field();
  };
  EXPECT_EQ(last_of("\x11"s + "12345678" + "\x08\x05"), last) << "64 bits";
  EXPECT_EQ(last_of("\x15"s + "1234" + "\x08\x05"), last) << "32 bits";
  EXPECT_EQ(last_of("\x13\x08\x07\x12\x01x\x14\x08\x05"s), last) << "a group";
  EXPECT_EQ(last_of("\x13\x1b\x08\x01\x1c\x14\x08\x05"s), last) << "a group in a group";
}

TEST(ProtobufWire, ReadsValuesThatEndWithTheMessage) {
  for (const std::string& message : {"\x11"s + "12345678", "\x15"s + "1234", "\x12\x04"s + "1234", "\x12\x00"s,
                                     "\xf8\xff\xff\xff\x0f\x01"s, "\x08"s + std::string(9, '\xff') + "\x01"}) {
    const auto fields = fields_of(message);
    ASSERT_TRUE(fields) << testing::PrintToString(message);
    EXPECT_EQ(fields->size(), 1U);
  }
}

TEST(ProtobufWire, RefusesWhatIsMalformed) {
  const std::string malformed[] = {
      "\x00\x01"s,
      "\x05"s + "1234",  // field 0
      "\x08"s,
      "\x12"s,  // no value
      "\x08\x80"s,
      "\x12\x80"s,                                 // a number without an end
      "\x08"s + std::string(10, '\xff') + "\x01",  // one of more than ten bytes
      "\x88\x80\x80\x80\x80\x00\x01"s,             // a tag of more than five
      "\x12\x05"s + "abcd",                        // shorter than it says
      "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s,
      "\x11\x08\x01\x08\x01\x08\x01"s,
      "\x11\x08\x80\x01\x08\x01\x08\x01"s,  // too short for 64 bits
      "\x15\x08\x01"s,
      "\x15\x08\x80\x01"s,  // and for 32
      "\x14"s,              // the end of no group
      "\x13\x08\x01"s,      // a group without an end
      "\x13\x1c"s,          // one with another's end
      "\x13\x00\x14"s,
      "\x13\x0f\x14"s,
      "\x0e"s,
      "\x0f"s,  // a field 0, wire types that there are not
  };
  for (const std::string& message : malformed) {
    WireReader reader(message);
    EXPECT_FALSE(reader.next()) << testing::PrintToString(message);
    EXPECT_TRUE(reader.failed());
    EXPECT_FALSE(fields_of("\x08\x01" + message));
  }
}

TEST(ProtobufWire, GroupsAreNestedToABound) {
  const auto nested = [](int depth) { return std::string(depth, '\x0b') + std::string(depth, '\x0c'); };
  EXPECT_TRUE(fields_of(nested(100)));
  const std::string deeper = nested(101);
  EXPECT_FALSE(WireReader(deeper).next());
}

}  // namespace
}  // namespace weir::base
