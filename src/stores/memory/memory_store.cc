#include "stores/memory/memory_store.h"

#include <algorithm>
#include <cassert>
#include <mutex>

#include "algorithms/take.h"
#include "stores/memory/calendar_call.h"
#include "stores/memory/record_page.h"
#include "stores/memory/transaction.h"
#include "weir/inline_vector.h"

namespace weir::memory {
namespace {

// How many slots a sweep looks at before it lets others have the shard: a few microseconds.
constexpr std::size_t kSweepStretch = 256;

// How much memory a sweep gives back at most.
constexpr std::size_t kLayersPerSweep = 2;

// What a call that finds no room may do about it, and how often.
constexpr std::size_t kReliefSlots = 8'192;
constexpr Duration kReliefInterval = std::chrono::milliseconds(1);

// Up to so many buckets are taken from without a Transaction.
constexpr std::size_t kFewCharges = 16;

// All that it needs is in the slot.
bool is_at_home(const Charge& charge) {
  return charge.kind == ChargeKind::bucket && charge.value == 0 && !algorithms::keeps_tail(charge.allowance->algorithm);
}

// A rule has at most one penalty and one candidate.
constexpr std::size_t kMostCompanions = 2;

// Belongs to the first charge of its call and has its slot beside that one's. A denial by it changes nothing.
bool is_companion(const Charge& charge, const BucketKey& own) {
  const bool belongs = charge.kind == ChargeKind::penalty || (charge.candidate && !charge.count_denied);
  return belongs && charge.of == 0 && charge.value == 0 && Shard::are_beside(charge.key, own);
}

bool is_accompanied(std::span<const Charge> charges) {
  if (charges.size() < 2 || charges.size() > 1 + kMostCompanions) return false;
  for (const Charge& charge : charges.subspan(1)) {
    if (!is_companion(charge, charges.front().key)) return false;
  }
  return true;
}

}  // namespace

class MemoryStore::LockedShards {
 public:
  LockedShards(MemoryStore& store, std::span<const Charge> charges) : store_(store) {
    for (const Charge& charge : charges) insert(static_cast<std::uint16_t>(shard_index(charge.key)));
    for (std::size_t i = 0; i < size_; ++i) store_.shards_[indexes_[i]].lock().lock();
  }
  ~LockedShards() {
    for (std::size_t i = size_; i > 0; --i) store_.shards_[indexes_[i - 1]].lock().unlock();
  }
  LockedShards(const LockedShards&) = delete;
  LockedShards& operator=(const LockedShards&) = delete;

 private:
  // Charges are few: sorting them as they come is faster than std::sort.
  void insert(std::uint16_t index) {
    std::size_t at = size_;
    while (at > 0 && indexes_[at - 1] > index) --at;
    if (at > 0 && indexes_[at - 1] == index) return;
    for (std::size_t i = size_; i > at; --i) indexes_[i] = indexes_[i - 1];
    indexes_[at] = index;
    ++size_;
  }

