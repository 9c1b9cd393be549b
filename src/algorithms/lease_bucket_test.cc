// What the store's contract (tests/contract/lease_contract.cc) does not see: the words.
#include "algorithms/lease_bucket.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace weir::algorithms {
namespace {

constexpr std::int64_t kNow = 1'800'000'000'000'000;

class Words {
 public:
  LeaseBucket bucket() { return LeaseBucket({Head(head_), tail_}); }
  LeaseBucket grown(std::int64_t now) {
    tail_.resize(std::max(tail_.size(), bucket().words_for_one_more(now)));
    return bucket();
  }
  std::size_t tail() const { return tail_.size(); }
  void scramble(std::mt19937_64& random) {
    for (std::int64_t& word : head_) word = static_cast<std::int64_t>(random() >> random() % 64);
    tail_.resize(random() % 60);
    for (std::int64_t& word : tail_) word = static_cast<std::int64_t>(random() >> random() % 64);
  }

 private:
  std::int64_t head_[kHeadWords] = {};
  std::vector<std::int64_t> tail_;
};

LeaseEntry lease(std::uint64_t id, std::int64_t expires, std::int64_t ttl = 0) {
  return {.id = {id * 0x9E3779B97F4A7C15, id}, .expires_us = expires, .token = 7, .units = 1, .ttl_us = ttl};
}

TEST(LeaseBucket, TheRoomOfEndedLeasesIsUsedAgain) {
  Words words;
  std::size_t most = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::int64_t now = kNow + static_cast<std::int64_t>(i) * 1'000;
    words.bucket().advance(now);
    words.grown(now).add(lease(i, now + 10'000, i % 2 == 0 ? 10'000 : 0), now);
    most = std::max(most, words.tail());
  }
  EXPECT_LT(most, 300u) << "ten live ones and ten that have ended, twice";
}

TEST(LeaseBucket, TheIdsOfClientsAreForgottenBeforeTheirTimeWhenThereAreTooMany) {
  Words words;
  for (std::uint64_t i = 0; i < LeaseBucket::kMaxEntries + 10; ++i) {
    const auto now = kNow + static_cast<std::int64_t>(i);
    LeaseBucket bucket = words.grown(now);
    bucket.add(lease(i, now + 1'000'000'000, 1'000'000'000), now);
    bucket.end(bucket.find(lease(i, 0).id), now);
  }
  EXPECT_EQ(words.bucket().size(), LeaseBucket::kMaxEntries);
  EXPECT_EQ(words.bucket().find(lease(3, 0).id), words.bucket().size()) << "the first to end is forgotten";
  EXPECT_LT(words.bucket().find(lease(100, 0).id), words.bucket().size());
  EXPECT_EQ(words.bucket().held(), 0);
}

TEST(LeaseBucket, MovedBackItIsAsOldAsItWas) {
  Words words;
  words.grown(kNow).add(lease(1, kNow + 30'000'000), kNow);
  words.bucket().move_back(5'000'000);
  LeaseBucket bucket = words.bucket();
  EXPECT_EQ(bucket.idle_from_us(), kNow + 25'000'000);
  EXPECT_EQ(bucket.last_token(), 7u) << "tokens never fall";
  bucket.advance(kNow + 25'000'000 - 1);
  EXPECT_EQ(bucket.held(), 1);
  bucket.advance(kNow + 25'000'000);
  EXPECT_EQ(bucket.held(), 0);
}

TEST(LeaseBucket, AnyWordsGiveABoundedAnswer) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 20'000; ++round) {
    Words words;
    words.scramble(random);
    LeaseBucket bucket = words.bucket();
    const auto now = static_cast<std::int64_t>(random() >> (1 + random() % 40));
    bucket.advance(now);
    const ChargeOutcome outcome = bucket.evaluate(10, 1 + static_cast<std::int64_t>(random() % 12), true, now);
    EXPECT_GE(outcome.remaining, 0);
    EXPECT_LE(outcome.remaining, 10);
    EXPECT_LE(outcome.retry_after, LeaseBucket::kLongestHint);
    words.grown(now).add(lease(random(), now + 5, random() % 2 == 0 ? 5 : 0), now);
    bucket = words.bucket();
    if (const std::size_t at = random() % bucket.size(); !bucket.entry(at).ended()) {
      bucket.renew(at, now + 9, 9, 0);
      bucket.end(at, now);
    }
    static_cast<void>(bucket.find({random(), random()}));
    bucket.move_back(1'000);
    EXPECT_GE(bucket.held(), 0);
  }
}

}  // namespace
}  // namespace weir::algorithms
