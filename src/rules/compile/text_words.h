// Short texts as two machine words, for tables that are asked several times per check.
//
// Together with its length, the first and last eight bytes say everything about a text of at most 16 bytes, so most
// names and values are compared without a loop. The hash is not keyed: the tables that use it are filled from rules
// only, and what a caller asks for cannot make their chains longer.
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

  // A place in a table, for the text of the constructor. `salt` is small: a name's number. Both halves of the product
  // count, so that every bit of the text does: of texts that end in numbers, too, few share a place.
  std::uint64_t hash(std::string_view text, std::uint64_t salt = 0) const {
    std::uint64_t end = last;
    if (text.size() > kWhole) [[unlikely]]
      end ^= middle(text);
    const Wide product = static_cast<Wide>(first ^ kOdd ^ (salt << 16 | text.size())) * (end ^ kOther);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  static constexpr std::uint64_t kOther = 0xd6e8feb86659fd93;

  static std::uint64_t middle(std::string_view text) {
    std::uint64_t h = 0;
    for (std::size_t i = 8; i + 8 < text.size(); i += 8) h = std::rotl((h ^ load<std::uint64_t>(&text[i])) * kOdd, 29);
    return h;
  }
};

}  // namespace weir::rules
