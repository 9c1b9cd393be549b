#include "base/paged_id.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

namespace weir::base {
namespace {

TEST(PagedId, ThirtyTwoIdsInARowShareAPageAndNoPlace) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> ids;
  std::set<std::pair<std::uint64_t, std::uint64_t>> pages;
  for (std::uint64_t number = 0; number < 100 * kPlacesPerPage; ++number) {
    const BucketKey id = paged_id_at(12'345, number);
    EXPECT_TRUE(is_paged(id));
    EXPECT_EQ(place_in_page(id), number % kPlacesPerPage);
    EXPECT_EQ(page_of(id), page_of(paged_id_at(12'345, number - number % kPlacesPerPage)));
    ids.insert({id.high, id.low});
    pages.insert({page_of(id).high, page_of(id).low});
  }
  EXPECT_EQ(ids.size(), 100 * kPlacesPerPage);
  EXPECT_EQ(pages.size(), 100u);
}

// The table finds a shard by the first bits of an id.
TEST(PagedId, AnIdBeginsAsItsPageDoes) {
  for (std::uint64_t number = 0; number < 1'000; ++number) {
    const BucketKey id = paged_id_at(7, number);
    EXPECT_EQ(id.high >> 32, page_of(id).high >> 32);
  }
}

TEST(PagedId, OtherIdsAreNotPaged) {
  EXPECT_FALSE(is_paged({1, 2}));
  EXPECT_FALSE(is_paged({paged_id_at(1, 1).high, 0}));
}

}  // namespace
}  // namespace weir::base
