#include "base/content_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace weir::base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ContentLines, SkipsCommentsAndEmptyLinesAndTrimsTheRest) {
  EXPECT_THAT(content_lines("# keys\n\n  one \r\n\ttwo # not a comment\n   # indented\n#\nthree"),
              ElementsAre("one", "two # not a comment", "three"));
  EXPECT_THAT(content_lines(""), IsEmpty());
  EXPECT_THAT(content_lines("\n \r\n\t\n"), IsEmpty());
}

}  // namespace
}  // namespace weir::base
