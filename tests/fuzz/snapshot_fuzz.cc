// Any bytes as a snapshot file, and, when the first byte is odd, as the buckets of one whose frame and checksum are
// right: refused with the store left empty, or loaded, and then every bucket answers within its bounds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/bucket_holds.h"
#include "base/paged_id.h"
#include "stores/memory/crc64.h"
#include "stores/memory/memory_store.h"
#include "stores/memory/snapshot.h"
#include "tests/contract/calls.h"
#include "tests/fuzz/expect.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace weir;
using namespace weir::memory;
using fuzz::expect;

constexpr SnapshotKeyId kKeyId = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
constexpr std::size_t kBucketWords = 8;
constexpr std::size_t kMaxBytes = std::size_t{1} << 20;
constexpr Duration kTtl = std::chrono::seconds(30);
const TimePoint kNow = from_micros(1'800'000'000'000'000);

void put(std::string& out, std::uint64_t word) { out.append(reinterpret_cast<const char*>(&word), sizeof(word)); }

constexpr std::uint64_t kHoldsFlag = 128;

// Whether the words of a bucket and its tail are such as a snapshot has.
bool is_sound(const std::uint64_t (&words)[kBucketWords], std::string_view tail) {
  const SlotKind kind = SlotKind::of_number(static_cast<std::uint8_t>(words[2] % kHoldsFlag));
  if (words[2] < kHoldsFlag) return words[7] == 0 || kind.keeps_tail();
  if (!kind.is_bucket() || words[7] < algorithms::BucketHolds::kHeaderWords) return false;
  std::int64_t header = 0;
  std::memcpy(&header, tail.data(), sizeof(header));
  return algorithms::BucketHolds::length_of(header, ~std::size_t{0}) <= words[7];
}

// The buckets that lie whole in `bytes`, in a frame as snapshot.cc describes it. Not `sound`: one has a tail that its
// algorithm does not keep, or reservations that do not fit into it.
std::string framed(std::string_view bytes, bool& sound) {
  sound = true;
  std::string out = "WEIRSNAP";
  put(out, kSnapshotVersion);
  out.append(reinterpret_cast<const char*>(kKeyId.data()), kKeyId.size());
  std::uint64_t buckets = 0;
  while (bytes.size() >= kBucketWords * 8) {
    std::uint64_t words[kBucketWords];
    std::memcpy(words, bytes.data(), sizeof(words));
    words[2] = words[2] % SlotKind::kCount + (words[2] >= kHoldsFlag ? kHoldsFlag : 0);
    words[7] = std::min<std::uint64_t>(words[7] % 64, (bytes.size() - sizeof(words)) / 8);
    sound = sound && is_sound(words, bytes.substr(sizeof(words)));
    out.append(reinterpret_cast<const char*>(words), sizeof(words));
    out.append(bytes.substr(sizeof(words), words[7] * 8));
    bytes.remove_prefix(sizeof(words) + words[7] * 8);
    ++buckets;
  }
  for (int i = 0; i < 3; ++i) put(out, ~std::uint64_t{0});
  put(out, buckets);
  Crc64 sum;
  sum.update(std::as_bytes(std::span(out)));
  put(out, sum.value());
  return out;
}

void expect_sound(MemoryStore& store, const BucketKey& key, Algorithm algorithm) {
  const Allowance allowance = contract::allowance_of(algorithm, 10, std::chrono::seconds(10));
  for (const Action action : {Action::peek, Action::take, Action::refund, Action::take}) {
    const ChargeOutcome outcome = contract::ask(store, action, kNow, contract::charge_of(key, allowance, 3));
    if (outcome.status != Code::ok) continue;
    expect(outcome.remaining >= 0 && outcome.remaining <= 10);
    expect(outcome.retry_after.count() >= 0 && outcome.reset_after.count() >= 0 && outcome.delay.count() >= 0);
    expect(action == Action::refund || outcome.admitted == (outcome.retry_after.count() == 0));
  }
}

void expect_sound_leases(MemoryStore& store, const BucketKey& key) {
  const Allowance allowance = make_concurrency({.algorithm = {}, .limit = 10, .window = {}}, kTtl).value();
  Charge slot = contract::charge_of(key, allowance, 3);
  slot.kind = ChargeKind::lease;
  std::vector<ListedHold> listed;
  for (const Action action : {Action::peek, Action::take, Action::renew, Action::list, Action::settle}) {
    HoldStep hold;
    hold.id = {7, 7};
    hold.ttl = kTtl;
    hold.expires = kNow + kTtl;
    hold.listed = &listed;
    contract::OwnedCall call(action, kNow, {slot});
    call.hold = &hold;
    expect(store.begin(call));
    const ChargeOutcome& outcome = call.results()[0];
    expect(outcome.remaining >= 0 && outcome.remaining <= 10);
    expect(outcome.retry_after.count() >= 0 && outcome.retry_after <= std::chrono::seconds(1));
    expect(outcome.reset_after.count() >= 0);
  }
}

// A reservation in the bucket `key`, and what is known of the one with that id.
void expect_sound_reservations(MemoryStore& store, const BucketKey& key, Algorithm algorithm) {
  const Allowance allowance = contract::allowance_of(algorithm, 10, std::chrono::seconds(10));
  Charge bucket = contract::charge_of(key, allowance, 0);
  bucket.follows = true;
  for (const BucketKey& id : {BucketKey{7, 7}, BucketKey{key.low, key.high}}) {
    if (is_same_bucket(id, key)) continue;  // a call names no bucket twice
    Charge record = contract::charge_of(id, allowance, 1);
    record.kind = ChargeKind::record;
    for (const Action action : {Action::peek, Action::take, Action::renew, Action::list, Action::settle}) {
      HoldStep hold;
      hold.reservation = true;
      hold.id = id;
      hold.ttl = kTtl;
      hold.amount = 2;
      hold.actual = 40;
      contract::OwnedCall call(action, kNow, {bucket, record});
      call.hold = &hold;
      expect(store.begin(call));
      expect(call.results()[0].remaining >= 0 && call.results()[0].remaining <= 10);
      // A damaged record of a closed one is replayed as it is, within what a record can hold.
      for (const std::int64_t units : {hold.granted, hold.returned, hold.debt, hold.uncharged}) {
        expect(units >= 0 && units <= kMaxUnits);
      }
    }
  }
}

// The penalty of a bucket that is exhausted at once.
void expect_sound_penalty(MemoryStore& store, const BucketKey& key) {
  const Penalty penalty{.after = 2, .within = kTtl, .block = kTtl, .max = 4 * kTtl, .decay = kTtl};
  const Allowance allowance = contract::allowance_of(Algorithm::fixed_window, 1, std::chrono::seconds(10));
  Charge bucket = contract::charge_of({key.low, key.high}, allowance, 1);
  if (is_same_bucket(bucket.key, key)) return;  // a call names no bucket twice
  bucket.penalty = &penalty;
  Charge guard = contract::charge_of(key, allowance, 0);
  guard.kind = ChargeKind::penalty;
  guard.penalty = &penalty;
  guard.binding = false;
  for (const Action action : {Action::peek, Action::take, Action::take, Action::report_failure, Action::take,
                              Action::report_success, Action::take, Action::reset}) {
    contract::OwnedCall call(action, kNow, {bucket, guard});
    expect(store.begin(call));
    for (const ChargeOutcome& outcome : call.results()) {
      expect(outcome.remaining >= 0 && outcome.retry_after.count() >= 0 && outcome.reset_after.count() >= 0);
    }
  }
}

// Different values in the bucket `key`.
void expect_sound_values(MemoryStore& store, const BucketKey& key) {
  for (const Algorithm algorithm : {Algorithm::fixed_window, Algorithm::sliding_log}) {
    const Allowance allowance = contract::allowance_of(algorithm, 10, std::chrono::seconds(10));
    Charge charge = contract::charge_of(key, allowance, 1);
    for (const std::uint64_t value : {1U, 2U, 1U}) {
      charge.value = value;
      for (const Action action : {Action::peek, Action::take, Action::refund}) {
        const ChargeOutcome outcome = contract::ask(store, action, kNow, charge);
        if (outcome.status != Code::ok) continue;
        expect(outcome.remaining >= 0 && outcome.remaining <= 10);
        expect(outcome.retry_after.count() >= 0 && outcome.reset_after.count() >= 0);
      }
    }
  }
}

void load(std::string_view bytes, bool must_load) {
  MemoryStore store({.max_bytes = kMaxBytes});
  const fuzz::MemoryFile file(bytes);
  const Result<LoadReport> report = load_snapshot(store, file.path(), kKeyId, kNow);
  expect(report.ok() || !must_load);
  if (!report.ok()) {
    expect(store.stats().keys == 0);
    return;
  }
  expect(store.stats().keys <= report.value().loaded && store.stats().bytes <= kMaxBytes);
  ShardCopy copy;
  for (std::size_t shard = 0; shard < MemoryStore::kShards; ++shard) store.copy_shard(shard, copy);
  for (const ShardCopy::Bucket& bucket : copy.buckets) {
    if (bucket.kind.is_leases()) {
      expect_sound_leases(store, bucket.key);
    } else if (bucket.kind.is_record()) {
      expect_sound_reservations(store, {bucket.key.low, bucket.key.high}, Algorithm::gcra);
    } else if (bucket.kind.is_page()) {
      // The ids that the page would have.
      for (std::uint64_t place = 0; place < 3; ++place) {
        const std::uint64_t high = base::page_of(bucket.key).high + place;
        expect_sound_reservations(store, {base::low_half(high), high}, Algorithm::gcra);
      }
    } else if (bucket.kind.is_penalty()) {
      expect_sound_penalty(store, bucket.key);
    } else if (bucket.kind.is_distinct()) {
      expect_sound_values(store, bucket.key);
    } else {
      expect_sound(store, bucket.key, bucket.kind.algorithm());
      expect_sound_reservations(store, bucket.key, bucket.kind.algorithm());
    }
    // Another algorithm under the same key, as after an edit of the rules.
    expect_sound(store, bucket.key,
                 bucket.kind == SlotKind(Algorithm::gcra) ? Algorithm::sliding_log : Algorithm::gcra);
  }
  store.sweep(kNow, 100'000);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) {
    bool sound = false;
    const std::string file = framed(bytes, sound);
    load(file, sound);
  } else {
    load(bytes, false);
  }
  return 0;
}
