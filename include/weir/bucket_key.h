// BucketKey: a keyed 128-bit hash of rule and subject. Nothing about the subject can be read from it, so it may be
// stored, logged (its first digits) and counted.
#pragma once

#include <cstdint>

namespace weir {

struct BucketKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend bool operator==(const BucketKey&, const BucketKey&) = default;
};

}  // namespace weir
