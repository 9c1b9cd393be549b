// The list of nodes that share the tolerance of synced rules: the script in Redis grants what its model does.
#include "stores/redis/member_list.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>

#include "stores/redis/redis_store.h"
#include "stores/redis/url.h"
#include "stores/synced/members.h"
#include "tests/redis/redis_servers.h"

namespace weir::redis {
namespace {

using std::chrono::milliseconds;

class MemberListTest : public ::testing::Test {
 protected:
  MemberListTest() {
    auto options = parse_redis_url(server_.url());
    store_ = RedisStore::open(loop_, options.value()).value();
  }

  // A beat that comes before the connection is made is not sent, so it is repeated after a while.
  MemberGrant beat(const synced::Beat& beat, Duration ttl) {
    std::optional<MemberGrant> answer;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (!answer && std::chrono::steady_clock::now() < end) {
      store_->beat({.id = beat.id, .number = beat.number, .weight = beat.weight, .held = beat.held, .ttl = ttl},
                   [&answer](const MemberGrant& grant) { answer = grant; });
      const auto patience = std::chrono::steady_clock::now() + milliseconds(300);
      while (!answer && std::chrono::steady_clock::now() < patience) {
        loop_.restart();
        loop_.run_for(milliseconds(2));
      }
    }
    EXPECT_TRUE(answer) << "Redis does not answer";
    return answer.value_or(MemberGrant{});
  }

  testing::RedisServer server_;
  boost::asio::io_context loop_;
  std::unique_ptr<RedisStore> store_;
};

TEST_F(MemberListTest, ANodeThatJoinsHasNoCreditUntilAllHaveSeenIt) {
  // Long enough for what follows; the list learns for as long, so the first node is granted after that.
  const Duration ttl = milliseconds(400);
  std::uint64_t number = 0;
  MemberGrant first;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (first.parts == 0 && std::chrono::steady_clock::now() < end) first = beat({.id = 1, .number = ++number}, ttl);
  EXPECT_EQ(first.parts, 1U);
  EXPECT_EQ(first.nodes, 1U);
  EXPECT_EQ(beat({.id = 2, .number = 1}, ttl).parts, 0U);
  EXPECT_EQ(beat({.id = 1, .number = ++number, .held = 1}, ttl).parts, 2U);
  EXPECT_EQ(beat({.id = 2, .number = 2}, ttl).parts, 0U) << "the first may not have heard of it";
  EXPECT_EQ(beat({.id = 1, .number = ++number, .held = 2}, ttl).parts, 2U);
  const MemberGrant second = beat({.id = 2, .number = 3}, ttl);
  EXPECT_EQ(second.parts, 2U);
  EXPECT_EQ(second.nodes, 2U);
}

TEST_F(MemberListTest, ANewListGivesNothingAndAnOldBeatNeither) {
  const Duration ttl = std::chrono::seconds(60);
  EXPECT_EQ(beat({.id = 1, .number = 5}, ttl).parts, 0U);
  EXPECT_EQ(beat({.id = 1, .number = 6, .held = 3}, ttl).parts, 3U) << "it keeps what it has";
  EXPECT_EQ(beat({.id = 1, .number = 4, .held = 3}, ttl).parts, 0U);
}

// Within the life of the list nothing depends on the time, so that the script and the model must say the same.
TEST_F(MemberListTest, GrantsWhatTheModelGrants) {
  const Duration ttl = std::chrono::seconds(60);
  synced::MemberList model(ttl);
  const TimePoint now{std::chrono::seconds(1'000)};
  std::uint64_t random = 7;
  for (std::uint64_t step = 1; step <= 300; ++step) {
    random = random * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    const synced::Beat beat{.id = 1 + (random >> 33) % 5,
                            .number = step - (random >> 40) % 4,
                            .weight = static_cast<std::uint32_t>(1 + (random >> 45) % 3),
                            .held = static_cast<std::uint32_t>((random >> 50) % 12)};
    const synced::Grant expected = model.beat(beat, now);
    const MemberGrant granted = this->beat(beat, ttl);
    ASSERT_EQ(granted.parts, expected.parts) << "step " << step;
    ASSERT_EQ(granted.nodes, expected.nodes) << "step " << step;
  }
}

}  // namespace
}  // namespace weir::redis
