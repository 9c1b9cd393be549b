// Transaction: the buckets of one StoreCall, all of whose shards are locked, and what the call does to them.
//
// Everything that can fail (a place in the table, a longer tail) is done before anything is charged, so a call that
// finds no room leaves every bucket as it was.
//
// A charge of a lease without a hold is only checked. Leases are in transaction_holds.cc, reservations in
// transaction_reservations.cc, penalties and what else protects in transaction_penalties.cc, draws in
// transaction_draw.cc.
//
// Lives on the stack of one call, while the locks are held. Allocates only for new buckets and growing tails.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/lease_bucket.h"
#include "algorithms/penalty.h"
#include "algorithms/reservation_record.h"
#include "stores/memory/memory_budget.h"
#include "stores/memory/record_page.h"
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
    bool other_kind;            // the key has a slot, of another algorithm
    bool moved;                 // the slot may be elsewhere: others of its shard came or went
  };

  bool take();
  bool draw();
  void refund();
  void reset();

  // Leases.
  bool is_lease(std::size_t i) const { return call_.charges[i].kind == ChargeKind::lease; }
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
  void renew_leases(std::uint64_t own_token);
  bool leases_gone(std::uint64_t own_token, bool& lost);
  void end_leases();

  // Penalties.
  bool is_penalty(std::size_t i) const { return call_.charges[i].kind == ChargeKind::penalty; }
  algorithms::PenaltyStanding standing(std::size_t i) const;
  bool apply_penalties();
  bool strike(std::size_t i);
  void strike_denied();
  void keep_penalty(std::size_t i);
  void report();

  // Candidates.
  void withhold_candidates(std::size_t of);
  void charge_candidates();

  // Different values (algorithms/distinct_values.h).
  std::int64_t pending_values(std::size_t i) const;
  void charge_value(std::size_t i);

  // Reservations.
  // One that counts units; is_distinct(): one that counts values.
  bool is_bucket(std::size_t i) const { return call_.charges[i].kind == ChargeKind::bucket && !is_distinct(i); }
  bool is_distinct(std::size_t i) const { return call_.charges[i].value != 0; }
  bool is_record(std::size_t i) const { return call_.charges[i].kind == ChargeKind::record; }
  bool reserves() const { return call_.hold != nullptr && call_.hold->reservation; }
  bool adds_hold(std::size_t i) const { return reserves() && is_bucket(i) && call_.action != Action::settle; }
  // The call puts an entry into this bucket if it is admitted: one of 0 units only if that is what is reserved.
  bool holds_here(std::size_t i) const {
    return adds_hold(i) && (cost(i) > 0 || (call_.charges[i].follows && !adds_only_));
  }
  // What the call charges here. Of a reservation, what follows its amount costs what is granted.
  std::int64_t cost(std::size_t i) const { return reserves() && call_.charges[i].follows ? amount_ : own_cost(i); }
  std::int64_t own_cost(std::size_t i) const { return adds_only_ ? 0 : call_.charges[i].cost; }
  void open_holds(std::size_t i);
  bool run_reservation();
  bool take_reservation();
  bool extend_reservation();
  void live_longer(std::uint64_t own_token, bool lost);
  void settle_reservation();
  void list_reservations();
  void use_one_time();
  bool find_record(algorithms::ReservationRecord& record);
  void tell(const algorithms::ReservationRecord& record);
  void write_record(const algorithms::ReservationRecord& record, std::int64_t kept_until_us);
  void fit_amount();
  bool too_crowded(std::size_t i) const;
  bool is_admitted() const;
  void mark_no_room();
  void add_hold(std::size_t i);
  void settle_bucket(std::size_t i, std::int64_t granted);
  void charge_excess(std::size_t i, std::int64_t units);

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
  void mark_moved(std::size_t by);
  void locate_moved();
  std::size_t tail_words_needed(std::size_t i);
  void refresh_idle(std::size_t i);

  StoreCall& call_;
  MemoryBudget& budget_;
  std::size_t size_ = 0;
  bool guarded_ = false;         // some charge is a penalty
  bool candidates_ = false;      // some charge is a candidate
  std::int64_t amount_ = 0;      // of a reservation: granted so far, or to be added
  std::int64_t expires_us_ = 0;  // of a reservation that is being taken or extended
  bool adds_only_ = false;       // only what follows the amount is charged
  Entry entries_[kMaxCharges];   // the first size_ of them; the rest is not even initialised
};

}  // namespace weir::memory
