// Short texts as two machine words, for tables that are asked several times per check.
//
// Together with its length, the first and last eight bytes say everything about a text of at most 16 bytes, so most
// names and values are compared without a loop. The hash is not keyed: the tables that use it are filled from rules
// only, and what a stranger asks for cannot make their chains longer.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weir::rules {

struct TextWords {
  static constexpr std::size_t kWhole = 16;

  std::uint64_t first = 0;
  std::uint64_t last = 0;

  explicit TextWords(std::string_view text) {
    const char* p = text.data();
    const std::size_t n = text.size();
    if (n >= 8) {
      first = load<std::uint64_t>(p);
      last = load<std::uint64_t>(p + n - 8);
    } else if (n >= 4) {
      first = load<std::uint32_t>(p);
      last = load<std::uint32_t>(p + n - 4);
    } else if (n > 0) {
      const auto byte = [p](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(p[i])}; };
      first = byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16;
    }
  }

  template <typename Word>
  static Word load(const char* from) {
    Word word;
    std::memcpy(&word, from, sizeof word);
    return word;
  }

  // Cheaper, and blind to the middle of a text longer than kWhole.
  std::uint64_t hash_short(std::size_t length) const {
    const std::uint64_t h = (first ^ std::rotl(last, 23) ^ length) * kOdd1;
    return h ^ h >> 32;
  }

  // Different for different (salt, text) with the likelihood of a 64-bit hash; `text` is the one of the constructor.
  std::uint64_t hash(std::string_view text, std::uint64_t salt) const {
    std::uint64_t h = mix(salt + text.size() * kOdd1, first);
    if (text.size() > kWhole) [[unlikely]] {
      for (std::size_t i = 8; i + 8 < text.size(); i += 8) h = mix(h, load<std::uint64_t>(text.data() + i));
    }
    h = mix(h, last);
    return h ^ h >> 32;
  }

 private:
  static constexpr std::uint64_t kOdd1 = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t kOdd2 = 0xd6e8feb86659fd93;

  static std::uint64_t mix(std::uint64_t h, std::uint64_t word) { return std::rotl((h ^ word) * kOdd2, 29) + kOdd1; }
};

}  // namespace weir::rules
