#include "keys/aes.h"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weir::keys {
namespace {

static_assert(std::endian::native == std::endian::little, "blocks are read as they lie in memory");

using Bytes = std::array<std::uint8_t, 16>;

constexpr std::uint8_t twice(std::uint8_t byte) { return static_cast<std::uint8_t>(byte << 1U ^ (byte >> 7U) * 0x1bU); }

// The substitution of FIPS 197, section 5.1.1: the inverse in the field, then an affine map.
constexpr std::array<std::uint8_t, 256> kSubstitutes = [] {
  std::array<std::uint8_t, 256> table{};
  std::uint8_t power = 1;    // of the generator 3
  std::uint8_t inverse = 1;  // of that
  do {
    power = static_cast<std::uint8_t>(power ^ twice(power));
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 1U);
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 2U);
    inverse = static_cast<std::uint8_t>(inverse ^ inverse << 4U);
    if ((inverse & 0x80U) != 0) inverse ^= 0x09;
    table[power] = static_cast<std::uint8_t>(inverse ^ std::rotl(inverse, 1) ^ std::rotl(inverse, 2) ^
                                             std::rotl(inverse, 3) ^ std::rotl(inverse, 4) ^ 0x63U);
  } while (power != 1);
  table[0] = 0x63;
  return table;
}();

Bytes bytes_of(const AesBlock& block) {
  Bytes bytes;
  std::memcpy(bytes.data(), &block, bytes.size());
  return bytes;
}

AesBlock block_of(const Bytes& bytes) {
  AesBlock block;
  std::memcpy(&block, bytes.data(), bytes.size());
  return block;
}

// SubBytes and ShiftRows. The block is four columns of four bytes.
Bytes substitute_and_shift(const Bytes& state) {
  Bytes out{};
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = kSubstitutes[state[(i + 4 * (i % 4)) % 16]];
  return out;
}

Bytes mix_columns(const Bytes& state) {
  Bytes out{};
  for (std::size_t column = 0; column < 16; column += 4) {
    for (std::size_t row = 0; row < 4; ++row) {
      const auto at = [&](std::size_t next) { return state[column + (row + next) % 4]; };
      out[column + row] = static_cast<std::uint8_t>(twice(at(0)) ^ twice(at(1)) ^ at(1) ^ at(2) ^ at(3));
    }
  }
  return out;
}

AesBlock block_at(const char* bytes) {
  AesBlock block;
  std::memcpy(&block, bytes, sizeof(block));
  return block;
}

// The block with this number and the 14 bytes from there on.
AesBlock numbered(std::size_t number, const char* bytes) {
  std::uint64_t first = 0;
  AesBlock block;
  std::memcpy(&first, bytes, 8);
  std::memcpy(&block.high, bytes + 6, 8);
  block.low = first << 16U | number;
  return block;
}

#if defined(__x86_64__)

bool has_instructions() { return __builtin_cpu_supports("aes") != 0; }

// Blocks do not depend on each other: the processor works on all of them at the same time. In registers, because a
// block that was written in parts and is read as a whole waits for its way through memory.
constexpr std::size_t kAtOnce = 4;

#define WEIR_AES [[gnu::target("aes")]]

WEIR_AES inline __m128i load(const AesBlock* block) { return _mm_load_si128(reinterpret_cast<const __m128i*>(block)); }
WEIR_AES inline __m128i from_words(const AesBlock& block) {
  return _mm_set_epi64x(static_cast<std::int64_t>(block.high), static_cast<std::int64_t>(block.low));
}

template <std::size_t kBlocks>
WEIR_AES inline void encrypt_blocks(__m128i (&states)[kBlocks], const AesBlock* keys, std::size_t rounds) {
  for (__m128i& state : states) state = _mm_xor_si128(state, load(keys));
  for (std::size_t round = 1; round < rounds; ++round) {
    const __m128i key = load(keys + round);
    for (__m128i& state : states) state = _mm_aesenc_si128(state, key);
  }
  for (__m128i& state : states) state = _mm_aesenclast_si128(state, load(keys + rounds));
}

WEIR_AES AesBlock encrypt_one(const AesBlock& block, const AesBlock* keys, std::size_t rounds) {
  __m128i states[1] = {from_words(block)};
  encrypt_blocks(states, keys, rounds);
  AesBlock out;
  _mm_store_si128(reinterpret_cast<__m128i*>(&out), states[0]);
  return out;
}

