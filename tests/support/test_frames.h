// Frames as HAProxy sends them and as it reads ours, for the tests of this room: a writer and a reader of their own.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/spop/frame.h"

namespace weir::spop {

inline std::string frame(FrameType type, const std::string& payload, std::uint64_t stream = 0, std::uint64_t id = 0) {
  std::string out;
  const std::size_t begun = begin_frame(out, type, stream, id);
  out += payload;
  end_frame(out, begun);
  return out;
}

inline std::string text(const std::string& name, const std::string& value) {
  std::string out;
  put_string(out, name);
  put_text_value(out, value);
  return out;
}

inline std::string number(const std::string& name, std::int64_t value) {
  std::string out;
  put_string(out, name);
  put_int64_value(out, value);
  return out;
}

inline std::string raw(const std::string& name, const std::string& value) {
  std::string out;
  put_string(out, name);
  return out + value;
}

inline std::string frame_size(std::uint32_t bytes) {
  std::string out;
  put_string(out, "max-frame-size");
  put_uint32_value(out, bytes);
  return out;
}

inline const std::string kVersions = text("supported-versions", "2.0");
inline const std::string kCapabilities = text("capabilities", "pipelining, async");
inline const std::string kHello =
    frame(FrameType::haproxy_hello, kVersions + frame_size(16380) + kCapabilities + text("engine-id", "e"));

// One message with these arguments.
inline std::string notify(const std::vector<std::string>& arguments, std::uint64_t stream = 1, std::uint64_t id = 1) {
  std::string payload;
  put_string(payload, "weir-check");
  payload += static_cast<char>(arguments.size());
  for (const std::string& argument : arguments) payload += argument;
  return frame(FrameType::notify, payload, stream, id);
}

// A frame that we sent, read by a reader of the test's own.
struct Answer {
  FrameType type = FrameType::unset;
  std::uint64_t stream = 0;
  std::uint64_t id = 0;
  std::map<std::string, std::string> values;  // key/value lists, and variables
};

inline std::string shown(const Value& value) {
  return value.is_text() ? std::string(value.bytes) : std::to_string(static_cast<std::int64_t>(value.number));
}

inline std::vector<Answer> answers(std::string_view bytes) {
  std::vector<Answer> all;
  while (!bytes.empty()) {
    std::uint32_t size = 0;
    EXPECT_TRUE(Cursor(bytes).uint32(size));
    EXPECT_LE(size + 4, bytes.size());
    Frame read;
    EXPECT_TRUE(read_frame(bytes.substr(4, size), read));
    EXPECT_EQ(read.flags, kFinal);
    Answer answer{read.type, read.stream, read.id, {}};
    Cursor cursor(read.payload);
    while (!cursor.at_end()) {
      std::uint8_t byte = 0;
      if (read.type == FrameType::ack) {
        EXPECT_TRUE(cursor.byte(byte) && byte == 1) << "set-var";
        EXPECT_TRUE(cursor.byte(byte) && byte == 3) << "three arguments";
        EXPECT_TRUE(cursor.byte(byte) && byte == 2) << "transaction";
      }
      std::string_view name;
      Value value;
      EXPECT_TRUE(cursor.string(name) && cursor.value(value));
      answer.values.emplace(name, shown(value));
    }
    all.push_back(answer);
    bytes.remove_prefix(4 + size);
  }
  return all;
}

}  // namespace weir::spop
