#include "rules/compile/text_words.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_set>

namespace weir::rules {
namespace {

// Of 50,000 random numbers below 131,072 about 41,000 differ.
TEST(TextWords, TextsThatEndInNumbersHavePlacesOfTheirOwn) {
  constexpr std::uint64_t kMask = (1U << 17) - 1;
  for (const std::string front : {"t", "tenant-", "blocked-", "a-long-front-of-a-name-", "10.0."}) {
    std::unordered_set<std::uint64_t> places;
    for (int i = 0; i < 50'000; ++i) {
      const std::string text = front + std::to_string(i);
      places.insert(TextWords(text).hash(text, 3) & kMask);
    }
    EXPECT_GT(places.size(), 38'000U) << front;
  }
}

}  // namespace
}  // namespace weir::rules
