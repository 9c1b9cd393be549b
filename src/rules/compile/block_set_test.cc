#include "rules/compile/block_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace weir::rules {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const TimePoint kNow = from_micros(1'800'000'000'000'000);

Block block_of(std::vector<Condition> when, std::string id = "b") {
  return {.when = std::move(when), .use = std::make_shared<UseMark>(std::move(id))};
}

std::string found_by(const BlockSet& set, std::vector<Attribute> attributes, TimePoint now = kNow) {
  const Block* block = set.find(Request(attributes), now);
  return block == nullptr ? "" : block->use->id();
}

std::shared_ptr<const BlockSet> compiled(std::vector<Block> blocks) {
  auto set = BlockSet::compile(std::move(blocks));
  EXPECT_TRUE(set.ok()) << (set.ok() ? "" : set.failure().message);
  return set.value();
}

TEST(BlockSet, FindsAValueAmongManyOthers) {
  std::vector<Block> blocks;
  for (int i = 0; i < 10'000; ++i)
    blocks.push_back(block_of({{"tenant", {"t" + std::to_string(i)}}}, std::to_string(i)));
  const auto set = compiled(std::move(blocks));
  EXPECT_EQ("7001", found_by(*set, {{"action", "x"}, {"tenant", "t7001"}}));
  EXPECT_EQ("", found_by(*set, {{"tenant", "t10000"}}));
  EXPECT_EQ("", found_by(*set, {{"user", "t7001"}}));
}

TEST(BlockSet, FindsPrefixesOfEveryLengthAndBothFamilies) {
  const auto set = compiled({block_of({{"ip", {"203.0.113.0/24"}}}, "v4"), block_of({{"ip", {"2001:db8::/32"}}}, "v6"),
                             block_of({{"ip", {"198.51.100.7"}}}, "one")});
  EXPECT_EQ("v4", found_by(*set, {{"ip", "203.0.113.255"}}));
  EXPECT_EQ("v4", found_by(*set, {{"ip", "::ffff:203.0.113.9"}}));
  EXPECT_EQ("", found_by(*set, {{"ip", "203.0.114.1"}}));
  EXPECT_EQ("v6", found_by(*set, {{"ip", "2001:db8:ffff::1"}}));
  EXPECT_EQ("one", found_by(*set, {{"ip", "198.51.100.7"}}));
  EXPECT_EQ("one", found_by(*set, {{"ip", "::ffff:198.51.100.7"}}));
  EXPECT_EQ("", found_by(*set, {{"ip", "not an address"}}));
  EXPECT_EQ("", found_by(*set, {{"peer", "203.0.113.1"}}));
}

TEST(BlockSet, ANetworkIsBlockedByAPrefixThatContainsAllOfIt) {
  const auto set = compiled(
      {block_of({{"ip", {"2001:db8:1::/48"}}}, "wide"), block_of({{"ip", {"2001:db8:2:3::4"}}}, "one address")});
  EXPECT_EQ("wide", found_by(*set, {{"ip", "2001:db8:1:2::/64"}}));
  EXPECT_EQ("", found_by(*set, {{"ip", "2001:db8:2:3::/64"}})) << "others share the network";
}

TEST(BlockSet, PrefixesAgreeWithAWalkOverAllOfThem) {
  std::mt19937 random(7);
  const auto address = [&] {
    return "10." + std::to_string(random() % 4) + "." + std::to_string(random() % 256) + "." +
           std::to_string(random() % 256);
  };
  std::vector<Block> blocks;
  std::vector<base::IpPrefix> prefixes;
  for (int i = 0; i < 300; ++i) {
    const std::string text = address() + "/" + std::to_string(8 + random() % 25);
    prefixes.push_back(*base::IpPrefix::parse(text, base::HostBits::ignored));
    if (random() % 8 != 0 || i == 0)
      blocks.push_back(block_of({{"ip", {text}}}));
    else
      prefixes.pop_back();
  }
  // Wide ones would hide the narrow ones.
  const auto is_wide = [](const base::IpPrefix& prefix) { return prefix.bits() < 96 + 18; };
  for (std::size_t i = prefixes.size(); i-- > 0;) {
    if (!is_wide(prefixes[i])) continue;
    prefixes.erase(prefixes.begin() + static_cast<std::ptrdiff_t>(i));
    blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(i));
  }
  const auto set = compiled(std::move(blocks));
  int blocked = 0;
  for (int i = 0; i < 5'000; ++i) {
    const std::string ip = address();
    const bool expected = std::any_of(prefixes.begin(), prefixes.end(), [&](const base::IpPrefix& prefix) {
      return prefix.contains(*base::parse_ip(ip));
    });
    ASSERT_EQ(expected, !found_by(*set, {{"ip", ip}}).empty()) << ip;
    blocked += expected ? 1 : 0;
  }
  EXPECT_GT(blocked, 100);
}