  MemoryStore& store_;
  std::size_t size_ = 0;
  std::uint16_t indexes_[kMaxCharges];
};

MemoryStore::MemoryStore(const MemoryOptions& options)
    : budget_(options.max_bytes), lanes_(options.max_bytes), shards_(std::make_unique<Shard[]>(kShards)) {
  for (std::size_t i = 0; i < kShards; ++i) shards_[i].use_lane(lanes_, i);
  // A bound too small for the shards themselves leaves room for no bucket.
  if (!budget_.reserve(kShards * sizeof(Shard)))
    (void)budget_.reserve(options.max_bytes, MemoryBudget::Purpose::shrink);
}

MemoryStore::~MemoryStore() { clear(); }

[[gnu::always_inline]] inline Slot* MemoryStore::find_at_home(Shard& shard, const Charge& charge, TimePoint now) {
  if (shard.floor_us() > micros(now)) return nullptr;
  Slot* const slot = shard.find(charge.key);
  return slot != nullptr && slot->holds_at_home(charge.allowance->algorithm) ? slot : nullptr;
}

[[gnu::always_inline]] inline void MemoryStore::take_from(Shard& shard, Slot& slot, const Charge& charge, TimePoint now,
                                                          ChargeOutcome& outcome) {
  // A branch, so that the words are being read while the time is still being worked out.
  if (slot.idle(micros(now))) [[unlikely]]
    return take_from_idle(shard, slot, charge, now, outcome);
  TimePoint idle_from;
  if (algorithms::take(*charge.allowance, slot.head(), now, charge.cost, outcome, idle_from)) {
    shard.set_idle_from(slot, micros(idle_from));
  } else {
    bound_waits(slot.idle_from_us(), micros(now), outcome);
  }
}

// An idle bucket is fresh: whether it has been swept must make no difference, whatever numbers ask.
[[gnu::noinline]] void MemoryStore::take_from_idle(Shard& shard, Slot& slot, const Charge& charge, TimePoint now,
                                                   ChargeOutcome& outcome) {
  TimePoint idle_from;
  std::int64_t fresh[algorithms::kHeadWords] = {};
  if (!algorithms::take(*charge.allowance, fresh, now, charge.cost, outcome, idle_from)) return;
  std::copy(std::begin(fresh), std::end(fresh), slot.head().begin());
  shard.set_idle_from(slot, micros(idle_from));
}

// Nearly every call: a take from buckets that are there and keep no tail, with no denial that counts. False: nothing
// has changed, and the caller falls back to the general path. Precondition: there is no hold.
[[gnu::always_inline]] inline bool MemoryStore::take_at_home(StoreCall& call) {
  if (call.action != Action::take) return false;
  if (call.charges.size() == 1) return is_at_home(call.charges.front()) && take_one(call);
  if (is_accompanied(call.charges)) return is_at_home(call.charges.front()) && take_accompanied(call);
  return call.charges.size() <= kFewCharges && take_together(call);
}

// The hottest function of all: whatever it calls is compiled into it.
[[gnu::flatten]] bool MemoryStore::take_one(StoreCall& call) {
  const Charge& charge = call.charges.front();
  ChargeOutcome& outcome = call.outcomes.front();
  Shard& shard = shard_of(charge.key);
  const std::lock_guard hold(shard.lock());
  Slot* const slot = find_at_home(shard, charge, call.now);
  if (slot == nullptr) return false;
  take_from(shard, *slot, charge, call.now, outcome);
  return outcome.admitted || !charge.count_denied;
}

// The same for one rule with a penalty or a candidate, whose slots are beside its own: one lock, and one look at them.
// The rule's own bucket takes first, because a denial of it changes nothing and is left to the general path.
[[gnu::flatten]] bool MemoryStore::take_accompanied(StoreCall& call) {
  const Charge& own = call.charges.front();
  Shard& shard = shard_of(own.key);
  const std::lock_guard hold(shard.lock());
  if (shard.floor_us() > micros(call.now)) return false;
  Slot* slots[1 + kMostCompanions] = {};
  shard.find_beside(call.charges, slots);
  if (slots[0] == nullptr || !slots[0]->holds_at_home(own.allowance->algorithm)) return false;
  for (std::size_t i = 1; i < call.charges.size(); ++i) {
    const Charge& charge = call.charges[i];
    // Nearly all subjects have no strikes.
    const bool ready = charge.candidate ? slots[i] != nullptr && slots[i]->holds_at_home(charge.allowance->algorithm)
                                        : slots[i] == nullptr;
    if (!ready) return false;
  }
  take_from(shard, *slots[0], own, call.now, call.outcomes.front());
  if (!call.outcomes.front().admitted) return false;
  for (std::size_t i = 1; i < call.charges.size(); ++i) {
    if (slots[i] != nullptr) take_from(shard, *slots[i], call.charges[i], call.now, call.outcomes[i]);
  }
  return true;
}

// The same for several: each takes at once, and all are put back as they were when one that binds or counts denies.
// No other thread sees it, because all shards are locked.
[[gnu::flatten]] bool MemoryStore::take_together(StoreCall& call) {
  const bool all = std::all_of(call.charges.begin(), call.charges.end(), [](const Charge& charge) {
    return charge.kind == ChargeKind::penalty || is_at_home(charge);
  });
  if (!all) return false;
  const LockedShards hold(*this, call.charges);
  Slot* slots[kFewCharges];
  const std::size_t count = call.charges.size();
  for (std::size_t i = 0; i < count; ++i) {
    Shard& shard = shard_of(call.charges[i].key);
    if (call.charges[i].kind == ChargeKind::penalty) {
      // A subject without strikes, as nearly all are.
      if (shard.find(call.charges[i].key) != nullptr) return false;
      slots[i] = nullptr;
      continue;
    }
    slots[i] = find_at_home(shard, call.charges[i], call.now);
    if (slots[i] == nullptr) return false;
  }
  InlineVector<Slot, kFewCharges> before;
  for (std::size_t i = 0; i < count; ++i) {
    const Charge& charge = call.charges[i];
    if (slots[i] == nullptr) {
      before.append();
      continue;
    }
    before.push_back(*slots[i]);
    take_from(shard_of(charge.key), *slots[i], charge, call.now, call.outcomes[i]);
    const bool counts = charge.count_denied || charge.penalty != nullptr;
    if (call.outcomes[i].admitted || (!charge.binding && !counts)) continue;
    while (i > 0) {
      --i;
      if (slots[i] != nullptr) *slots[i] = before[i];
    }
    return false;
  }
  return true;
}

bool MemoryStore::begin(StoreCall& call) {
  assert(call.charges.size() <= kMaxCharges);
  assert(call.outcomes.size() == call.charges.size());
  call.status = Code::ok;
  call.atomic = true;
  if (call.ahead != Duration::zero()) [[unlikely]]
    return begin_ahead(call);
  if (call.hold == nullptr ? take_at_home(call) : use_hold(call)) [[likely]]
    return true;
  return begin_transaction(call);
}

// The general path, apart from what most calls need.
[[gnu::noinline]] bool MemoryStore::begin_transaction(StoreCall& call) {
  if (!attempt(call) && relieve(call.now)) attempt(call);
  lanes_.turn_into_huge_pages();
  if (call.action == Action::take) count_refused(call);
  return true;
}

bool MemoryStore::begin_ahead(const StoreCall& call) {
  CalendarCall shifted(call);
  return begin(shifted);
}

// False: no room for a binding charge, and nothing has changed.
bool MemoryStore::attempt(StoreCall& call) {
  Transaction transaction(call, budget_);
  if (call.charges.size() == 1) {
    Shard& shard = shard_of(call.charges[0].key);
    const std::lock_guard hold(shard.lock());
    transaction.add(shard);
    return transaction.run();
  }
  const LockedShards hold(*this, call.charges);
  for (const Charge& charge : call.charges) transaction.add(shard_of(charge.key));
  return transaction.run();
}

// When a shard is full, others may still hold idle buckets and the memory under them. Not more often than once in a
// while: a flood of newcomers must not be able to keep the store busy with looking for room that is not there.
bool MemoryStore::relieve(TimePoint now) {
  const std::int64_t now_us = micros(now);
  std::int64_t last = relieved_us_.load(std::memory_order_relaxed);
  if (now_us >= last && now_us - last < kReliefInterval.count()) return false;
  if (!relieved_us_.compare_exchange_strong(last, now_us, std::memory_order_relaxed)) return false;
  return sweep(now, kReliefSlots) > 0;
}

void MemoryStore::count_refused(const StoreCall& call) {
  for (std::size_t i = 0; i < call.charges.size(); ++i) {
    if (call.outcomes[i].status == Code::resource_exhausted) shard_of(call.charges[i].key).count_refused();
  }
}

void MemoryStore::prefetch(std::span<const Charge> charges) {
  for (const Charge& charge : charges) shard_of(charge.key).prefetch(charge.key);
}

std::optional<MemoryStore::BucketView> MemoryStore::look(const Charge& charge, TimePoint now) {
  if (charge.kind != ChargeKind::bucket || charge.value != 0) return std::nullopt;
  const Algorithm algorithm = charge.allowance->algorithm;
  Shard& shard = shard_of(charge.key);
  const std::lock_guard hold(shard.lock());
  Slot* const slot = shard.find(charge.key);
  if (slot == nullptr || !slot->holds(algorithm) || slot->idle(micros(now))) return std::nullopt;
  const algorithms::BucketWords words = slot->words();
  BucketView view{.standing = algorithms::evaluate(*charge.allowance, words, now, 0),
                  .last_change = algorithms::last_change(algorithm, words),
                  .idle_from = from_micros(slot->idle_from_us()),
                  .entries = {}};
  if (algorithm == Algorithm::sliding_log) {
    view.entries = algorithms::SlidingLog::entries(*charge.allowance, words, now);
  }
  return view;
}

std::size_t MemoryStore::sweep(TimePoint now, std::size_t slots) {
  std::size_t forgotten = 0;
  std::size_t index = sweeping_.load(std::memory_order_relaxed);
  // One round at most: a shard in which nothing can be idle costs no slot.
  for (std::size_t finished = 0; finished < kShards && slots > 0;) {
    Shard& shard = shards_[index];
    const std::lock_guard hold(shard.lock());
    const Shard::Sweep swept = shard.sweep(micros(now), std::min(slots, kSweepStretch), budget_);
    forgotten += swept.forgotten;
    slots -= swept.examined;
    if (!swept.finished) continue;
    shard.shrink(budget_);
    index = (index + 1) % kShards;
    ++finished;
  }
  sweeping_.store(index, std::memory_order_relaxed);
  lanes_.trim(kLayersPerSweep, budget_);
  lanes_.turn_into_huge_pages();
  return forgotten;
}

void MemoryStore::clear() {
  for (std::size_t i = 0; i < kShards; ++i) {
    const std::lock_guard hold(shards_[i].lock());
    shards_[i].close(budget_);
  }
  lanes_.trim(std::numeric_limits<std::size_t>::max(), budget_);
}

MemoryStats MemoryStore::stats() const {
  MemoryStats stats;
  stats.bytes = budget_.used();
  stats.max_bytes = budget_.max_bytes();
  for (std::size_t i = 0; i < kShards; ++i) {
    const ShardCounters counters = shards_[i].counters();
    stats.keys += shards_[i].size();
    stats.swept += counters.swept;
    stats.evicted_idle += counters.evicted;
    stats.refused_newcomers += counters.refused;
    stats.coarse_charges += counters.coarse;
  }
  return stats;
}

void MemoryStore::copy_shard(std::size_t shard, ShardCopy& copy) {
  assert(shard < kShards);
  const std::lock_guard hold(shards_[shard].lock());
  shards_[shard].copy_to(copy);
}

bool MemoryStore::restore(const BucketImage& image, TimePoint now) {
  Shard& shard = shard_of(image.key);
  const std::lock_guard hold(shard.lock());
  const bool paged = ((base::low_half(image.key.high) ^ image.key.low) & ~kNumberBits) == 0;
  if (image.kind.is_record() && paged) return restore_record(shard, image, now);
  return shard.restore(image, micros(now), budget_);
}

// Of a snapshot from before there were pages.
bool MemoryStore::restore_record(Shard& shard, const BucketImage& image, TimePoint now) {
  const BucketKey page = base::page_of(image.key);
  Slot* slot = shard.find(page);
  const bool created = slot == nullptr;
  if (created) slot = shard.insert(page, SlotKind::page(), micros(now), budget_);
  if (slot == nullptr || !slot->holds(SlotKind::page())) return false;
  if (!shard.grow_tail(*slot, RecordPage::kWords, budget_)) {
    if (created) shard.erase(*slot, budget_);
    return false;
  }
  const auto record = algorithms::ReservationRecord::read(algorithms::ConstHead(image.head));
  const std::size_t place = base::place_in_page(image.key);
  shard.set_idle_from(*slot, RecordPage(slot->words()).write(place, record, image.idle_from_us));
  return true;
}

}  // namespace weir::memory
