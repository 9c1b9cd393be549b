#include "engine/hold_handle.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/paged_id.h"
#include "engine/hold_ids.h"
#include "keys/sealer.h"
#include "weir/hold.h"

namespace weir::engine {
namespace {

constexpr HashKey kKey = {1, 2, 3, 4, 5};

HoldHandle example() {
  HoldHandle handle;
  handle.id = {0x0123456789abcdef, 0xfedcba9876543210};
  handle.named = true;
  handle.token = 1'800'000'000'000'123;
  handle.ttl = std::chrono::seconds(30);
  handle.expires = from_micros(1'800'000'030'000'000);
  HeldCharge lease;
  lease.key = {1, 2};
  lease.tag = {3, 0};
  lease.rule = "exports-active";
  lease.kind = ChargeKind::lease;
  lease.allowance = make_concurrency({.algorithm = {}, .limit = 3, .window = Duration{0}}, handle.ttl).value();
  handle.charges.push_back(lease);
  for (int i = 0; i < kAlgorithmCount; ++i) {
    HeldCharge bucket;
    bucket.key = {10, static_cast<std::uint64_t>(i)};
    bucket.tag = bucket.key;
    bucket.rule = "r";
    bucket.cost = i * 1'000;
    bucket.binding = i % 2 == 0;
    AllowanceSpec spec;
    spec.algorithm = static_cast<Algorithm>(i);
    spec.limit = i == 3 ? 0 : 100;
    spec.window = std::chrono::seconds(60);
    if (spec.algorithm == Algorithm::gcra) spec.burst = 7;
    if (spec.algorithm == Algorithm::leaky_bucket) spec.queue = 0;
    bucket.allowance = make_allowance(spec).value();
    handle.charges.push_back(bucket);
  }
  return handle;
}

std::string encoded(const HoldHandle& handle) {
  char room[kMaxEncodedHandle];
  return std::string(encode_handle(handle, room));
}

// Refers to `bytes`.
std::optional<HoldHandle> decoded(const std::string& bytes) {
  HoldHandle handle;
  return decode_handle(bytes, handle) ? std::optional(handle) : std::nullopt;
}

bool same(const Allowance& a, const Allowance& b) {
  return a.algorithm == b.algorithm && a.limit == b.limit && a.window == b.window && a.burst == b.burst &&
         a.queue == b.queue && a.buckets == b.buckets && a.rate_units == b.rate_units && a.rate_ticks == b.rate_ticks;
}

TEST(HoldHandle, SaysWhatItWasMadeOf) {
  const HoldHandle made = example();
  const std::string bytes = encoded(made);
  const std::optional<HoldHandle> read = decoded(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->use, made.use);
  EXPECT_EQ(read->id, made.id);
  EXPECT_EQ(read->named, made.named);
  EXPECT_EQ(read->token, made.token);
  EXPECT_EQ(read->ttl, made.ttl);
  EXPECT_EQ(read->expires, made.expires);
  ASSERT_EQ(read->charges.size(), made.charges.size());
  for (std::size_t i = 0; i < made.charges.size(); ++i) {
    const HeldCharge& a = made.charges[i];
    const HeldCharge& b = read->charges[i];
    EXPECT_EQ(a.key, b.key);
    EXPECT_EQ(a.tag.high, b.tag.high);
    EXPECT_EQ(a.rule, b.rule);
    EXPECT_EQ(a.cost, b.cost);
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.binding, b.binding);
    EXPECT_TRUE(same(a.allowance, b.allowance)) << i;
  }
}

TEST(HoldHandle, OfOneRuleIsShort) {
  HoldHandle handle = example();
  handle.charges.resize(1);
  EXPECT_LT(keys::Sealer(kKey).seal(encoded(handle)).size(), 130u);
}

TEST(HoldHandle, TheLongestFitsInAPath) {
  HoldHandle handle = example();
  const std::string rule(64, 'r');
  handle.charges.clear();
  for (std::size_t i = 0; i < kMaxHeldCharges; ++i) {
    HeldCharge charge = example().charges[5];
    charge.tag = {i, i};
    charge.rule = rule;
    charge.cost = kMaxUnits;
    handle.charges.push_back(charge);
  }
  EXPECT_LE(keys::Sealer(kKey).seal(encoded(handle)).size(), kMaxHandle / 2) << "two of them during a rotation";
}

TEST(HoldHandle, KeepsEveryIdTtlAndExpiry) {
  HoldHandle handle;
  for (const BucketKey& id : {base::paged_id_at(0, 0), base::paged_id_at(7, 12'345), BucketKey{7, 8}, BucketKey{}}) {
    for (const std::int64_t ttl_us :
         {kMinHoldTtl.count(), std::int64_t{12'345'678}, kMaxHoldTtl.count() - 1, kMaxHoldTtl.count()}) {
      for (const std::int64_t expires_us : {std::int64_t{0}, std::int64_t{1} << 40, std::int64_t{1} << 53}) {
        for (const std::uint64_t token :
             {std::uint64_t{0}, std::uint64_t{247}, std::uint64_t{248}, std::uint64_t{1} << 53}) {
          handle.id = id;
          handle.ttl = Duration{ttl_us};
          handle.expires = from_micros(expires_us);
          handle.token = token;
          const std::string bytes = encoded(handle);
          const std::optional<HoldHandle> read = decoded(bytes);
          ASSERT_TRUE(read) << ttl_us << ' ' << expires_us << ' ' << token;
          EXPECT_EQ(read->id, id);
          EXPECT_EQ(read->ttl, handle.ttl);
          EXPECT_EQ(read->expires, handle.expires);
          EXPECT_EQ(read->token, token);
        }
      }
    }
  }
}

// Those that a node has sealed lately it knows; others, and all of another node, it opens.
TEST(HoldIds, EveryNodeOpensWhatAnyHasSealed) {
  HoldIds one(kKey);
  HoldIds other(kKey);
  HoldHandle handle;
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i < 4 * RecentHandles::kPlaces; ++i) {
    handle = example();
    handle.id = one.random();
    handle.token = i;
    handle.charges.resize(i % 4);
    texts.push_back(one.seal(handle));
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (HoldIds* const node : {&one, &other}) {
      HandleBytes bytes;
      HoldHandle opened;
      ASSERT_TRUE(node->open(texts[i], HoldHandle::Use::lease, bytes, opened));
      EXPECT_EQ(opened.token, i);
      EXPECT_EQ(opened.charges.size(), i % 4);
      HoldHandle none;
      EXPECT_FALSE(node->open(texts[i], HoldHandle::Use::reservation, bytes, none)) << "for another use";
      std::string forged = texts[i];
      forged[i % forged.size()] = forged[i % forged.size()] == 'A' ? 'B' : 'A';
      none = HoldHandle();
      EXPECT_FALSE(node->open(forged, HoldHandle::Use::lease, bytes, none));
    }
  }
  EXPECT_EQ(one.forged(), 2 * texts.size());
}

TEST(HoldHandle, BytesThatAreNoHandleAreRefused) {
  const std::string good = encoded(example());
  EXPECT_FALSE(decoded(""));
  for (std::size_t i = 1; i < good.size(); ++i) static_cast<void>(decoded(good.substr(0, i)));
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = good;
    for (int i = 0; i < 3; ++i) changed[random() % changed.size()] = static_cast<char>(random());
    const std::optional<HoldHandle> read = decoded(changed);
    if (!read) continue;
    EXPECT_LE(read->ttl, kMaxHoldTtl);
    for (const HeldCharge& charge : read->charges) {
      EXPECT_GE(charge.cost, 0);
      EXPECT_LE(charge.cost, kMaxUnits);
      EXPECT_LE(charge.allowance.limit, kMaxUnits);
    }
  }
}

}  // namespace
}  // namespace weir::engine