TEST(BlockSet, AllConditionsMustHold) {
  const auto set = compiled({block_of({{"ip", {"10.0.0.0/8"}}, {"action", {"login"}}, {"api_key", {"absent"}}})});
  EXPECT_EQ("b", found_by(*set, {{"ip", "10.1.2.3"}, {"action", "login"}}));
  EXPECT_EQ("", found_by(*set, {{"ip", "10.1.2.3"}, {"action", "search"}}));
  EXPECT_EQ("", found_by(*set, {{"ip", "10.1.2.3"}, {"action", "login"}, {"api_key", "k"}}));
  EXPECT_EQ("", found_by(*set, {{"action", "login"}}));
}

TEST(BlockSet, GlobsExpressionsAndAbsenceWorkWithoutAnythingToFileUnder) {
  const auto set =
      compiled({block_of({{"user_agent", {"Bad*"}}}, "glob"), block_of({{"path", {"~/old/[0-9]+"}}}, "regex"),
                block_of({{"tenant", {"absent"}}, {"kind", {"*"}}}, "absent")});
  EXPECT_EQ("glob", found_by(*set, {{"tenant", "t"}, {"user_agent", "BadBot/1"}}));
  EXPECT_EQ("regex", found_by(*set, {{"tenant", "t"}, {"path", "/old/12"}}));
  EXPECT_EQ("absent", found_by(*set, {{"kind", "x"}}));
  EXPECT_EQ("", found_by(*set, {{"tenant", "t"}, {"kind", "x"}}));
}

TEST(BlockSet, EndsAtItsTime) {
  Block block = block_of({{"tenant", {"acme"}}});
  block.until = kNow + 1s;
  const auto set = compiled({block});
  EXPECT_EQ("b", found_by(*set, {{"tenant", "acme"}}, kNow + 1s - 1us));
  EXPECT_EQ("", found_by(*set, {{"tenant", "acme"}}, kNow + 1s));
}

