// HTTP/2's frames as bytes (RFC 9113, section 4): a head of nine bytes, then the payload.
//
//   length (24 bits) | type (8) | flags (8) | stream (32, the highest bit means nothing)
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http2 {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
inline constexpr std::size_t kFrameHeadBytes = 9;
// The largest payload that every peer must take, and the largest that we take.
inline constexpr std::size_t kMaxPayload = 16384;

enum class FrameType : std::uint8_t {
  data = 0,
  headers = 1,
  priority = 2,
  rst_stream = 3,
  settings = 4,
  push_promise = 5,
  ping = 6,
  goaway = 7,
  window_update = 8,
  continuation = 9,
};

// Bits of the flags; which of them mean something depends on the type.
inline constexpr std::uint8_t kEndStream = 0x1;
inline constexpr std::uint8_t kAck = 0x1;
inline constexpr std::uint8_t kEndHeaders = 0x4;
inline constexpr std::uint8_t kPadded = 0x8;
inline constexpr std::uint8_t kPriority = 0x20;

enum class Setting : std::uint16_t {
  header_table_size = 1,
  enable_push = 2,
  max_concurrent_streams = 3,
  initial_window_size = 4,
  max_frame_size = 5,
  max_header_list_size = 6,
};

struct FrameHead {
  std::size_t length = 0;
  FrameType type{};  // may be a number that has no name here
  std::uint8_t flags = 0;
  std::int32_t stream = 0;

  bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

// `at` must have as many bytes as the number takes.
inline std::uint32_t read_u16(const char* at) {
  const auto* const bytes = reinterpret_cast<const unsigned char*>(at);
  return static_cast<std::uint32_t>(bytes[0] << 8 | bytes[1]);
}
inline std::uint32_t read_u32(const char* at) { return read_u16(at) << 16 | read_u16(at + 2); }
inline std::int32_t read_u31(const char* at) { return static_cast<std::int32_t>(read_u32(at) & 0x7fffffffU); }

inline FrameHead read_frame_head(const char* at) {
  FrameHead head;
  head.length = read_u32(at) >> 8;
  head.type = static_cast<FrameType>(at[3]);
  head.flags = static_cast<std::uint8_t>(at[4]);
  head.stream = read_u31(at + 5);
  return head;
}

inline void write_u32(char* at, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<char>(value >> shift);
}
inline void append_u16(std::string& out, std::uint32_t value) {
  const char bytes[2] = {static_cast<char>(value >> 8), static_cast<char>(value)};
  out.append(bytes, sizeof bytes);
}
inline void append_u32(std::string& out, std::uint32_t value) {
  char bytes[4];
  write_u32(bytes, value);
  out.append(bytes, sizeof bytes);
}

// Puts the length into a head that was written before it was known.
inline void write_length(char* head, std::size_t length) {
  for (int shift = 16; shift >= 0; shift -= 8) *head++ = static_cast<char>(length >> shift);
}
inline void append_frame_head(std::string& out, std::size_t length, FrameType type, std::uint8_t flags,
                              std::int32_t stream) {
  char bytes[kFrameHeadBytes];
  write_u32(bytes, static_cast<std::uint32_t>(length) << 8 | static_cast<std::uint8_t>(type));
  bytes[4] = static_cast<char>(flags);
  write_u32(bytes + 5, static_cast<std::uint32_t>(stream));
  out.append(bytes, sizeof bytes);
}

}  // namespace weir::http2
