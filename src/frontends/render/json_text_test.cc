#include "frontends/render/json_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace weir::render {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::min();
const std::string kWritten = "before[-9223372036854775808,7,\"a \\\"b\\\" c\",plain]";

// Everything that a RoomWriter can write, into a string that has already something in it.
std::string write_into(std::size_t room) {
  std::string out = "before";
  RoomWriter writer(out, room);
  writer.literal("[");
  writer.number(kLongest);
  writer.literal(",");
  writer.number(7);
  writer.literal(",");
  writer.json_string("a \"b\" c");
  writer.text(",plain]");
  writer.finish();
  return out;
}

TEST(RoomWriter, GivesBackTheRoomThatIsLeft) { EXPECT_EQ(write_into(500), kWritten); }

// The string's own bytes end where its room ends, so a sanitizer sees a write beyond it.
TEST(RoomWriter, MakesMoreRoomBeforeItWritesWhenTheEstimateWasTooSmall) {
  for (std::size_t room = 0; room <= kWritten.size(); ++room) EXPECT_EQ(write_into(room), kWritten) << room;
}

TEST(RoomWriter, RoomThatIsTooSmallForOnePieceIsMadeForThatPiece) {
  const std::string long_text(10'000, 'x');
  std::string out;
  RoomWriter writer(out, 1);
  writer.text(long_text);
  writer.finish();
  EXPECT_EQ(out, long_text);
}

}  // namespace
}  // namespace weir::render
