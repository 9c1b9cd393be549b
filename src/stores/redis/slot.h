// Slots of a Redis Cluster: which of the 16,384 a hash tag lives in. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::redis {

inline constexpr unsigned kSlotCount = 16384;

// The slot of a key whose hash tag (the part in braces) is `tag`: CRC-16/XMODEM of it.
std::uint16_t slot_of_tag(std::string_view tag);

}  // namespace weir::redis
