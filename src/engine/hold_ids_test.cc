#include "engine/hold_ids.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace weir::engine {
namespace {

using Use = HoldHandle::Use;
using Words = std::pair<std::uint64_t, std::uint64_t>;

Words words_of(const BucketKey& key) { return {key.high, key.low}; }

HoldHandle handle_of(Use use, std::string_view rule = "exports") {
  HoldHandle handle;
  handle.use = use;
  handle.id = {1, 2};
  handle.token = 3;
  handle.ttl = std::chrono::seconds(30);
  handle.expires = from_micros(5'000'000);
  HeldCharge charge;
  charge.key = {6, 7};
  charge.rule = rule;
  charge.ordinal = 4;
  charge.kind = ChargeKind::lease;
  charge.allowance = make_concurrency({.limit = 10}, std::chrono::seconds(30)).value();
  handle.charges.push_back(charge);
  return handle;
}

TEST(HoldIds, ANamedIdIsTheSameForTheSameQuestionAndNoOther) {
  const HoldIds ids(HashKey{1});
  const std::vector<Attribute> attributes = {{"tenant", "acme"}, {"user", "u"}, {"user", "v"}};
  const auto named = [&](Use use, std::string_view caller, std::string_view id, std::vector<Attribute> of) {
    return words_of(ids.named(use, caller, id, of));
  };
  const Words first = named(Use::lease, "c", "job", attributes);
  EXPECT_EQ(named(Use::lease, "c", "job", attributes), first);
  EXPECT_EQ(named(Use::lease, "c", "job", {attributes[2], attributes[0], attributes[1]}), first)
      << "their order makes no difference";
  const std::set<Words> all = {
      first,
      named(Use::reservation, "c", "job", attributes),
      named(Use::lease, "d", "job", attributes),
      named(Use::lease, "c", "jobs", attributes),
      named(Use::lease, "cj", "ob", attributes),
      named(Use::lease, "c", "job", {attributes[0], attributes[1]}),
      named(Use::lease, "c", "job", {{"tenant", "acme"}, {"user", "u"}, {"user", "w"}}),
      named(Use::lease, "c", "job", {{"tenant", "acme"}, {"users", "u"}, {"user", "v"}}),
      words_of(HoldIds(HashKey{2}).named(Use::lease, "c", "job", attributes)),
  };
  EXPECT_EQ(all.size(), 9U);
}

TEST(HoldIds, TheIdOfACallThatIsMadeOnceIsTheSameEachTime) {
  HoldIds ids(HashKey{1});
  Once once;
  once.id = {8, 9};
  ASSERT_TRUE(once);
  const Words first = words_of(ids.of(Use::lease, once));
  EXPECT_EQ(words_of(ids.of(Use::lease, once)), first);
  EXPECT_NE(words_of(ids.of(Use::reservation, once)), first);
  Once other = once;
  other.id.low = 10;
  EXPECT_NE(words_of(ids.of(Use::lease, other)), first);
  other = once;
  other.id.high = 10;
  EXPECT_NE(words_of(ids.of(Use::lease, other)), first);
  EXPECT_NE(words_of(ids.of(Use::lease, Once())), words_of(ids.of(Use::lease, Once()))) << "others are random";
}

TEST(HoldIds, RandomOnesDifferAlsoBetweenThreadsAndLimiters) {
  constexpr std::size_t kThreads = 3, kLimiters = 6, kEach = 1'000;
  std::deque<HoldIds> limiters;
  for (std::size_t i = 0; i < kLimiters; ++i) limiters.emplace_back(HashKey{1});
  std::vector<std::vector<Words>> made(kThreads);
  std::vector<std::thread> threads;
  for (std::vector<Words>& own : made) {
    threads.emplace_back([&limiters, &own] {
      for (std::size_t i = 0; i < kEach * kLimiters; ++i) own.push_back(words_of(limiters[i % kLimiters].random()));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<Words> all;
  for (const std::vector<Words>& own : made) all.insert(own.begin(), own.end());
  EXPECT_EQ(all.size(), kThreads * kLimiters * kEach);
}

TEST(HoldIds, ARuleLearnsByItsNameAndTheValue) {
  const HoldIds ids(HashKey{1});
  const Estimates::Subject first = ids.learned_by("r", "gpt");
  EXPECT_EQ(ids.learned_by("r", "gpt"), first);
  EXPECT_EQ(ids.learned_by("r", "other").rule, first.rule);
  EXPECT_NE(words_of(ids.learned_by("r", "other").value), words_of(first.value));
  EXPECT_NE(words_of(ids.learned_by("s", "gpt").rule), words_of(first.rule));
  EXPECT_NE(words_of(ids.learned_by("rg", "pt").value), words_of(first.value));
  EXPECT_NE(words_of(ids.learned_by("r", "").value), words_of(first.rule));
}

class HandlesTest : public testing::Test {
 protected:
  // What a text opens as for this use: the rule of its charge, or "refused".
  static std::string opened(HoldIds& ids, std::string_view text, Use use) {
    HandleBytes bytes;
    HoldHandle handle;
    handle.token = 99;
    if (!ids.open(text, use, bytes, handle)) {
      EXPECT_TRUE(handle.charges.empty()) << "nothing of it is left";
      return "refused";
    }
    EXPECT_EQ(handle.token, 3U);
    EXPECT_EQ(handle.charges.size(), 1U);
    return std::string(handle.charges[0].rule);
  }
  HoldIds ids_{HashKey{1}};
  HoldIds other_node_{HashKey{1}};  // opens what it has not sealed itself
  HoldIds other_key_{HashKey{2}};
};

TEST_F(HandlesTest, AreOpenedByEveryNodeWithTheKeyAndForTheirUseOnly) {
  const std::string text = ids_.seal(handle_of(Use::lease));
  for (HoldIds* ids : {&ids_, &other_node_}) {
    EXPECT_EQ(opened(*ids, text, Use::lease), "exports");
    EXPECT_EQ(ids->forged(), 0U);
    EXPECT_EQ(opened(*ids, text, Use::reservation), "refused");
    EXPECT_EQ(ids->forged(), 1U);
  }
  EXPECT_EQ(opened(other_key_, text, Use::lease), "refused");
  EXPECT_EQ(opened(ids_, "", Use::lease), "refused");
  EXPECT_EQ(opened(ids_, text + "A", Use::lease), "refused");
  EXPECT_EQ(opened(ids_, std::string_view(text).substr(1), Use::lease), "refused");
  EXPECT_EQ(ids_.forged(), 4U);
}

TEST_F(HandlesTest, OfTwoKeysHaveAHalfForEach) {
  const std::string own = ids_.seal(handle_of(Use::lease, "own"));
  const std::string other = other_key_.seal(handle_of(Use::lease, "other"));
  const std::string both = own + HoldIds::kSeparator + other;
  EXPECT_EQ(opened(other_node_, both, Use::lease), "own");
  EXPECT_EQ(opened(other_key_, both, Use::lease), "other");
  EXPECT_EQ(opened(other_node_, other + HoldIds::kSeparator + own, Use::lease), "own");
  EXPECT_EQ(opened(other_node_, both, Use::reservation), "refused");
  HoldIds third(HashKey{3});
  EXPECT_EQ(opened(third, both, Use::lease), "refused");
  EXPECT_EQ(third.forged(), 1U) << "a handle is counted once";
}

TEST_F(HandlesTest, LongerThanOneCanBeAreNotLookedAt) {
  const std::string text = ids_.seal(handle_of(Use::lease));
  const std::string filler(kMaxHandle - text.size() - 1, 'A');
  EXPECT_EQ(opened(other_node_, filler + HoldIds::kSeparator + text, Use::lease), "exports");
  EXPECT_EQ(opened(other_node_, "A" + filler + HoldIds::kSeparator + text, Use::lease), "refused");
}

}  // namespace
}  // namespace weir::engine
