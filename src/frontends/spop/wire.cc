#include "frontends/spop/wire.h"

#include <limits>

namespace weir::spop {
namespace {

constexpr std::uint8_t kTypeMask = 0x0f;
constexpr std::uint8_t kTrueFlag = 0x10;
constexpr std::uint64_t kOneByte = 240;
constexpr std::uint64_t kMore = 128;

void put_type(std::string& out, ValueType type) { out += static_cast<char>(type); }

}  // namespace

bool Cursor::take(std::size_t size, std::string_view& piece) {
  if (size > bytes_.size()) return false;
  piece = bytes_.substr(0, size);
  bytes_.remove_prefix(size);
  return true;
}

bool Cursor::byte(std::uint8_t& value) {
  std::string_view piece;
  if (!take(1, piece)) return false;
  value = static_cast<std::uint8_t>(piece[0]);
  return true;
}

bool Cursor::uint32(std::uint32_t& value) {
  std::string_view piece;
  if (!take(4, piece)) return false;
  value = 0;
  for (const char c : piece) value = value << 8 | static_cast<std::uint8_t>(c);
  return true;
}

bool Cursor::varint(std::uint64_t& value) {
  std::uint8_t next = 0;
  if (!byte(next)) return false;
  value = next;
  if (value < kOneByte) return true;
  unsigned shift = 4;
  do {
    if (!byte(next)) return false;
    const std::uint64_t part = static_cast<std::uint64_t>(next) << shift;
    // Also refuses a byte with more to come that would need a shift by more than 60.
    if (part >> shift != next || value > std::numeric_limits<std::uint64_t>::max() - part) return false;
    value += part;
    shift += 7;
  } while (next >= kMore);
  return true;
}

bool Cursor::string(std::string_view& value) {
  std::uint64_t size = 0;
  return varint(size) && size <= bytes_.size() && take(static_cast<std::size_t>(size), value);
}

bool Cursor::value(Value& value) {
  std::uint8_t head = 0;
  if (!byte(head)) return false;
  value = {};
  value.type = static_cast<ValueType>(head & kTypeMask);
  switch (value.type) {
    case ValueType::null:
      return true;
    case ValueType::boolean:
      value.number = (head & kTrueFlag) != 0 ? 1 : 0;
      return true;
    case ValueType::int32:
    case ValueType::uint32:
    case ValueType::int64:
    case ValueType::uint64:
      return varint(value.number);
    case ValueType::ipv4:
      return take(4, value.bytes);
    case ValueType::ipv6:
      return take(16, value.bytes);
    case ValueType::text:
    case ValueType::binary:
      return string(value.bytes);
  }
  return false;
}

void put_uint32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xff);
}

void put_varint(std::string& out, std::uint64_t value) {
  if (value < kOneByte) {
    out += static_cast<char>(value);
    return;
  }
  out += static_cast<char>((value & 0xff) | kOneByte);
  value = (value - kOneByte) >> 4;
  while (value >= kMore) {
    out += static_cast<char>((value & 0xff) | kMore);
    value = (value - kMore) >> 7;
  }
  out += static_cast<char>(value);
}

void put_string(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out += text;
}

void put_text_value(std::string& out, std::string_view text) {
  put_type(out, ValueType::text);
  put_string(out, text);
}

void put_uint32_value(std::string& out, std::uint32_t value) {
  put_type(out, ValueType::uint32);
  put_varint(out, value);
}

void put_int64_value(std::string& out, std::int64_t value) {
  put_type(out, ValueType::int64);
  put_varint(out, static_cast<std::uint64_t>(value));
}

}  // namespace weir::spop
