#include "ledger/gate/usage_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/support/temporary_folder.h"

namespace weir::ledger {
namespace {

UsageBatch::Record spent(const std::string& subject, std::int64_t units, std::int64_t without = 0) {
  UsageBatch::Record record;
  record.account = {"exports", subject, "2026-03"};
  record.spent = units;
  record.without = without;
  return record;
}

class UsageLogTest : public testing::Test {
 protected:
  UsageLog open() {
    Result<UsageLog> log = UsageLog::open(folder_.path() / "usage", "n1");
    EXPECT_TRUE(log.ok());
    return std::move(log).value();
  }
  std::filesystem::path file(const std::string& name) { return folder_.path() / "usage" / name; }

  rules::TemporaryFolder folder_;
};

TEST_F(UsageLogTest, GivesBackAfterACrashWhatWasAppendedAsOneBatchForEachSegment) {
  {
    UsageLog log = open();
    log.begin_epoch(7);
    ASSERT_TRUE(log.append({spent("tenant=a", 3), spent("tenant=b c", 1)}).ok());
    ASSERT_TRUE(log.append({spent("tenant=a", 4, 2)}).ok());
    ASSERT_TRUE(log.close_segment().has_value());
    ASSERT_TRUE(log.append({spent("tenant=a", 5)}).ok());
  }
  const auto left = open().leftovers();
  ASSERT_TRUE(left.ok());
  ASSERT_EQ(left.value().size(), 2U);
  const UsageSegment& first = left.value()[0];
  EXPECT_EQ(first.node, "n1");
  EXPECT_EQ(first.epoch, 7);
  EXPECT_EQ(first.seq, 1);
  ASSERT_EQ(first.records.size(), 2U);
  EXPECT_EQ(first.records[0].spent, 7);
  EXPECT_EQ(first.records[0].without, 2);
  EXPECT_EQ(first.records[1].account.subject, "tenant=b c");
  EXPECT_EQ(left.value()[1].seq, 2);
}

TEST_F(UsageLogTest, KeepsTheTermsOfAnAccountThatMayNotExist) {
  UsageBatch::Record record = spent("tenant=a", 0, 5);
  record.terms =
      Terms{record.account, "ac,me \n", from_micros(1), from_micros(2), 10, from_micros(3), 4, true, {5, 10}};
  {
    UsageLog log = open();
    log.begin_epoch(1);
    ASSERT_TRUE(log.append({record}).ok());
  }
  const auto left = open().leftovers();
  ASSERT_TRUE(left.ok());
  ASSERT_EQ(left.value().size(), 1U);
  EXPECT_EQ(left.value()[0].records[0].terms, record.terms);
}

TEST_F(UsageLogTest, LeavesOutAGroupThatWasCutAtAnyByte) {
  {
    UsageLog log = open();
    log.begin_epoch(1);
    ASSERT_TRUE(log.append({spent("tenant=a", 3)}).ok());
    ASSERT_TRUE(log.append({spent("tenant=a", 100), spent("tenant=b", 7)}).ok());
  }
  std::stringstream whole;
  whole << std::ifstream(file("1-1.usage")).rdbuf();
  const std::string text = whole.str();
  const std::size_t first_group = text.find("tenant=a\n") + 9;
  for (std::size_t cut = first_group; cut < text.size(); ++cut) {
    const std::optional<UsageSegment> segment = parse_segment(text.substr(0, cut));
    ASSERT_TRUE(segment.has_value());
    ASSERT_EQ(segment->records.size(), 1U) << cut;
    ASSERT_EQ(segment->records[0].spent, 3) << cut;
  }
  EXPECT_EQ(parse_segment(text)->records.size(), 2U);
}

TEST_F(UsageLogTest, RefusesWhatTheDiskHasNoRoomFor) {
  std::filesystem::create_directories(folder_.path() / "usage");
  std::filesystem::create_symlink("/dev/full", file("1-1.usage"));
  UsageLog log = open();
  log.begin_epoch(1);
  const Status status = log.append({spent("tenant=a", 3)});
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.failure().message, testing::HasSubstr("No space left"));
}

TEST_F(UsageLogTest, ForgetsASegmentThatTheLedgerHas) {
  UsageLog log = open();
  log.begin_epoch(1);
  ASSERT_TRUE(log.append({spent("tenant=a", 3)}).ok());
  const std::optional<UsageSegment> segment = log.close_segment();
  ASSERT_TRUE(segment.has_value());
  ASSERT_TRUE(UsageLog::remove(*segment).ok());
  EXPECT_TRUE(log.leftovers().value().empty());
  EXPECT_FALSE(log.close_segment().has_value());
}

}  // namespace
}  // namespace weir::ledger
