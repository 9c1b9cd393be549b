// Spreads what many nodes would otherwise do at the same moment. Not for secrets.
#pragma once

#include <chrono>
#include <cstdint>

namespace weir::redis {

// One step of SplitMix64; advances `state`.
inline std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t value = (state += 0x9e3779b97f4a7c15U);
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// Between half of `delay` and all of it.
inline std::chrono::microseconds jittered(std::chrono::microseconds delay, std::uint64_t& state) {
  const auto half = static_cast<std::uint64_t>(delay.count() / 2);
  return std::chrono::microseconds(static_cast<std::int64_t>(half + next_random(state) % (half + 1)));
}

}  // namespace weir::redis
