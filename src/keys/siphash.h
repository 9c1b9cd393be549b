// SipHash with 128 bits of output (Aumasson and Bernstein), fed in 64-bit words: SipHash-1-3 names buckets, SipHash-2-4
// authenticates handles.
//
// Written here rather than taken from a library because a subject comes in pieces, which are hashed in place
// (docs/decisions/0003-keyed-hash.md). The tests check it against OpenSSL's implementation.
//
// A SipHash is a plain value: copy it to fork a common prefix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "weir/options.h"
#include "weir/store.h"

namespace weir::keys {

template <int kCompressing, int kFinishing>
class BasicSipHash {
 public:
  explicit BasicSipHash(const HashKey& key) {
    std::uint64_t k0 = 0;
    std::uint64_t k1 = 0;
    std::memcpy(&k0, key.data(), 8);
    std::memcpy(&k1, key.data() + 8, 8);
    v0_ = 0x736f6d6570736575ULL ^ k0;
    v1_ = 0x646f72616e646f6dULL ^ k1 ^ 0xee;
    v2_ = 0x6c7967656e657261ULL ^ k0;
    v3_ = 0x7465646279746573ULL ^ k1;
  }

  // Adds a text: its whole words, then a word with the rest of its bytes and, on top, its length. Longer texts have
  // kLong there, and their length as a word before it. Read from the end, every word tells how many belong to its text,
  // so no two lists of texts are fed alike.
  void add_framed(std::string_view text) {
    const char* at = text.data();
    std::size_t left = text.size();
    for (; left >= 8; left -= 8, at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      add_word(word);
    }
    std::uint64_t top = text.size();
    if (top >= kLong) [[unlikely]] {
      add_word(top);
      top = kLong;
    }
    add_word(load_rest(at, left) | top << 56);
  }

  void add_word(std::uint64_t word) {
    length_ += 8;
    compress(word);
  }

  // Inline, so that the state stays in registers.
  [[gnu::always_inline]] BucketKey finish() {
    compress(static_cast<std::uint64_t>(length_ & 0xff) << 56);
    v2_ ^= 0xee;
    rounds(kFinishing);
    BucketKey out;
    out.low = v0_ ^ v1_ ^ v2_ ^ v3_;
    v1_ ^= 0xdd;
    rounds(kFinishing);
    out.high = v0_ ^ v1_ ^ v2_ ^ v3_;
    return out;
  }

 private:
  static constexpr std::uint64_t kLong = 0xff;

  // Up to seven bytes as a word, the rest zero; loads of fixed sizes, which need no call of memcpy.
  static std::uint64_t load_rest(const char* at, std::size_t left) {
    const auto byte = [at](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(at[i])}; };
    if (left == 0) return 0;
    if (left < 4) return byte(0) | byte(left / 2) << (8 * (left / 2)) | byte(left - 1) << (8 * (left - 1));
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, at, 4);
    std::memcpy(&last, at + left - 4, 4);
    return first | std::uint64_t{last} << (8 * (left - 4));
  }

  static std::uint64_t rotate(std::uint64_t value, int by) { return (value << by) | (value >> (64 - by)); }

  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0_ += v1_;
      v1_ = rotate(v1_, 13) ^ v0_;
      v0_ = rotate(v0_, 32);
      v2_ += v3_;
      v3_ = rotate(v3_, 16) ^ v2_;
      v0_ += v3_;
      v3_ = rotate(v3_, 21) ^ v0_;
      v2_ += v1_;
      v1_ = rotate(v1_, 17) ^ v2_;
      v2_ = rotate(v2_, 32);
    }
  }

  void compress(std::uint64_t word) {
    v3_ ^= word;
    rounds(kCompressing);
    v0_ ^= word;
  }

  std::uint64_t v0_ = 0;
  std::uint64_t v1_ = 0;
  std::uint64_t v2_ = 0;
  std::uint64_t v3_ = 0;
  std::size_t length_ = 0;  // in bytes
};

using SipHash = BasicSipHash<1, 3>;
using StrongSipHash = BasicSipHash<2, 4>;

}  // namespace weir::keys
