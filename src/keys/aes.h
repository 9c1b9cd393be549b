// Aes128: AES with a key of 128 bits (FIPS 197), one direction: what keys/sealer.h is made of.
//
// With the processor's own instructions where it has them, on four blocks at the same time; else as the standard
// describes it, with one table of 256 bytes. Written here because handles are sealed on the way of every lease and
// reservation, and a library's call costs more than the blocks (docs/decisions/0035-sealed-handles.md). The tests
// compare both with OpenSSL.
//
// Immutable, so thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weir::keys {

struct alignas(16) AesBlock {
  std::uint64_t low = 0;  // the first eight bytes, as a little-endian number
  std::uint64_t high = 0;
  friend AesBlock operator^(const AesBlock& a, const AesBlock& b) { return {a.low ^ b.low, a.high ^ b.high}; }
  friend bool operator==(const AesBlock&, const AesBlock&) = default;
};
static_assert(sizeof(AesBlock) == 16);

class Aes128 {
 public:
  enum class Instructions : std::uint8_t { if_possible, none };

  explicit Aes128(const std::array<std::uint8_t, 16>& key, Instructions use = Instructions::if_possible);

  AesBlock encrypt(const AesBlock& block) const;

  // The sum (XOR) of E(number, 14 bytes) over `bytes`, with numbers of 2 bytes from 0 on. Precondition: 16 bytes of 0
  // follow `bytes`, and at most 65,536 numbers are needed.
  AesBlock sum_of(const char* bytes, std::size_t size) const;

  // XORs `bytes` with E(first ^ 0), E(first ^ 1), … Whole blocks: what is beyond `size` in the last one changes too.
  void apply_stream(const AesBlock& first, char* bytes, std::size_t size) const;

  static constexpr std::size_t kBytesPerNumber = 14;

 private:
  static constexpr std::size_t kRounds = 10;

  std::array<AesBlock, kRounds + 1> round_keys_;
  const bool instructions_;
};

}  // namespace weir::keys
