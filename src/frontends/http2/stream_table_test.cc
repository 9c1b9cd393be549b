#include "frontends/http2/stream_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir::http2 {
namespace {

TEST(StreamTable, FindsWhatAMapFinds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    StreamTable table;
    std::map<std::int32_t, Stream> model;
    const std::int32_t spread = random() % 2 == 0 ? 2 : 64;
    std::int32_t last = 1;
    for (int step = 0; step < 2000; ++step) {
      const bool insert = model.size() < 200 && random() % 100 < 55;
      if (insert) {
        last += 2 * static_cast<std::int32_t>(1 + random() % static_cast<std::uint64_t>(spread));
        Stream& stream = model[last];
        stream.id = last;
        table.insert(stream);
      } else if (!model.empty()) {
        const auto victim = std::next(model.begin(), static_cast<std::ptrdiff_t>(random() % model.size()));
        table.erase(victim->second);
        model.erase(victim);
      }
      ASSERT_EQ(table.size(), model.size());
      const std::int32_t asked = static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(last + 2)) | 1;
      const auto found = model.find(asked);
      ASSERT_EQ(table.find(asked), found == model.end() ? nullptr : &found->second);
    }
    std::size_t seen = 0;
    table.each([&](Stream& stream) { seen += model.count(stream.id); });
    EXPECT_EQ(seen, model.size());
  }
}

}  // namespace
}  // namespace weir::http2
