#include "stores/redis/stored_bucket.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::redis {
namespace {

std::string number(std::int64_t value, std::size_t bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
  return out;
}

constexpr std::int64_t kAt = 1'800'000'000'000'000;

TEST(StoredBucket, NamesHaveANamespaceOrNone) {
  const std::string hash(32, 'a');
  const std::string plain_key = "w1:{0123456789abcdef}:search.v1:" + hash;
  const auto plain = parse_bucket_name(plain_key);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->name_space, "");
  EXPECT_EQ(plain->tag, "0123456789abcdef");
  EXPECT_EQ(plain->rule, "search.v1");
  EXPECT_EQ(plain->hash, hash);
  const std::string named_key = "w1:prod-eu:{0123456789abcdef}:r:" + hash;
  const auto named = parse_bucket_name(named_key);
  ASSERT_TRUE(named);
  EXPECT_EQ(named->name_space, "prod-eu");
  for (const std::string& bad :
       std::vector<std::string>{"", "w1:", "w1:hash-key", "w2:{0123456789abcdef}:r:" + hash, "w1:{0123}:r:" + hash,
                                "w1:{0123456789abcdef}::" + hash, "w1:{0123456789abcdeX}:r:" + hash,
                                "w1:{0123456789abcdef}:r:" + hash.substr(1), "w1:prod{0123456789abcdef}:r:" + hash}) {
    EXPECT_FALSE(parse_bucket_name(bad)) << bad;
  }
}

TEST(StoredBucket, PenaltiesTellTheirStepAndEnd) {
  const std::string value =
      "P" + number(kAt, 7) + number(kAt - 5, 7) + number(2, 2) + number(3, 1) + number(kAt + 9, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->kind, ChargeKind::penalty);
  EXPECT_EQ(micros(bucket->penalty.until), kAt);
  EXPECT_EQ(bucket->penalty.strikes, 2);
  EXPECT_EQ(bucket->penalty.step, 3);
  EXPECT_EQ(micros(bucket->idle_from), kAt + 9);
  EXPECT_FALSE(parse_stored_bucket(value.substr(1)));
  EXPECT_FALSE(parse_stored_bucket(value + "x"));
}

TEST(StoredBucket, DifferentValuesAreCounted) {
  const std::string value = "D" + number(kAt, 7) + number(77, 7) + number(kAt + 5, 7) + number(78, 7) +
                            number(kAt + 6, 7) + number(kAt + 6, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_TRUE(bucket->distinct);
  EXPECT_EQ(bucket->used, 2);
  EXPECT_EQ(micros(bucket->entries[1].at), kAt + 6);
  EXPECT_FALSE(parse_stored_bucket(value.substr(0, value.size() - 1)));
}

TEST(StoredBucket, ABucketCanHaveReservations) {
  const std::string plain = "F" + number(6, 5) + number(kAt, 7);
  const std::string head = std::string("H\1F", 3) + number(2, 2) + number(kAt + 5, 7) + number(kAt + 9, 7);
  const std::string columns = std::string(16, '\1') + std::string(16, '\2') + number(4, 5) + number(2, 5) +
                              std::string(2, '\0') + number(4, 6) + number(6, 6) + number(kAt, 7) + number(kAt, 7) +
                              number(kAt + 5, 7) + number(kAt + 9, 7);
  const auto bucket = parse_stored_bucket(head + columns + plain + number(kAt + 9, 7));
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->algorithm, Algorithm::fixed_window);
  EXPECT_EQ(bucket->used, 6);
  ASSERT_EQ(bucket->holds.size(), 2U);
  EXPECT_EQ(bucket->holds[1].id, "02020202020202020202020202020202");
  EXPECT_EQ(bucket->holds[1].units, 2);
  EXPECT_EQ(bucket->holds[1].reserved, from_micros(kAt));
  EXPECT_EQ(bucket->holds[1].expires, from_micros(kAt + 9));
  const auto unused = parse_stored_bucket(head + columns + number(kAt + 9, 7));
  ASSERT_TRUE(unused) << "nothing was charged yet";
  EXPECT_EQ(unused->used, 0);
  EXPECT_EQ(unused->idle_from, from_micros(kAt + 9));
  EXPECT_FALSE(parse_stored_bucket(head + columns.substr(1) + number(kAt + 9, 7)));
  EXPECT_FALSE(parse_stored_bucket(head + columns + "C" + plain.substr(1) + number(kAt + 9, 7)));
}

