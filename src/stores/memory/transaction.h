// Transaction: the buckets of one StoreCall, all of whose shards are locked, and what the call does to them.
//
// Everything that can fail (a place in the table, a longer tail) is done before anything is charged, so a call that
// finds no room leaves every bucket as it was.
//
// A charge of a lease without a hold is only looked at. Leases are in transaction_holds.cc.
//
// Lives on the stack of one call, while the locks are held. Allocates only for new buckets and growing tails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/lease_bucket.h"
#include "stores/memory/memory_budget.h"
#include "stores/memory/shard.h"
#include "weir/store.h"

namespace weir::memory {

class Transaction {
 public:
  Transaction(StoreCall& call, MemoryBudget& budget) : call_(call), budget_(budget) {}

  // For each charge in turn: the shard that its key lives in.
  void add(Shard& shard);

  // Does what the call's action says and fills its outcomes. False: there was no room for a binding charge, and
  // nothing has changed. Precondition: one add() for each charge.
  bool run();

 private:
  struct Entry {
    Shard* shard;
    Slot* slot;                 // null: no bucket, or one of another algorithm, which counts as none
    std::int64_t now_us;        // a plain number, so that an unused entry costs nothing
    std::int64_t idle_from_us;  // of the slot as the call found it
    bool charge;                // to be charged by this call
    bool created;               // this call has put the slot there
    bool newcomer;              // the rule has as many subjects as it may
  };

  bool take();
  void refund();
  void reset();

  // Leases.
  bool is_lease(std::size_t i) const { return call_.charges[i].kind != ChargeKind::bucket; }
  algorithms::LeaseBucket leases(std::size_t i) const { return algorithms::LeaseBucket(entries_[i].slot->words()); }
  void open_leases(std::size_t i);
  ChargeOutcome evaluate_leases(std::size_t i, std::int64_t cost, bool takes) const;
  bool take_hold();
  bool answer_known();
  void add_lease(std::size_t i);
  std::uint64_t next_token() const;
  bool renew_hold();
  void settle_hold();
  void list_holds();
  void describe_all();

  bool find_newcomers();
  bool evaluate_all();
  bool ready(std::size_t i);
  bool all_ready();
  bool make_room();
  bool make_room_for(std::size_t i);
  bool may_stay(std::size_t i);
  bool grow_tail(std::size_t i);
  void take_back(std::size_t i);
  void charge_all();
  void count_denied();
  void describe_uncharged(std::size_t i);
  void report_in_callers_time();

  bool fresh(std::size_t i) const;
  algorithms::ConstBucketWords words(std::size_t i) const;
  algorithms::BucketWords changing_words(std::size_t i);
  ChargeOutcome evaluate(std::size_t i, std::int64_t cost) const;
  void locate(std::size_t i);
  void locate_all();
  std::size_t tail_words_needed(std::size_t i);
  void refresh_idle(std::size_t i);

  StoreCall& call_;
  MemoryBudget& budget_;
  std::size_t size_ = 0;
  Entry entries_[kMaxCharges];  // the first size_ of them; the rest is not even initialised
};

}  // namespace weir::memory
