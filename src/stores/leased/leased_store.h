// LeasedStore: a store whose hot buckets are spent on this node. A decorator for rules with `consistency: leased`, and
// for hot keys of rules with `hot_keys: lease`; charges without SliceTerms go straight to the store behind it.
//
//   auto store = std::make_shared<leased::LeasedStore>(leased::Options{.store = redis, .clock = clock});
//
// For a key that is asked for often it draws a slice of the bucket (weir/draw_step.h) and answers from that until it is
// spent or its time is over; it asks again before that, one call at a time for a key, and requests that find nothing
// left wait for that call together. A key that is asked for now and then is passed on, and so is exact. What is left of
// a slice at its end is lost: giving it back would break the bound (docs/consistency.md). Slices are also dropped when
// the rules change, and when the store may have lost its data.
//
// A decision over several buckets stays all or none: what a slice has given for it goes back to that slice if another
// bucket denies or the store fails. Leases and reservations are passed on.
//
// Belongs to one thread, like the Redis store of a loop, and calls complete on it. Holds no timers: time is read
// when something is asked. Destroy it only when nothing is in flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/pool.h"
#include "stores/leased/ask.h"
#include "stores/leased/slice_table.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::leased {

// For metrics. Written by the store's thread, readable from any.
struct Stats {
  using Counter = std::atomic<std::uint64_t>;
  Counter answered{0};  // calls answered without the store
  Counter asks{0};      // draws sent
  Counter granted{0};   // units
  Counter lapsed{0};    // units that were granted and not spent in time
  Counter paced{0};     // calls denied because the store had next to nothing a moment ago

  static void add(Counter& counter, std::uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};

// What becomes of slices, for tests. Not called while anything is in an inconsistent state.
class SliceListener {
 public:
  virtual void on_lapsed(const BucketKey& key, std::int64_t units) = 0;

 protected:
  ~SliceListener() = default;
};

struct Options {
  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock;
  // Changes when the store may have lost data: slices that were drawn before are dropped. Null: never.
  std::shared_ptr<const std::atomic<std::uint64_t>> epoch = nullptr;
  // How many draw from the same buckets, this one included; an old number does no harm. Null: one.
  std::shared_ptr<const std::atomic<std::uint32_t>> askers = nullptr;
  SliceListener* listener = nullptr;
};

class LeasedStore final : public Store {
 public:
  static constexpr std::size_t kMaxWaiting = 256;  // calls that wait for one ask; more are passed on
  static constexpr Duration kPace = std::chrono::milliseconds(10);
  // A key of a rule with `hot_keys: lease` is hot after so many units per second for so long, and no longer so after
  // half as many for so long.
  static constexpr std::int64_t kHotRate = 1'000;
  static constexpr Duration kHotAfter = std::chrono::seconds(2);
  static constexpr Duration kCoolAfter = std::chrono::seconds(30);

  explicit LeasedStore(Options options);
  ~LeasedStore() override;
  LeasedStore(const LeasedStore&) = delete;
  LeasedStore& operator=(const LeasedStore&) = delete;

  bool begin(StoreCall& call) override;
  void prefetch(std::span<const Charge> charges) override { inner_->prefetch(charges); }
  bool uses_tags() const override { return inner_->uses_tags(); }
  bool holds_reservations() const override { return inner_->holds_reservations(); }
  bool immediate() const override { return inner_->immediate(); }
  bool answers_on_this_thread() const override { return inner_->answers_on_this_thread(); }
  std::string_view name() const override { return inner_->name(); }

  const Stats& stats() const { return stats_; }
  // Keys that have a slice now. On the store's thread.
  std::size_t leased_keys();

 private:
  friend class Ask;
  friend class PartOfCall;

  // leased_store.cc
  bool take(StoreCall& call);
  bool take_one(StoreCall& call, TimePoint now);
  bool refund(StoreCall& call);
  bool forget(StoreCall& call);
  SliceEntry* open(const Charge& charge, TimePoint now);
  bool spend(SliceEntry& entry, std::int64_t cost, TimePoint now, Spent& spent);
  void give_back(const Charge& charge, const Spent& spent);
  void give_back_all(const Waiter& waiter);
  void describe(const SliceEntry* entry, const Charge& charge, TimePoint now, ChargeOutcome& outcome) const;
  void describe_spent(const Waiter& waiter, TimePoint now);
  void note_heat(SliceEntry& entry, const SliceTerms& terms, TimePoint now);
  bool may_draw(const SliceEntry& entry, const Charge& charge) const;
  void drop_slices(SliceEntry& entry);
  void trim_slices(const Waiter& waiter, TimePoint now);
  void drop_after_loss();
  void lapse(const SliceEntry& entry, const Slice& slice);
  bool answer_from_slices(const Waiter& waiter, TimePoint now);
  bool deny_paced(SliceEntry& entry, const Waiter& waiter, TimePoint now);
  void refill(const StoreCall& call, TimePoint now);
  void refill(SliceEntry& entry, const StoreCall& call, const Charge& charge, TimePoint now);

  // draws.cc
  // True: the waiter's call is answered.
  bool ask_for(SliceEntry& entry, Waiter waiter, TimePoint now);
  void ask_ahead(SliceEntry& entry, const StoreCall& call, const Charge& charge, TimePoint now);
  Ask& make_ask(SliceEntry& entry, const StoreCall& call, const Charge& charge, std::int64_t cost, TimePoint now);
  bool send(Ask& ask);
  void answered(Ask& ask);
  // Serves those that wait for the ask, and gives it back to the pool. Calls that are answered are appended.
  void settle(Ask& ask, std::vector<StoreCall*>& done);
  void learn(SliceEntry& entry, const Ask& ask, TimePoint now);
  void serve(Ask& ask, SliceEntry* entry, Slice slice, TimePoint now, std::vector<StoreCall*>& done);
  void ask_again(SliceEntry& entry, std::vector<Waiter> waiting, int round, TimePoint now,
                 std::vector<StoreCall*>& done);
  void keep(SliceEntry& entry, const Slice& slice, TimePoint now);
  void deny(const Ask& ask, const Waiter& waiter, std::vector<StoreCall*>& done);
  void fail(const Ask& ask, std::vector<StoreCall*>& done);
  // Asks the store for what slices do not cover. True: answered.
  bool pass_on(const Waiter& waiter);
  void part_answered(PartOfCall& part);
  bool conclude_part(PartOfCall& part);

  std::uint64_t epoch() const { return epoch_ == nullptr ? 0 : epoch_->load(std::memory_order_relaxed); }
  std::int64_t parts() const {
    const std::uint32_t askers = askers_ == nullptr ? 1 : askers_->load(std::memory_order_relaxed);
    return 2 * std::int64_t{askers == 0 ? 1 : askers};
  }

  // Constant after construction.
  const std::shared_ptr<Store> inner_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> epoch_;
  const std::shared_ptr<const std::atomic<std::uint32_t>> askers_;
  SliceListener* const listener_;

  SliceTable table_;
  std::uint64_t seen_epoch_ = 0;
  Stats stats_;
  base::Pool<Ask> asks_;
  base::Pool<PartOfCall> parts_;
};

}  // namespace weir::leased