TEST(StoredBucket, AReservationHasARecord) {
  const std::string value = std::string("R\1\1", 3) + number(9, 5) + number(kAt, 7) + number(0, 7) + number(60, 5) +
                            number(4, 5) + number(5, 5) + number(0, 5) + number(0, 5) + number(kAt + 60, 7);
  const auto record = parse_stored_bucket(value);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->kind, ChargeKind::record);
  EXPECT_EQ(record->record.state, ReservationState::committed);
  EXPECT_EQ(record->used, 9);
  EXPECT_EQ(record->record.actual, 4);
  EXPECT_EQ(record->record.returned, 5);
  EXPECT_FALSE(parse_stored_bucket(value + "x"));
}

TEST(StoredBucket, ADebtIsRoundedUp) {
  const std::string value =
      "T" + number(4, 6) + number(1, 7) + number(500'000, 7) + number(kAt, 7) + number(kAt + 9, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->algorithm, Algorithm::token_bucket);
  EXPECT_EQ(bucket->used, 5);
  EXPECT_EQ(bucket->last_change, from_micros(kAt));
  EXPECT_EQ(bucket->idle_from, from_micros(kAt + 9));
  EXPECT_FALSE(parse_stored_bucket(value + "x"));
}

TEST(StoredBucket, ALogListsItsTimes) {
  const std::string value = "L" + number(kAt + 5, 7) + number(3, 5) + number(kAt, 7) + number(1, 3) +
                            number(kAt + 5, 7) + number(2, 3) + number(kAt + 60, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->used, 3);
  ASSERT_EQ(bucket->entries.size(), 2U);
  EXPECT_EQ(bucket->entries[1].at, from_micros(kAt + 5));
  EXPECT_EQ(bucket->entries[1].units, 2);
}

TEST(StoredBucket, SubBucketsComeInOrderOfTime) {
  // Width 10 µs, 3 sub-buckets; the last change is in index 7, which is at place 1.
  const std::string value =
      "B" + number(10, 7) + number(3, 2) + number(75, 7) + number(4, 5) + number(9, 5) + number(0, 5) + number(100, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->used, 13);
  ASSERT_EQ(bucket->entries.size(), 2U);
  EXPECT_EQ(bucket->entries[0].at, from_micros(60));
  EXPECT_EQ(bucket->entries[0].units, 4);
  EXPECT_EQ(bucket->entries[1].at, from_micros(70));
  EXPECT_EQ(bucket->width, Duration(10));
}

TEST(StoredBucket, LeasesAreListed) {
  const std::string head = "S" + number(1, 1) + number(3, 3) + number(9, 7) + number(kAt, 7) + number(kAt + 30, 7) +
                           number(kAt + 40, 7) + number(2, 2) + number(1, 1);
  const std::string value = head + std::string(15, '\0') + "\x1f" + number(kAt + 30, 7) + number(8, 7) + number(3, 2) +
                            number(0, 5) + number(kAt + 40, 7);
  const auto bucket = parse_stored_bucket(value);
  ASSERT_TRUE(bucket);
  EXPECT_EQ(bucket->kind, ChargeKind::lease);
  EXPECT_EQ(bucket->used, 3);
  EXPECT_EQ(bucket->idle_from, from_micros(kAt + 40));
  ASSERT_EQ(bucket->leases.size(), 1U);
  EXPECT_EQ(bucket->leases[0].id, std::string(30, '0') + "1f");
  EXPECT_EQ(bucket->leases[0].expires, from_micros(kAt + 30));
  EXPECT_EQ(bucket->leases[0].token, 8);
  EXPECT_EQ(bucket->leases[0].units, 3);
  EXPECT_FALSE(parse_stored_bucket(value + "x"));
}

TEST(StoredBucket, AnyBytesAreSafe) {
  std::mt19937 random(20'261'118);
  for (int i = 0; i < 20'000; ++i) {
    std::string value(random() % 80, '\0');
    for (char& c : value) c = static_cast<char>(random());
    if (!value.empty()) value[0] = "TGKFCLBSx"[random() % 9];
    const auto bucket = parse_stored_bucket(value);
    if (bucket) {
      EXPECT_GE(bucket->used, 0);
    }
  }
}

}  // namespace
}  // namespace weir::redis
