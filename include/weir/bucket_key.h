// BucketKey: a keyed 128-bit hash of rule and subject. Nothing about the subject can be read from it, so it may be
// stored, logged (its first digits) and counted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace weir {

struct BucketKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const BucketKey&, const BucketKey&) = default;
};

// The first digits of a key, as answers, logs and the command line show it: enough to tell subjects apart and to find
// one again, not to learn who it is.
inline constexpr std::size_t kSubjectDigits = 12;
using SubjectDigits = std::array<char, kSubjectDigits>;
inline SubjectDigits subject_digits(const BucketKey& key) {
  SubjectDigits text{};
  for (std::size_t i = 0; i < kSubjectDigits; ++i) text[i] = "0123456789abcdef"[key.high >> (60 - 4 * i) & 0xf];
  return text;
}

}  // namespace weir
