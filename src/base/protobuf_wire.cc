#include "base/protobuf_wire.h"

#include <cstring>

namespace weir::base {
namespace {

constexpr std::size_t kMaxVarintBytes = 10;
constexpr std::size_t kMaxTagBytes = 5;
constexpr std::uint64_t kMaxLength = 0x7fffffff;

WireType type_of(std::uint32_t tag) { return static_cast<WireType>(tag & 7); }

}  // namespace

bool WireReader::next() {
  if (at_ == end_ || failed_) return false;
  if (!read_tag(tag_)) return fail();
  return read_value(tag_, 0) || fail();
}

bool WireReader::read_tag(std::uint32_t& tag) {
  std::uint64_t value = 0;
  const char* const start = at_;
  if (!read_varint(value) || static_cast<std::size_t>(at_ - start) > kMaxTagBytes) return false;
  tag = static_cast<std::uint32_t>(value);
  return tag >> 3 != 0;
}

bool WireReader::read_long_varint(std::uint64_t& value) {
  value = 0;
  for (std::size_t i = 0; i < kMaxVarintBytes && at_ != end_; ++i) {
    const auto byte = static_cast<unsigned char>(*at_++);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << (7 * i);
    if (byte < 0x80) return true;
  }
  return false;
}

bool WireReader::read_value(std::uint32_t tag, int depth) {
  const auto left = static_cast<std::uint64_t>(end_ - at_);
  switch (type_of(tag)) {
    case WireType::varint:
      return read_varint(number_);
    case WireType::bytes: {
      std::uint64_t length = 0;
      if (!read_varint(length) || length > kMaxLength || length > static_cast<std::uint64_t>(end_ - at_)) return false;
      bytes_ = {at_, static_cast<std::size_t>(length)};
      at_ += length;
      return true;
    }
    case WireType::fixed64:
      if (left < 8) return false;
      at_ += 8;
      return true;
    case WireType::fixed32:
      if (left < 4) return false;
      at_ += 4;
      return true;
    case WireType::group:
      return skip_group(tag, depth + 1);
    case WireType::group_end:
      return false;
  }
  return false;
}

bool WireReader::skip_group(std::uint32_t tag, int depth) {
  if (depth > kMaxDepth) return false;
  const std::uint32_t closing = (tag & ~7U) | static_cast<std::uint32_t>(WireType::group_end);
  while (true) {
    std::uint32_t inner = 0;
    if (!read_tag(inner)) return false;
    if (inner == closing) return true;
    if (!read_value(inner, depth)) return false;
  }
}

void WireWriter::put_long_varint(std::uint64_t value) {
  char bytes[kMaxVarintBytes];
  std::size_t count = 0;
  while (value >= 0x80) {
    bytes[count++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  bytes[count++] = static_cast<char>(value);
  out_.append(bytes, count);
}

void WireWriter::put_number(std::uint32_t field, std::uint64_t value) {
  put_varint(varint_field(field));
  put_varint(value);
}

void WireWriter::put_fixed64(std::uint32_t field, std::uint64_t value) {
  put_varint(field << 3 | static_cast<std::uint32_t>(WireType::fixed64));
  for (unsigned shift = 0; shift < 64; shift += 8) out_.push_back(static_cast<char>(value >> shift & 0xff));
}

void WireWriter::put_bytes(std::uint32_t field, std::string_view value) {
  put_varint(bytes_field(field));
  put_varint(value.size());
  out_.append(value);
}

std::size_t WireWriter::begin(std::uint32_t field) {
  put_varint(bytes_field(field));
  out_.push_back('\0');
  return out_.size();
}

void WireWriter::end(std::size_t begun) {
  std::uint64_t length = out_.size() - begun;
  if (length < 0x80) {
    out_[begun - 1] = static_cast<char>(length);
    return;
  }
  char bytes[kMaxVarintBytes];
  std::size_t count = 0;
  while (length >= 0x80) {
    bytes[count++] = static_cast<char>(length | 0x80);
    length >>= 7;
  }
  bytes[count++] = static_cast<char>(length);
  out_[begun - 1] = bytes[0];
  out_.insert(begun, bytes + 1, count - 1);
}

}  // namespace weir::base
