#include "database/postgres/array_text.h"

#include <gtest/gtest.h>

namespace weir::database {
namespace {

TEST(ArrayText, WritesTheNumbersOfAColumn) {
  const Rows rows = {{std::int64_t{1}, "a"}, {std::int64_t{-2}, "b"}, {INT64_MAX, "c"}};
  EXPECT_EQ(array_text(rows, 0), "{1,-2,9223372036854775807}");
}

TEST(ArrayText, QuotesTextsSoThatTheyCannotBeReadAsAnythingElse) {
  const Rows rows = {{"plain"}, {"NULL"}, {""}, {"a,b}"}, {"say \"hi\""}, {"back\\slash"}, {Value{}}};
  EXPECT_EQ(array_text(rows, 0), R"({"plain","NULL","","a,b}","say \"hi\"","back\\slash",NULL})");
}

TEST(ArrayText, IsEmptyWithoutRows) { EXPECT_EQ(array_text({}, 0), "{}"); }

}  // namespace
}  // namespace weir::database
