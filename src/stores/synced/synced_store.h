// SyncedStore: a store whose buckets are charged afterwards. A decorator for rules with `consistency: synced`; charges
// of other rules go straight to the store behind it.
//
//   auto store = std::make_shared<synced::SyncedStore>(
//       synced::Options{.store = leased, .clock = clock, .boot = boot, .credit = credit});
//
// A request is admitted by what the store said last, if the bucket has enough left and the units that this store has
// admitted without a receipt stay within its credit: its part of the rule's tolerance (credit.h). They are reported
// when half of the credit is used, and by tick() after the rule's sync_interval, and charged whether they fit or not.
// A request for which the credit does not suffice, or of whose bucket nothing is known, is decided by the store.
//
// So whatever happens, no more than the tolerance is admitted beyond the limit (docs/consistency.md). A report without
// an answer is never sent again: it may have been charged. Its units count against the credit until the store answers
// again; a store that is unavailable therefore costs one credit.
//
// A decision over several buckets stays all or none. Leases, reservations and calls that are charged once are passed
// on.
//
// Belongs to one thread, like the Redis store of a loop, and calls complete on it. Destroy it only when nothing is in
// flight.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/pool.h"
#include "stores/synced/account.h"
#include "stores/synced/credit.h"
#include "stores/synced/exchange.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::synced {

// For metrics. Written by the store's thread, readable from any.
struct Stats {
  using Counter = std::atomic<std::uint64_t>;
  Counter answered{0};      // calls answered without the store
  Counter reports{0};       // sent
  Counter reported{0};      // units
  Counter lost_reports{0};  // without an answer
  Counter lost{0};          // units of these

  static void add(Counter& counter, std::uint64_t by = 1) {
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
};

struct Options {
  std::shared_ptr<Store> store;
  std::shared_ptr<Clock> clock;  // what calls to the store have as their time
  // What is known ages by this one, which no one can set (engine/boot_clock.h), and so does the credit.
  std::shared_ptr<Clock> boot;
  std::shared_ptr<const Credit> credit;
  // Changes when the store may have lost data: what was known before means nothing. Null: never.
  std::shared_ptr<const std::atomic<std::uint64_t>> epoch = nullptr;
};

class SyncedStore final : public Store {
 public:
  // A bucket that the store said is empty is not asked for again before this.
  static constexpr Duration kPace = std::chrono::milliseconds(10);
  static constexpr std::size_t kMaxReports = 1'024;  // sent by one tick()

  explicit SyncedStore(Options options);
  ~SyncedStore() override;
  SyncedStore(const SyncedStore&) = delete;
  SyncedStore& operator=(const SyncedStore&) = delete;

  bool begin(StoreCall& call) override;
  void prefetch(std::span<const Charge> charges) override { inner_->prefetch(charges); }
  bool uses_tags() const override { return inner_->uses_tags(); }
  bool holds_reservations() const override { return inner_->holds_reservations(); }
  bool immediate() const override { return inner_->immediate(); }
  bool answers_on_this_thread() const override { return inner_->answers_on_this_thread(); }
  std::string_view name() const override { return inner_->name(); }

  // Sends the reports that are due; to be called some times per sync_interval. `all`: also those that are not due yet.
  void tick(bool all = false);
  // From any thread: tick() has something to do.
  bool wants_tick() const;
  // From any thread: units that are not reported fit into the credit of one in so many parts; 0: there are none.
  std::uint32_t settled() const { return settled_.load(std::memory_order_relaxed); }

  const Stats& stats() const { return stats_; }
  // Units that were admitted and that the store has not confirmed. On the store's thread.
  std::int64_t unreported();

 private:
  friend class Exchange;
  friend class Remainder;

  // synced_store.cc
  bool take(StoreCall& call);
  bool take_one(StoreCall& call, TimePoint now);
  bool refund(StoreCall& call);
  bool pass_through(StoreCall& call);
  Account* open(const Charge& charge, TimePoint now);
  std::int64_t credit_of(Account& account, TimePoint now);
  // What may be admitted without the store.
  struct Room {
    bool usable = false;      // what is known
    std::int64_t credit = 0;  // for all that the store has not confirmed
    std::int64_t left = 0;    // of the bucket, if something is known about now
  };
  Room room(Account& account, TimePoint now);
  static bool covers(const Account& account, const Room& room, std::int64_t cost);
  bool may_use(const Account& account, TimePoint now) const;
  bool deny_known(const Account& account, const Room& room, StoreCall& call, TimePoint now) const;
  void admit(Account& account, std::int64_t cost, TimePoint now);
  // `left`: of the bucket, by what is known.
  void describe(const Account& account, std::int64_t left, TimePoint now, ChargeOutcome& outcome) const;
  bool answer(const Split& split, TimePoint now);
  void forget_after_loss();

  // reports.cc
  void report_if_due(Account& account, std::int64_t credit, TimePoint now);
  void report(Account& account, TimePoint now);
  Exchange& make_exchange(Account& account, TimePoint now);
  // True: answered.
  bool carry(Account& account, StoreCall& call, TimePoint now);
  void answered(Exchange& exchange);
  void settle(Exchange& exchange);
  void hand_over(const Exchange& exchange) const;
  bool pass_on(const Split& split);
  void remainder_answered(Remainder& remainder);
  void conclude(Remainder& remainder);
  void end_pending(const Split& split, bool admitted, TimePoint now);
  void note_parts(std::uint32_t parts);
  void list(Account& account);

  std::uint64_t epoch() const { return epoch_ == nullptr ? 0 : epoch_->load(std::memory_order_relaxed); }

  // Constant after construction.
  const std::shared_ptr<Store> inner_;
  const std::shared_ptr<Clock> clock_;
  const std::shared_ptr<Clock> boot_;
  const std::shared_ptr<const Credit> credit_;
  const std::shared_ptr<const std::atomic<std::uint64_t>> epoch_;

  AccountTable table_;
  std::vector<Account*> due_;  // with something to report
  std::uint64_t seen_epoch_ = 0;
  Stats stats_;
  std::atomic<bool> listed_{false};
  std::atomic<std::uint32_t> settled_{0};
  base::Pool<Exchange> exchanges_;
  base::Pool<Remainder> remainders_;
};

}  // namespace weir::synced
