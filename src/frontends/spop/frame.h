// Frames of SPOP 2.0, HAProxy's Stream Processing Offload Protocol: the head of each frame, the handshake and the
// disconnect. Messages are in notify.h and their answers in actions.h.
//
//   frame    length (4 bytes, network order, not counting itself), type (1), flags (4), stream and frame id (varints)
//
// Plain data and functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "frontends/spop/wire.h"

namespace weir::spop {

enum class FrameType : std::uint8_t {
  unset = 0,
  haproxy_hello = 1,
  haproxy_disconnect = 2,
  notify = 3,
  agent_hello = 101,
  agent_disconnect = 102,
  ack = 103,
};

// Why a connection ends: SPOP's status codes.
enum class Farewell : std::uint32_t {
  normal = 0,
  timeout = 2,
  too_big = 3,
  invalid = 4,
  no_version = 5,
  no_max_frame_size = 6,
  no_capabilities = 7,
  unsupported_version = 8,
  bad_max_frame_size = 9,
  fragmentation_not_supported = 10,
};
std::string_view farewell_text(Farewell code);

inline constexpr std::size_t kLengthBytes = 4;
inline constexpr std::uint32_t kMaxFrameBytes = 16'384;  // unless set otherwise
inline constexpr std::uint32_t kMinFrameBytes = 256;     // a peer that wants less cannot be served
inline constexpr std::uint32_t kFinal = 1;               // the flag of a frame that is not a fragment

struct Frame {
  FrameType type = FrameType::unset;
  std::uint32_t flags = 0;
  std::uint64_t stream = 0;
  std::uint64_t id = 0;
  std::string_view payload;
};

// `bytes` is a frame without its length. False: it is malformed.
bool read_frame(std::string_view bytes, Frame& frame);

// Leaves room for the length and writes the rest of the head; end_frame() fills the length in.
std::size_t begin_frame(std::string& out, FrameType type, std::uint64_t stream, std::uint64_t id);
void end_frame(std::string& out, std::size_t begun);

// What HAProxy's first frame says.
struct Hello {
  std::uint32_t max_frame_bytes = 0;  // the smaller of theirs and ours
  bool pipelining = false;
  bool healthcheck = false;
};
// `most` is the longest frame that we take. Anything but Farewell::normal: the handshake has failed.
Farewell read_hello(const Frame& frame, std::uint32_t most, Hello& hello);

void write_hello(std::string& out, const Hello& hello);
void write_disconnect(std::string& out, Farewell code);

}  // namespace weir::spop
