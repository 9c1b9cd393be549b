// Nearly every call about leases: one lease is taken from, or given back to, a bucket that is there. The rest is in
// transaction_holds.cc, which does the same for any number of buckets.
#include <algorithm>
#include <mutex>

#include "algorithms/lease_bucket.h"
#include "base/paged_id.h"
#include "stores/memory/memory_store.h"

namespace weir::memory {
namespace {

using algorithms::LeaseBucket;
using algorithms::LeaseEntry;

// False: denied, known already, or without room. Nothing has changed.
bool take_lease(StoreCall& call, LeaseBucket& bucket, std::size_t room, std::int64_t now_us) {
  const Charge& charge = call.charges.front();
  HoldStep& hold = *call.hold;
  const std::int64_t ttl_us = hold.ttl.count();
  // An id that no client has made is new.
  if (charge.cost == 0 || (!base::is_paged(hold.id) && bucket.find(hold.id) < bucket.size())) return false;
  const ChargeOutcome outcome = bucket.evaluate(charge.allowance->limit, charge.cost, true, now_us, ttl_us);
  if (!outcome.admitted || bucket.words_for_one_more(now_us) > room) return false;
  const auto time = static_cast<std::uint64_t>(std::max<std::int64_t>(0, now_us));
  call.outcomes.front() = outcome;
  hold.token = std::max({hold.token, time, bucket.last_token() + 1});
  hold.at = call.now;
  hold.state = HoldState::taken;
  hold.expires = call.now + hold.ttl;
  bucket.add({.id = hold.id,
              .expires_us = now_us + ttl_us,
              .token = hold.token,
              .units = charge.cost,
              .ttl_us = hold.named ? ttl_us : 0},
             now_us);
  return true;
}

void end_lease(StoreCall& call, LeaseBucket& bucket, std::int64_t now_us) {
  HoldStep& hold = *call.hold;
  const std::size_t at = bucket.find(hold.id);
  hold.at = call.now;
  hold.state = HoldState::gone;
  if (at < bucket.size()) {
    const LeaseEntry entry = bucket.entry(at);
    if (!entry.ended() && !algorithms::is_later_lease(entry, hold.token, hold)) {
      bucket.end(at, now_us);
      hold.state = HoldState::ended;
    }
  }
  call.outcomes.front() = bucket.evaluate(call.charges.front().allowance->limit, 0, false, now_us);
}

}  // namespace

// False: nothing has changed, and the caller falls back to the general path.
[[gnu::flatten, gnu::hot]] bool MemoryStore::use_one_lease(StoreCall& call) {
  const bool takes = call.action == Action::take;
  if (call.charges.size() != 1 || (!takes && call.action != Action::settle)) return false;
  const Charge& charge = call.charges.front();
  if (charge.kind != ChargeKind::lease) return false;
  const std::int64_t now_us = micros(call.now);
  Shard& shard = shard_of(charge.key);
  const std::lock_guard hold(shard.lock());
  Slot* const slot = shard.floor_us() > now_us ? nullptr : shard.find(charge.key);
  if (slot == nullptr || !slot->holds(SlotKind::of(charge)) || slot->idle(now_us)) return false;
  const algorithms::BucketWords words = slot->words();
  LeaseBucket bucket(words);
  bucket.advance(now_us);
  if (takes && !take_lease(call, bucket, words.tail.size(), now_us)) return false;
  if (!takes) end_lease(call, bucket, now_us);
  shard.set_idle_from(*slot, bucket.idle_from_us());
  return true;
}

}  // namespace weir::memory
