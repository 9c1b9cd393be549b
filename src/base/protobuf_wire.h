// Protobuf's wire format, read and written by hand: no message objects, no allocation.
//
// WireReader walks over the fields of one message without copying; views live as long as the bytes given. It accepts
// and refuses what protobuf's own parser does (tests compare them): fields in any order, unknown fields and groups
// skipped, a known field with another wire type treated as unknown by the caller's switch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::base {

enum class WireType : std::uint32_t { varint = 0, fixed64 = 1, bytes = 2, group = 3, group_end = 4, fixed32 = 5 };

// What a switch over fields compares: number and wire type in one.
constexpr std::uint32_t varint_field(std::uint32_t number) { return number << 3; }
constexpr std::uint32_t bytes_field(std::uint32_t number) {
  return number << 3 | static_cast<std::uint32_t>(WireType::bytes);
}

class WireReader {
 public:
  // Groups inside groups, as protobuf's default.
  static constexpr int kMaxDepth = 100;

  explicit WireReader(std::string_view message) : at_(message.data()), end_(message.data() + message.size()) {}

  // Moves to the next field. False at the end and when the message is malformed: failed() tells which.
  bool next();
  bool failed() const { return failed_; }

  // The field under the reader: its number and wire type, and its value if it is one that we read.
  std::uint32_t tag() const { return tag_; }
  std::uint64_t number() const { return number_; }
  std::string_view bytes() const { return bytes_; }

 private:
  bool read_varint(std::uint64_t& value) {
    if (at_ == end_ || static_cast<unsigned char>(*at_) >= 0x80) return read_long_varint(value);
    value = static_cast<unsigned char>(*at_++);
    return true;
  }
  bool read_long_varint(std::uint64_t& value);
  bool read_tag(std::uint32_t& tag);
  bool read_value(std::uint32_t tag, int depth);
  bool skip_group(std::uint32_t tag, int depth);
  bool fail() {
    failed_ = true;
    return false;
  }

  const char* at_;
  const char* end_;
  std::uint32_t tag_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
  bool failed_ = false;
};

// Appends fields to `out`. As in proto3, a field with its default value is left out; callers that must write one (an
// element of a repeated field) use the put_ functions.
class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  void number(std::uint32_t field, std::uint64_t value) {
    if (value != 0) put_number(field, value);
  }
  void boolean(std::uint32_t field, bool value) {
    if (value) put_number(field, 1);
  }
  void text(std::uint32_t field, std::string_view value) {
    if (!value.empty()) put_bytes(field, value);
  }
  void put_number(std::uint32_t field, std::uint64_t value);
  void put_fixed64(std::uint32_t field, std::uint64_t value);
  void put_bytes(std::uint32_t field, std::string_view value);

  // A nested message: what is written between the two calls. Its length is patched in at the end; lengths under 128,
  // which is nearly all, cost no move.
  [[nodiscard]] std::size_t begin(std::uint32_t field);
  void end(std::size_t begun);

  std::string& out() { return out_; }

 private:
  void put_varint(std::uint64_t value) {
    if (value < 0x80) {
      out_.push_back(static_cast<char>(value));
    } else {
      put_long_varint(value);
    }
  }
  void put_long_varint(std::uint64_t value);

  std::string& out_;
};

}  // namespace weir::base
