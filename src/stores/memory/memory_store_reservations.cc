// Nearly every call about reservations: one that no client has named is taken from, or settled in, one bucket that is
// there and keeps no tail. The rest is in transaction_reservations.cc, which does the same for any number of buckets.
#include <algorithm>
#include <mutex>

#include "algorithms/take.h"
#include "stores/memory/memory_store.h"
#include "stores/memory/record_page.h"

namespace weir::memory {
namespace {

using algorithms::BucketHolds;
using algorithms::ReservationRecord;

// The bucket and the record of one reservation, found and locked.
struct Parts {
  Shard& shard;
  Slot& slot;
  Shard& page_shard;
  Slot& page_slot;
  RecordPage page;
  std::size_t place;
  std::int64_t now_us;
};

// Its only entry would be the first.
constexpr std::size_t kRoomForFirst = 2;

bool is_usual(const StoreCall& call) {
  const HoldStep& hold = *call.hold;
  const Charge& charge = call.charges[0];
  const Charge& record = call.charges[1];
  if (charge.kind != ChargeKind::bucket || charge.value != 0 || !charge.follows || !charge.binding) return false;
  if (algorithms::keeps_tail(charge.allowance->algorithm)) return false;
  if (record.kind != ChargeKind::record || !base::is_paged(record.key)) return false;
  if (call.action == Action::take) return !hold.partial && hold.actual == 0 && hold.amount > 0;
  return call.action == Action::settle;
}

void keep_record(const Parts& parts, const ReservationRecord& record, std::int64_t kept_until_us) {
  RecordPage page = parts.page;
  parts.page_shard.set_idle_from(parts.page_slot, page.write(parts.place, record, kept_until_us));
}

// False: denied, known already, or without room. Nothing has changed.
bool take_reservation(StoreCall& call, const Parts& parts, MemoryBudget& budget) {
  const Allowance& allowance = *call.charges[0].allowance;
  HoldStep& hold = *call.hold;
  Slot& slot = parts.slot;
  ReservationRecord record;
  if (parts.page.read(parts.place, parts.now_us, record)) return false;
  const bool had_holds = slot.has_holds();
  if (had_holds) {
    const BucketHolds holds = slot.holds();
    if (!holds.has_room() || holds.size() >= kMaxHoldsPerBucket) return false;
    slot.holds().note(allowance, slot.words(), parts.now_us);
  }
  const algorithms::Head head = slot.words().head;
  const std::int64_t before[] = {head[0], head[1], head[2]};
  TimePoint idle_from;
  ChargeOutcome& outcome = call.outcomes[0];
  if (!algorithms::take(allowance, head, call.now, hold.amount, outcome, idle_from)) return false;
  if (!had_holds && !parts.shard.grow_holds(slot, kRoomForFirst, budget)) {
    std::copy(std::begin(before), std::end(before), head.begin());
    return false;
  }
  const std::int64_t expires_us = parts.now_us + hold.ttl.count();
  BucketHolds holds = slot.holds();
  holds.add(hold.id, hold.amount, parts.now_us, expires_us, allowance, slot.words());
  parts.shard.set_idle_from(slot, std::max(micros(idle_from), holds.last_us()));
  keep_record(parts,
              {.granted = hold.amount, .expires_us = expires_us, .token = hold.token, .ttl_us = hold.ttl.count()},
              expires_us + hold.ttl.count());
  call.outcomes[1] = ChargeOutcome{};
  hold.at = call.now;
  hold.state = HoldState::taken;
  hold.granted = hold.amount;
  hold.expires = from_micros(expires_us);
  return true;
}

// False: not open any more, or it has cost more than it held. Nothing has changed.
bool settle_reservation(StoreCall& call, const Parts& parts, MemoryBudget& budget) {
  const Allowance& allowance = *call.charges[0].allowance;
  HoldStep& hold = *call.hold;
  Slot& slot = parts.slot;
  ReservationRecord record;
  if (!slot.has_holds() || !parts.page.read(parts.place, parts.now_us, record)) return false;
  if (record.state != ReservationState::open || record.expires_us <= parts.now_us) return false;
  const std::int64_t actual = hold.closing == ReservationState::committed ? hold.actual : 0;
  if (actual > record.granted) return false;
  const BucketHolds::Settled settled = slot.holds().settle(hold.id, actual, allowance, slot.words(), parts.now_us);
  if (!settled.found) return false;
  if (slot.holds().size() == 0) parts.shard.drop_holds(slot, budget);
  const algorithms::BucketWords words = slot.words();
  std::int64_t idle_us = micros(algorithms::idle_from(allowance, words));
  if (slot.has_holds()) idle_us = std::max(idle_us, slot.holds().last_us());
  parts.shard.set_idle_from(slot, idle_us);
  keep_record(parts, {.state = hold.closing, .granted = record.granted, .actual = actual, .returned = settled.returned},
              parts.now_us + record.ttl_us);
  call.outcomes[0] = algorithms::evaluate(allowance, words, call.now, 0);
  bound_waits(slot.idle_from_us(), parts.now_us, call.outcomes[0]);
  call.outcomes[1] = ChargeOutcome{};
  hold.at = call.now;
  hold.state = HoldState::ended;
  hold.reserved = hold.closing;
  hold.token = std::max(hold.token, record.token);
  hold.granted = record.granted;
  hold.actual = actual;
  hold.returned = settled.returned;
  hold.debt = hold.uncharged = 0;
  return true;
}

}  // namespace

// False: nothing has changed, and the caller falls back to the general path.
[[gnu::flatten, gnu::hot]] bool MemoryStore::use_one_reservation(StoreCall& call) {
  if (call.charges.size() != 2 || !is_usual(call)) return false;
  const Charge& charge = call.charges[0];
  const BucketKey& id = call.charges[1].key;
  const std::int64_t now_us = micros(call.now);
  Shard& shard = shard_of(charge.key);
  Shard& page_shard = shard_of(id);
  // In ascending order; one shard is locked once.
  const std::unique_lock first(std::min(&shard, &page_shard)->lock());
  std::unique_lock second(std::max(&shard, &page_shard)->lock(), std::defer_lock);
  if (&shard != &page_shard) second.lock();
  if (shard.floor_us() > now_us || page_shard.floor_us() > now_us) return false;
  Slot* const slot = shard.find(charge.key);
  Slot* const page_slot = page_shard.find(base::page_of(id));
  if (slot == nullptr || !slot->holds(SlotKind::of(charge)) || slot->idle(now_us)) return false;
  if (page_slot == nullptr || !page_slot->holds(SlotKind::page()) || page_slot->idle(now_us)) return false;
  if (slot->has_holds() && slot->holds().lapses_by(now_us)) return false;
  const Parts parts{shard, *slot, page_shard, *page_slot, RecordPage(page_slot->words()), base::place_in_page(id),
                    now_us};
  if (!parts.page.complete()) return false;
  return call.action == Action::take ? take_reservation(call, parts, budget_)
                                     : settle_reservation(call, parts, budget_);
}

}  // namespace weir::memory
