#include "stores/synced/members.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace weir::synced {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr TimePoint kStart{seconds(1'000)};

class MembersTest : public testing::Test {
 protected:
  // A list that has existed for long enough.
  void learn() {
    beat({.id = 99, .number = 1});
    now_ += kMemberTtl;
  }
  Grant beat(const Beat& beat) { return list_.beat(beat, now_); }

  MemberList list_;
  TimePoint now_ = kStart;
};

TEST_F(MembersTest, ANewListGivesNothingBeforeTheOldOnesWouldHaveBeenForgotten) {
  EXPECT_EQ(beat({.id = 1, .number = 1}).parts, 0U);
  now_ += kMemberTtl - Duration{1};
  EXPECT_EQ(beat({.id = 1, .number = 2}).parts, 0U);
  now_ += Duration{1};
  EXPECT_EQ(beat({.id = 1, .number = 3}).parts, 1U);
}

TEST_F(MembersTest, ANodeThatJoinsHasNoCreditUntilAllHaveSeenIt) {
  beat({.id = 1, .number = 1});
  now_ += kMemberTtl - Duration{1};
  beat({.id = 1, .number = 2});
  now_ += Duration{1};
  EXPECT_EQ(beat({.id = 1, .number = 3}), (Grant{.parts = 1, .nodes = 1}));
  EXPECT_EQ(beat({.id = 2, .number = 1}), (Grant{.parts = 0, .nodes = 2}));
  EXPECT_EQ(beat({.id = 1, .number = 4, .held = 1}).parts, 2U);
  EXPECT_EQ(beat({.id = 2, .number = 2}).parts, 0U) << "the first may not have heard of it";
  EXPECT_EQ(beat({.id = 1, .number = 5, .held = 2}).parts, 2U);
  EXPECT_EQ(beat({.id = 2, .number = 3}).parts, 2U);
}

TEST_F(MembersTest, ABeatThatComesAfterALaterOneIsIgnored) {
  beat({.id = 1, .number = 5});
  EXPECT_EQ(beat({.id = 1, .number = 4, .held = 1}).parts, 0U);
}

TEST(Membership, ACreditLastsFromWhenTheBeatWasSent) {
  Membership node({.id = 1, .settled = nullptr});
  const Beat beat = node.next(kStart);
  EXPECT_EQ(beat.held, 0U);
  node.answered(beat.number, {.parts = 3, .nodes = 3});
  EXPECT_EQ(node.credit().parts(kStart + milliseconds(2'990)), 3U);
  EXPECT_EQ(node.credit().parts(kStart + milliseconds(2'997)), 0U) << "clocks may differ in speed";
  EXPECT_EQ(node.next(kStart + seconds(1)).held, 3U);
  node.answered(beat.number, {.parts = 1, .nodes = 1});
  EXPECT_EQ(node.credit().parts(kStart + seconds(2)), 3U) << "an old answer";
}

TEST(Membership, ANodeSaysThatItUsesASmallerPartWhenAllItsStoresDo) {
  std::uint32_t settled = 1;
  Membership node({.id = 1, .settled = [&settled] { return settled; }});
  node.answered(node.next(kStart).number, {.parts = 2, .nodes = 2});
  EXPECT_EQ(node.next(kStart).held, 1U);
  settled = 2;
  EXPECT_EQ(node.next(kStart).held, 2U);
}

// Nodes come and go, and what is told and answered is lost, late and doubled.
TEST(Membership, PartsNeverAddUpToMoreThanTheWhole) {
  std::mt19937 random(7);
  for (int run = 0; run < 200; ++run) {
    MemberList list;
    std::map<int, std::unique_ptr<Membership>> nodes;
    std::map<int, std::uint32_t> weights;
    TimePoint now = kStart;
    int made = 0;
    for (int step = 0; step < 300; ++step) {
      now += milliseconds(random() % 400);
      if (nodes.size() < 2 || random() % 20 == 0) {
        ++made;
        weights[made] = 1 + static_cast<std::uint32_t>(random() % 3);
        nodes[made] = std::make_unique<Membership>(
            Membership::Options{.id = static_cast<std::uint64_t>(made), .weight = weights[made], .settled = nullptr});
      }
      auto chosen = nodes.begin();
      std::advance(chosen, static_cast<int>(random() % nodes.size()));
      if (random() % 25 == 0) {
        nodes.erase(chosen);
        continue;
      }
      const Beat beat = chosen->second->next(now);
      if (random() % 6 == 0) continue;
      const Grant grant = list.beat(beat, now + milliseconds(1));
      if (random() % 6 == 0) list.beat(beat, now + milliseconds(2));
      if (random() % 6 != 0) chosen->second->answered(beat.number, grant);
      double sum = 0;
      for (const auto& [id, node] : nodes) {
        const std::uint32_t parts = node->credit().parts(now);
        if (parts > 0) sum += static_cast<double>(weights[id]) / parts;
      }
      ASSERT_LE(sum, 1.000001) << "run " << run << ", step " << step;
    }
  }
}

TEST(Membership, OneThatHasLeftHasNoCreditWhateverTheListGrants) {
  Membership membership({.id = 7, .settled = {}});
  const TimePoint now = from_micros(1'000'000);
  membership.answered(membership.next(now).number, {.parts = 2, .nodes = 2});
  EXPECT_EQ(membership.credit().parts(now), 2U);
  const Beat under_way = membership.next(now);
  membership.leave();
  EXPECT_EQ(membership.credit().parts(now), 0U);
  membership.answered(under_way.number, {.parts = 2, .nodes = 2});
  EXPECT_EQ(membership.credit().parts(now), 0U);
}

}  // namespace
}  // namespace weir::synced
