#include "stores/redis/resp.h"

#include <gtest/gtest.h>

#include "stores/redis/encoding.h"
#include "stores/redis/slot.h"

namespace weir::redis {
namespace {

using Progress = ReplyReader::Progress;

TEST(CommandWriter, WritesBulkStrings) {
  std::string out;
  CommandWriter(out, 3).word("SET").word("a\r\nb").number(-12);
  EXPECT_EQ(out, "*3\r\n$3\r\nSET\r\n$4\r\na\r\nb\r\n$3\r\n-12\r\n");
}

TEST(ReplyReader, ReadsEachKind) {
  ReplyReader reader;
  reader.add("+OK\r\n-ERR no\r\n:-5\r\n$3\r\na\r\n\r\n$-1\r\n*-1\r\n*0\r\n");
  const std::pair<ReplyKind, std::string_view> expected[] = {
      {ReplyKind::text, "OK"}, {ReplyKind::error, "ERR no"}, {ReplyKind::integer, ""}, {ReplyKind::text, "a\r\n"},
      {ReplyKind::nil, ""},    {ReplyKind::nil, ""},         {ReplyKind::array, ""}};
  for (const auto& [kind, text] : expected) {
    ASSERT_EQ(reader.next(), Progress::complete);
    EXPECT_EQ(reader.reply()[0].kind, kind);
    EXPECT_EQ(reader.reply()[0].text, text);
  }
  EXPECT_EQ(reader.next(), Progress::incomplete);
}

TEST(ReplyReader, WaitsForTheRestWhereverAReplyIsCut) {
  const std::string whole = "*3\r\n:1\r\n*2\r\n$2\r\nab\r\n+x\r\n-E y\r\n";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    ReplyReader reader;
    reader.add(std::string_view(whole).substr(0, cut));
    ASSERT_EQ(reader.next(), Progress::incomplete) << cut;
    reader.add(std::string_view(whole).substr(cut));
    ASSERT_EQ(reader.next(), Progress::complete) << cut;
    const Reply reply = reader.reply();
    ASSERT_EQ(reply.size(), 6U);
    EXPECT_EQ(reply[0].number, 3);
    EXPECT_EQ(reply[2].number, 2);
    EXPECT_EQ(reply[3].text, "ab");
    EXPECT_TRUE(is_error(reply[5], "E"));
    EXPECT_EQ(reader.next(), Progress::incomplete);
  }
}

TEST(ReplyReader, ForgetsWhatAnotherConnectionSent) {
  ReplyReader reader;
  reader.add("+OK\r\n$5\r\nab");
  ASSERT_EQ(reader.next(), Progress::complete);
  ASSERT_EQ(reader.next(), Progress::incomplete);
  reader.clear();
  EXPECT_EQ(reader.next(), Progress::incomplete);
  reader.add(":7\r\n");
  ASSERT_EQ(reader.next(), Progress::complete);
  EXPECT_EQ(reader.reply()[0].number, 7);
}

TEST(ReplyReader, RefusesWhatIsNotResp) {
  for (const char* text :
       {"hello\r\n", "\r\n", ":x\r\n", "$-2\r\n", "*-2\r\n", "$99999999\r\n", "*300000\r\n", "$2\r\nabc\r\n", ":1\rx",
        "$1x\r\n", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", ":99999999999999999999\r\n",
        "?1\r\n"}) {
    ReplyReader reader;
    reader.add(text);
    EXPECT_EQ(reader.next(), Progress::broken) << text;
  }
}

TEST(ReplyReader, DoesNotCollectWithoutBound) {
  ReplyReader reader;
  const std::string endless(64 * 1024, 'x');
  reader.add("+");
  Progress progress = Progress::incomplete;
  for (std::size_t i = 0; i <= ReplyReader::kMaxReplyBytes / endless.size() && progress == Progress::incomplete; ++i) {
    reader.add(endless);
    progress = reader.next();
  }
  EXPECT_EQ(progress, Progress::broken);
}

TEST(IsError, LooksAtTheWholeFirstWord) {
  EXPECT_TRUE(is_error({ReplyKind::error, 0, "MOVED 1 a:1"}, "MOVED"));
  EXPECT_TRUE(is_error({ReplyKind::error, 0, "ASK"}, "ASK"));
  EXPECT_FALSE(is_error({ReplyKind::error, 0, "ASKED"}, "ASK"));
  EXPECT_FALSE(is_error({ReplyKind::text, 0, "ASK"}, "ASK"));
}

// The values are those of the cluster specification and of CLUSTER KEYSLOT.
TEST(Slot, IsTheOneThatRedisComputes) {
  EXPECT_EQ(slot_of_tag("123456789"), 0x31C3 % kSlotCount);
  EXPECT_EQ(slot_of_tag("foo"), 12182);
  EXPECT_EQ(slot_of_tag(""), 0);
}

}  // namespace
}  // namespace weir::redis
