// Reservations whose records share pages, on the usual path and beside it.
#include "stores/memory/record_page.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "stores/memory/memory_store.h"
#include "stores/memory/snapshot.h"
#include "tests/contract/calls.h"

namespace weir::memory {
namespace {

using contract::allowance_of;
using contract::charge_of;
using contract::OwnedCall;
using contract::spread_key;
using std::chrono::seconds;

const TimePoint kPageStart = from_micros(1'800'000'000'000'000);
constexpr Duration kRecordTtl = seconds(60);

class RecordPageTest : public testing::Test {
 protected:
  static BucketKey id_of(std::uint64_t number) { return base::paged_id_at(77, number); }

  HoldStep run(Store& store, Action action, std::uint64_t number, TimePoint now, HoldStep hold) {
    Charge bucket = charge_of(spread_key(1), allowance_, 0);
    bucket.follows = true;
    Charge record = charge_of(id_of(number), allowance_, 1);
    record.kind = ChargeKind::record;
    hold.reservation = true;
    hold.id = id_of(number);
    OwnedCall call(action, now, {bucket, record});
    call.hold = &hold;
    EXPECT_TRUE(store.begin(call));
    outcome_ = call.results()[0];
    return hold;
  }
  HoldStep reserve(Store& store, std::uint64_t number, std::int64_t amount, TimePoint now = kPageStart) {
    HoldStep hold;
    hold.amount = amount;
    hold.ttl = kRecordTtl;
    return run(store, Action::take, number, now, hold);
  }
  HoldStep commit(Store& store, std::uint64_t number, std::int64_t actual, TimePoint now = kPageStart) {
    HoldStep hold;
    hold.actual = actual;
    return run(store, Action::settle, number, now, hold);
  }
  HoldStep get(Store& store, std::uint64_t number, TimePoint now = kPageStart) {
    return run(store, Action::list, number, now, {});
  }

  Allowance allowance_ = allowance_of(Algorithm::token_bucket, 1'000'000, seconds(1'000'000));
  ChargeOutcome outcome_;
};

TEST_F(RecordPageTest, ThirtyTwoRecordsShareASlot) {
  MemoryStore store;
  for (std::uint64_t number = 0; number < 10 * base::kPlacesPerPage; ++number) {
    ASSERT_EQ(reserve(store, number, 3).state, HoldState::taken) << number;
    const HoldStep settled = commit(store, number, 2);
    ASSERT_EQ(settled.state, HoldState::ended) << number;
    EXPECT_EQ(settled.returned, 1);
  }
  EXPECT_EQ(store.stats().keys, 1u + 10u) << "a bucket and the pages";
  EXPECT_EQ(outcome_.remaining, 1'000'000 - 2 * 10 * std::int64_t{base::kPlacesPerPage});
}

TEST_F(RecordPageTest, EachRecordIsForgottenAtItsOwnTime) {
  MemoryStore store;
  reserve(store, 0, 3);
  commit(store, 0, 1);
  reserve(store, 1, 5, kPageStart + seconds(50));
  EXPECT_EQ(get(store, 0, kPageStart + kRecordTtl - seconds(1)).reserved, ReservationState::committed);
  EXPECT_EQ(get(store, 0, kPageStart + kRecordTtl).state, HoldState::none);
  EXPECT_EQ(get(store, 1, kPageStart + kRecordTtl).state, HoldState::live) << "of the same page";
  EXPECT_EQ(get(store, 2).state, HoldState::none) << "never taken";
}

TEST_F(RecordPageTest, ARepeatedCommitIsReplayedAndALateOneIsGone) {
  MemoryStore store;
  reserve(store, 0, 3);
  reserve(store, 1, 3);
  commit(store, 0, 1);
  const HoldStep again = commit(store, 0, 3, kPageStart + seconds(30));
  EXPECT_EQ(again.state, HoldState::gone);
  EXPECT_EQ(again.actual, 1);
  EXPECT_EQ(again.returned, 2);
  const HoldStep late = commit(store, 1, 3, kPageStart + kRecordTtl);
  EXPECT_EQ(late.reserved, ReservationState::expired);
  EXPECT_GE(outcome_.remaining, 1'000'000 - 1);
}

// Of two that are open at once, and of one that has cost more than it held.
TEST_F(RecordPageTest, SettlesInAnyOrderAndChargesTheExcess) {
  MemoryStore store;
  reserve(store, 0, 10);
  reserve(store, 1, 20);
  reserve(store, 2, 30);
  EXPECT_EQ(commit(store, 1, 5).returned, 15);
  EXPECT_EQ(commit(store, 0, 14).debt, 4);
  EXPECT_EQ(commit(store, 2, 0).returned, 30);
  EXPECT_EQ(outcome_.remaining, 1'000'000 - 5 - 14);
}

TEST_F(RecordPageTest, ADenialTakesNothing) {
  MemoryStore store;
  reserve(store, 0, 999'999);
  EXPECT_EQ(reserve(store, 1, 2).state, HoldState::none);
  EXPECT_FALSE(outcome_.admitted);
  EXPECT_EQ(get(store, 1).state, HoldState::none);
  EXPECT_EQ(reserve(store, 2, 1).state, HoldState::taken);
}

TEST_F(RecordPageTest, PagesSurviveARestart) {
  std::string pattern = (std::filesystem::temp_directory_path() / "weir-pages-XXXXXX").string();
  const std::filesystem::path folder = ::mkdtemp(pattern.data());
  const SnapshotKeyId key_id{1, 2, 3};
  MemoryStore before;
  reserve(before, 0, 3);
  commit(before, 0, 2);
  reserve(before, 1, 5);
  ASSERT_TRUE(save_snapshot(before, folder / "pages", key_id).ok());
  MemoryStore after;
  ASSERT_TRUE(load_snapshot(after, folder / "pages", key_id, kPageStart + seconds(1)).ok());
  EXPECT_EQ(commit(after, 0, 3, kPageStart + seconds(1)).actual, 2) << "replayed";
  EXPECT_EQ(commit(after, 1, 1, kPageStart + seconds(1)).returned, 4);
  // Written under a clock that was ahead: the record lives as long as it would have.
  MemoryStore earlier;
  const TimePoint past = kPageStart - std::chrono::hours(24 * 365);
  ASSERT_TRUE(load_snapshot(earlier, folder / "pages", key_id, past).ok());
  EXPECT_EQ(get(earlier, 1, past).reserved, ReservationState::open);
  std::filesystem::remove_all(folder);
}

// Snapshots of version 4 had a slot for each record.
TEST_F(RecordPageTest, RecordsFromBeforeThereWerePagesFindTheirPlaces) {
  MemoryStore store;
  for (std::uint64_t number = 0; number < 3; ++number) {
    BucketImage image;
    image.key = {id_of(number).high, id_of(number).low & ~kNumberBits};
    image.kind = SlotKind::record();
    image.idle_from_us = micros(kPageStart + kRecordTtl);
    const algorithms::ReservationRecord closed{
        .state = ReservationState::committed, .granted = 7, .actual = static_cast<std::int64_t>(number), .returned = 1};
    closed.write(algorithms::Head(image.head));
    ASSERT_TRUE(store.restore(image, kPageStart));
  }
  EXPECT_EQ(store.stats().keys, 1u);
  for (std::uint64_t number = 0; number < 3; ++number) {
    EXPECT_EQ(get(store, number).actual, static_cast<std::int64_t>(number));
  }
  EXPECT_EQ(get(store, 1, kPageStart + kRecordTtl).state, HoldState::none);
}

TEST_F(RecordPageTest, ARecordFromBeforeThereWerePagesIsNotRestoredWithoutRoom) {
  const auto image_of = [](std::uint64_t number) {
    BucketImage image;
    image.key = {id_of(number).high, id_of(number).low & ~kNumberBits};
    image.kind = SlotKind::record();
    image.idle_from_us = micros(kPageStart + kRecordTtl);
    algorithms::ReservationRecord{.state = ReservationState::committed}.write(algorithms::Head(image.head));
    return image;
  };
  bool any = false;
  for (std::size_t room = 0; room <= 16'384; room += 512) {
    MemoryStore store({.max_bytes = MemoryStore::kShards * sizeof(Shard) + room});
    const bool restored = store.restore(image_of(0), kPageStart);
    EXPECT_EQ(store.stats().keys, restored ? 1U : 0U) << room;
    EXPECT_TRUE(restored || !any) << "more room is no less: " << room;
    any = any || restored;
  }
  EXPECT_TRUE(any);
}

TEST_F(RecordPageTest, WithoutRoomForAPageNothingIsCharged) {
  MemoryStore store({.max_bytes = MemoryStore::kShards * sizeof(Shard) + 3'000});
  HoldStep last;
  std::uint64_t number = 0;
  for (; number < 100; ++number) {
    last = reserve(store, number * base::kPlacesPerPage, 1);
    if (last.state != HoldState::taken) break;
  }
  ASSERT_LT(number, 100u);
  EXPECT_EQ(outcome_.status, Code::resource_exhausted);
  EXPECT_EQ(contract::ask(store, Action::peek, kPageStart, charge_of(spread_key(1), allowance_, 0)).remaining,
            1'000'000 - static_cast<std::int64_t>(number));
}

}  // namespace
}  // namespace weir::memory
