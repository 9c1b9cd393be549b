// Paged ids: ids that a process makes one after the other, 32 of which share a page. A table that keeps what belongs to
// such ids can keep a page in one place; anyone else sees ids that are as good as random.
//
// The high half is a mixed number of the page, with the place in the page in its last bits; the low half is made of the
// high one, which so says all (and handles have only that: engine/hold_handle.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weir/bucket_key.h"

namespace weir::base {

inline constexpr unsigned kPlaceBits = 5;
inline constexpr std::uint64_t kPlacesPerPage = std::uint64_t{1} << kPlaceBits;

namespace paged_id {

// The finalizer of SplitMix64, which gives each word another one.
constexpr std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ word >> 30U) * 0xbf58'476d'1ce4'e5b9;
  word = (word ^ word >> 27U) * 0x94d0'49bb'1331'11eb;
  return word ^ word >> 31U;
}
constexpr std::uint64_t page_part(std::uint64_t high) { return high & ~(kPlacesPerPage - 1); }

}  // namespace paged_id

// The low half of the paged id with this high half.
constexpr std::uint64_t low_half(std::uint64_t high) { return paged_id::mixed(high + 0x9e37'79b9'7f4a'7c15); }
constexpr bool is_paged(const BucketKey& id) { return id.low == low_half(id.high); }

// The id number `number` of a process that has begun at `seed`. Numbers may wrap.
constexpr BucketKey paged_id_at(std::uint64_t seed, std::uint64_t number) {
  const std::uint64_t page = paged_id::mixed(seed + number / kPlacesPerPage);
  const std::uint64_t high = paged_id::page_part(page) | number % kPlacesPerPage;
  return {high, low_half(high)};
}

// Of a paged id.
constexpr BucketKey page_of(const BucketKey& id) {
  const std::uint64_t high = paged_id::page_part(id.high);
  return {high, low_half(high)};
}
constexpr std::size_t place_in_page(const BucketKey& id) {
  return static_cast<std::size_t>(id.high & (kPlacesPerPage - 1));
}

}  // namespace weir::base