TEST(BlockSet, KnowsWhatMatchesEverything) {
  EXPECT_TRUE(needs_all({.when = {}}));
  EXPECT_TRUE(needs_all({.when = {{"tenant", {"*"}}}}));
  EXPECT_TRUE(needs_all({.when = {{"ip", {"0.0.0.0/0"}}}}));
  EXPECT_TRUE(needs_all({.when = {{"ip", {"::/0"}}, {"x", {"~.*"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"ip", {"0.0.0.0/0"}}, {"tenant", {"a"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"tenant", {"a*"}}}}));
}

TEST(BlockSet, KnowsExpressionsThatTakeAnything) {
  for (const char* pattern : {"~(?s).*", "~^.*$", "~[\\s\\S]+", "~(.|x)*", "~.{1,}", "**"}) {
    EXPECT_TRUE(needs_all({.when = {{"tenant", {pattern}}}})) << pattern;
    EXPECT_TRUE(needs_all({.when = {{"tenant", {"absent", pattern}}}})) << pattern;
  }
  EXPECT_TRUE(needs_all({.when = {{"tenant", {"a", "~[a-z]*", "~.*"}}}}));
  for (const char* pattern : {"~[a-z0-9]*", "a", "?*x", "~.*bot.*"}) {
    EXPECT_FALSE(needs_all({.when = {{"tenant", {pattern}}}})) << pattern;
  }
}

TEST(BlockSet, KnowsConditionsThatNearlyEveryRequestFulfils) {
  for (const char* pattern : {"absent", "~[^q]*", "~.{1,50}", "?*", "~[^<>]+"}) {
    EXPECT_TRUE(needs_all({.when = {{"tenant", {pattern}}}})) << pattern;
  }
  EXPECT_TRUE(needs_all({.when = {{"zzz", {"absent"}}}}));
  EXPECT_TRUE(needs_all({.when = {{"api_key", {"absent", "guest"}}}})) << "true without a key";
  EXPECT_TRUE(needs_all({.when = {{"path", {"/*"}}}}));
  EXPECT_TRUE(needs_all({.when = {{"method", {"GET", "POST", "PUT", "PATCH", "DELETE"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"path", {"/v1/*"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"method", {"GET", "HEAD"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"api_key", {"absent"}}, {"user_agent", {"BadBot*"}}}}));
  EXPECT_FALSE(needs_all({.when = {{"tenant", {"~absent"}}}}));
}

// Whatever says nothing about a request says nothing together with others of its kind, and one condition that names
// someone is enough.
TEST(BlockSet, ABlockWithoutAConditionThatNarrowsItNeedsAll) {
  const std::vector<std::vector<std::string>> kWide = {
      {"absent"}, {"absent", "a"}, {"*"}, {"~.*"}, {"absent", "b*"}, {"?*"}, {"a", "absent", "c"}};
  const std::vector<std::vector<std::string>> kNarrow = {{"a"}, {"a", "b"}, {"a*"}, {"~a.*"}};
  const std::vector<std::vector<std::string>> kNarrowAddresses = {{"203.0.113.0/24"}, {"2001:db8::/32", "10.0.0.1"}};
  std::mt19937 random(20'261'118);
  const auto choose = [&](const auto& from) { return from[random() % from.size()]; };
  for (int i = 0; i < 2'000; ++i) {
    Block block;
    const std::size_t conditions = random() % 6;
    for (std::size_t j = 0; j < conditions; ++j) {
      const bool address = random() % 4 == 0;
      block.when.push_back(
          address ? Condition{"ip", random() % 2 == 0 ? std::vector<std::string>{"0.0.0.0/0"} : choose(kWide)}
                  : Condition{"x" + std::to_string(j), choose(kWide)});
    }
    ASSERT_TRUE(check_block(block).empty());
    ASSERT_TRUE(needs_all(block)) << "run " << i;
    const bool address = random() % 2 == 0;
    const Condition narrow = address ? Condition{"ip", choose(kNarrowAddresses)} : Condition{"tenant", choose(kNarrow)};
    block.when.insert(block.when.begin() + static_cast<std::ptrdiff_t>(random() % (conditions + 1)), narrow);
    ASSERT_FALSE(needs_all(block)) << "run " << i;
  }
}

TEST(BlockSet, KnowsPrefixesThatAreAllAddressesTogether) {
  const auto all = [](std::vector<std::string> patterns) { return needs_all({.when = {{"ip", std::move(patterns)}}}); };
  EXPECT_TRUE(all({"0.0.0.0/1", "128.0.0.0/1"}));
  EXPECT_TRUE(all({"128.0.0.0/1", "64.0.0.0/2", "0.0.0.0/2", "10.0.0.0/8"}));
  EXPECT_TRUE(all({"::/1", "8000::/1"}));
  EXPECT_TRUE(all({"192.0.2.1", "::/0"}));
  EXPECT_FALSE(all({"0.0.0.0/1", "128.0.0.0/2"}));
  EXPECT_FALSE(all({"0.0.0.0/1", "8000::/1"}));
  EXPECT_FALSE(all({"0.0.0.0/2", "128.0.0.0/1"}));
  EXPECT_FALSE(needs_all({.when = {{"address", {"0.0.0.0/0"}}}}));
}

TEST(BlockSet, RefusesWhatCannotBeRightAndSaysWhere) {
  const auto bad = BlockSet::compile({block_of({{"tenant", {"a"}}}), block_of({{"ip", {"10.0.0.0/33"}}})});
  ASSERT_FALSE(bad.ok());
  EXPECT_THAT(bad.failure().message, HasSubstr("blocks[1].when.ip: is \"10.0.0.0/33\", expected an address"));
  EXPECT_THAT(BlockSet::compile({block_of({{"", {"a"}}})}).failure().message, HasSubstr("name of an attribute"));
}

TEST(BlockSet, BlocksThatMustBeTriedOneByOneAreBounded) {
  std::vector<Block> blocks(kMaxUnfiledBlocks + 1, block_of({{"path", {"/x*"}}}));
  EXPECT_THAT(BlockSet::compile(blocks).failure().message, HasSubstr("1001 blocks without an exact value"));
  blocks.pop_back();
  EXPECT_TRUE(BlockSet::compile(blocks).ok());
}

TEST(BlockSet, ChangesAddReplaceAndRemoveAndLeaveTheRest) {
  const auto set = compiled({block_of({{"tenant", {"a"}}}, "1"), block_of({{"ip", {"203.0.113.0/24"}}}, "2"),
                             block_of({{"tenant", {"c*"}}}, "3")});
  const auto changed = BlockSet::changed(set, {{"1", block_of({{"tenant", {"b"}}}, "1")},
                                               {"2", std::nullopt},
                                               {"3", std::nullopt},
                                               {"4", block_of({{"user", {"d"}}}, "4")},
                                               {"9", std::nullopt}})
                           .value();
  EXPECT_EQ("", found_by(*changed, {{"tenant", "a"}})) << "it is another tenant's now";
  EXPECT_EQ("1", found_by(*changed, {{"tenant", "b"}}));
  EXPECT_EQ("", found_by(*changed, {{"ip", "203.0.113.9"}}));
  EXPECT_EQ("", found_by(*changed, {{"tenant", "c1"}}));
  EXPECT_EQ("4", found_by(*changed, {{"user", "d"}}));
  EXPECT_EQ(0U, changed->unfiled_count());
  EXPECT_EQ("1", found_by(*set, {{"tenant", "a"}})) << "the set itself stays as it is";
  const auto kept = BlockSet::changed(set, {{"4", block_of({{"user", {"d"}}}, "4")}}).value();
  EXPECT_EQ("1", found_by(*kept, {{"tenant", "a"}}));
  EXPECT_EQ("2", found_by(*kept, {{"ip", "203.0.113.9"}}));
  EXPECT_EQ("3", found_by(*kept, {{"tenant", "c1"}}));
  EXPECT_EQ(1U, kept->unfiled_count());
}

TEST(BlockSet, BlocksOverAnotherSetComeInAdditionToIt) {
  const auto below =
      BlockSet::changed(compiled({block_of({{"tenant", {"a"}}}, "1"), block_of({{"tenant", {"b"}}}, "2")}),
                        {{"2", std::nullopt}})
          .value();
  const auto set = BlockSet::over(below, {block_of({{"ip", {"10.0.0.1"}}}, "file-1")}).value();
  EXPECT_EQ("file-1", found_by(*set, {{"ip", "10.0.0.1"}}));
  EXPECT_EQ("1", found_by(*set, {{"tenant", "a"}}));
  EXPECT_EQ("", found_by(*set, {{"tenant", "b"}}));
  EXPECT_EQ(1U, set->blocks().size());
}

TEST(BlockSet, ChangesAreBoundedTogetherWithTheRest) {
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < kMaxUnfiledBlocks; ++i) {
    blocks.push_back(block_of({{"tenant", {std::to_string(i) + "*"}}}, std::to_string(100'000 + i)));
  }
  const auto set = compiled(std::move(blocks));
  const Block more = block_of({{"tenant", {"x*"}}}, "9");
  EXPECT_FALSE(BlockSet::changed(set, {{"9", more}}).ok());
  EXPECT_TRUE(BlockSet::changed(set, {{"9", more}, {"100000", std::nullopt}}).ok());
}

}  // namespace
}  // namespace weir::rules
