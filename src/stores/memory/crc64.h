// CRC-64/XZ: the polynomial of ECMA-182, reflected. Finds every single error burst of up to 64 bits, and any other
// damage with all but one chance in 2^64. Not a defence against forgery.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::memory {

constexpr std::array<std::uint64_t, 256> make_crc64_table() {
  constexpr std::uint64_t kPolynomial = 0xC96C5795D7870F42;
  std::array<std::uint64_t, 256> table{};
  for (std::uint64_t i = 0; i < table.size(); ++i) {
    std::uint64_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? (value >> 1) ^ kPolynomial : value >> 1;
    table[i] = value;
  }
  return table;
}

class Crc64 {
 public:
  void update(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      state_ = kTable[(state_ ^ static_cast<std::uint64_t>(byte)) & 0xff] ^ (state_ >> 8);
    }
  }
  std::uint64_t value() const { return ~state_; }

 private:
  static constexpr std::array<std::uint64_t, 256> kTable = make_crc64_table();

  std::uint64_t state_ = ~std::uint64_t{0};
};

}  // namespace weir::memory
