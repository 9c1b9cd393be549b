#include "stores/redis/slot.h"

#include <array>

namespace weir::redis {
namespace {

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned crc = byte << 8U;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}
constexpr auto kTable = make_table();

}  // namespace

std::uint16_t slot_of_tag(std::string_view tag) {
  unsigned crc = 0;
  for (const char c : tag)
    crc = ((crc << 8U) ^ kTable[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU]) & 0xffffU;
  return static_cast<std::uint16_t>(crc % kSlotCount);
}

}  // namespace weir::redis