WEIR_AES AesBlock sum_numbered(const char* bytes, std::size_t size, const AesBlock* keys, std::size_t rounds) {
  __m128i sum = _mm_setzero_si128();
  std::size_t number = 0;
  for (std::size_t at = 0; at < size;) {
    __m128i states[kAtOnce];
    std::size_t count = 0;
    // What is beyond the end is encrypted like the last block, and not counted.
    for (__m128i& state : states) {
      state = from_words(numbered(number, bytes + at));
      if (at >= size) continue;
      ++count;
      ++number;
      at = at + Aes128::kBytesPerNumber < size ? at + Aes128::kBytesPerNumber : size;
    }
    encrypt_blocks(states, keys, rounds);
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      if (i < count) sum = _mm_xor_si128(sum, states[i]);
    }
  }
  AesBlock out;
  _mm_store_si128(reinterpret_cast<__m128i*>(&out), sum);
  return out;
}

WEIR_AES void xor_stream(const AesBlock& first, char* bytes, std::size_t size, const AesBlock* keys,
                         std::size_t rounds) {
  for (std::size_t at = 0, number = 0; at < size;) {
    __m128i states[kAtOnce];
    for (__m128i& state : states) state = from_words({first.low ^ number++, first.high});
    encrypt_blocks(states, keys, rounds);
    for (std::size_t i = 0; i < kAtOnce && at < size; ++i, at += sizeof(AesBlock)) {
      auto* const place = reinterpret_cast<__m128i*>(bytes + at);
      _mm_storeu_si128(place, _mm_xor_si128(_mm_loadu_si128(place), states[i]));
    }
  }
}

#undef WEIR_AES

#else

bool has_instructions() { return false; }
AesBlock encrypt_one(const AesBlock& block, const AesBlock*, std::size_t) { return block; }
AesBlock sum_numbered(const char*, std::size_t, const AesBlock*, std::size_t) { return {}; }
void xor_stream(const AesBlock&, char*, std::size_t, const AesBlock*, std::size_t) {}

#endif

}  // namespace

Aes128::Aes128(const std::array<std::uint8_t, 16>& key, Instructions use)
    : instructions_(use == Instructions::if_possible && has_instructions()) {
  round_keys_[0] = block_of(key);
  std::uint8_t constant = 1;
  for (std::size_t round = 1; round <= kRounds; ++round) {
    const Bytes before = bytes_of(round_keys_[round - 1]);
    Bytes next{};
    for (std::size_t i = 0; i < next.size(); ++i) {
      const std::uint8_t last = i < 4 ? kSubstitutes[before[12 + (i + 1) % 4]] : next[i - 4];
      next[i] = static_cast<std::uint8_t>(before[i] ^ last ^ (i == 0 ? constant : 0));
    }
    constant = twice(constant);
    round_keys_[round] = block_of(next);
  }
}

AesBlock Aes128::encrypt(const AesBlock& block) const {
  if (instructions_) return encrypt_one(block, round_keys_.data(), kRounds);
  Bytes state = bytes_of(block ^ round_keys_[0]);
  for (std::size_t round = 1; round < kRounds; ++round) {
    state = bytes_of(block_of(mix_columns(substitute_and_shift(state))) ^ round_keys_[round]);
  }
  return block_of(substitute_and_shift(state)) ^ round_keys_[kRounds];
}

AesBlock Aes128::sum_of(const char* bytes, std::size_t size) const {
  if (instructions_) return sum_numbered(bytes, size, round_keys_.data(), kRounds);
  AesBlock sum;
  for (std::size_t at = 0, number = 0; at < size; at += kBytesPerNumber, ++number) {
    sum = sum ^ encrypt(numbered(number, bytes + at));
  }
  return sum;
}

void Aes128::apply_stream(const AesBlock& first, char* bytes, std::size_t size) const {
  if (instructions_) return xor_stream(first, bytes, size, round_keys_.data(), kRounds);
  for (std::size_t at = 0, number = 0; at < size; at += sizeof(AesBlock), ++number) {
    const AesBlock block = block_at(bytes + at) ^ encrypt({first.low ^ number, first.high});
    std::memcpy(bytes + at, &block, sizeof(block));
  }
}

}  // namespace weir::keys
