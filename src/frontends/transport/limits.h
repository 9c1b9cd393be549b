// Limits: what one connection may take, in bytes and in time, and how many there may be.
//
// Plain data, constant once a listener has it.
#pragma once

#include <chrono>
#include <cstddef>

#include "weir/time.h"

namespace weir::transport {

struct Limits {
  std::size_t input_bytes = std::size_t{1280} << 10;  // received and not yet consumed by the protocol
  std::size_t output_bytes = std::size_t{256} << 10;  // unsent answers, beyond which nothing more is read
  std::size_t connections = 10'000;                   // at the same time, per listener
  Duration message_timeout = std::chrono::seconds(10);
  Duration idle_timeout = std::chrono::seconds(75);
  Duration write_timeout = std::chrono::seconds(15);  // for what was unsent to be taken by the peer
  // How long a message waits for memory while all that connections may take is taken, before it is turned away; and how
  // long a peer then has to take answers beyond kPressedOutput.
  Duration shortage_timeout = std::chrono::seconds(1);
  Duration shrink_after = std::chrono::seconds(1);  // without a request: then only the smallest buffers are kept
};

// How long a connection that we closed waits for the peer to close too. Closing at once, with bytes of the peer
// unread, would reset the connection and could take our last answer with it.
inline constexpr Duration kLingerTimeout = std::chrono::seconds(2);
// What the peer may still send meanwhile, unread. One that goes on is a flood, and a reset is what it gets.
inline constexpr std::size_t kLingerBytes = std::size_t{4} << 20;

// Unsent answers of one connection beyond which nothing more is read while memory is short.
inline constexpr std::size_t kPressedOutput = std::size_t{16} << 10;

// Buffers above this size are given back when they run empty.
inline constexpr std::size_t kKeptBufferBytes = std::size_t{64} << 10;

}  // namespace weir::transport
