// QuotaGate: where the units of quota rules are taken from. The engine asks it around the call to the store: for a
// leased quota before, for a strict one after; together they are charged all or none.
//
// The server's gate is on a ledger (src/ledger/gate). A program that embeds the library can bring one of its own
// (LimiterOptions::quotas).
//
// Thread-safe. A QuotaCall is completed exactly once, on any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/bucket_key.h"
#include "weir/hold.h"
#include "weir/rule.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// The part of one quota rule in one decision.
struct QuotaCharge {
  std::string_view rule;         // its id
  const Quota* quota = nullptr;  // alive until the call completes
  BucketKey key;                 // of the rule and the subject, for what is kept in memory
  std::int64_t limit = 0;        // after plans and overrides
  std::int64_t cost = 0;
  TimePoint since{};     // when the rules were loaded that say so
  bool binding = true;   // false (a shadow rule): its denial does not hold back the others
  bool follows = false;  // of a reservation: the cost is its amount
  bool commit_on_expiry = false;
  bool overridden = false;           // the limit is an override's: the tenant's plans do not matter
  std::int64_t own_limit = 0;        // the rule's, without plans and overrides; -1: unlimited
  std::span<const Plan> plans = {};  // the rule's; alive until the call completes
  // Nothing else decides about the request: a take need not wait for confirm(), and may leave `taken` null.
  bool alone = false;
  // For people and the ledger: "tenant=acme,user=bob", and the tenant. Empty in calls that do not wait.
  std::string subject = {};
  std::string tenant = {};

  // Answered. A status that is not ok: the ledger did not answer, and the rule's failure policy decides.
  ChargeOutcome outcome = {};
  void* taken = nullptr;  // of a leased take: what confirm() and put_back() are about
};

// The quota that an extension did not fit into.
struct QuotaDenial {
  std::string rule;
  std::int64_t limit = 0;
  ChargeOutcome outcome = {};
};

class QuotaCall {
 public:
  enum class Verb : std::uint8_t {
    take,    // all binding charges or none. All are leased, or all strict
    peek,    // what a take would answer
    refund,  // gives back at most what was used
    usage,   // has happened: always recorded, at `effective`
    // Of the reservation `id`.
    reserve,
    extend,
    narrow,  // the store has granted `amount` less than the ledger. With `before`, an extension is taken back whole
    commit,
    release,
    lookup,
  };
  Verb verb = Verb::take;
  Reading at;
  std::span<QuotaCharge> charges;
  std::string id = {};       // reservations: 32 hexadecimal digits. usage, take: makes it idempotent, if given
  std::string request = {};  // with such an id: a hash of what is asked
  std::int64_t amount = 0;   // reserve, extend, narrow
  std::int64_t actual = 0;   // commit
  bool partial = false;      // reserve, extend, peek for a reservation: what fits, at least 1
  Duration ttl{0};           // reserve, extend
  TimePoint effective{};     // usage; zero: now

  // Answered. Not ok: the ledger did not answer, or (with a message) cannot do this.
  Code status = Code::ok;
  std::string message = {};
  bool replayed = false;
  ReservationState state = ReservationState::open;
  bool known = true;  // false: there is no such reservation
  std::int64_t granted = 0;
  std::int64_t returned = 0;
  std::int64_t overage = 0;  // units recorded beyond limit and grace
  std::int64_t uncharged = 0;
  TimePoint expires{};                     // on the wall clock
  std::int64_t added = 0;                  // extend: units
  TimePoint before{};                      // extend: when it would have expired without it
  std::optional<QuotaDenial> denial = {};  // extend: nothing was added

  virtual void complete() = 0;

 protected:
  ~QuotaCall() = default;
};

class QuotaGate {
 public:
  enum class Quick : std::uint8_t {
    done,    // taken, or would be
    denied,  // `outcome` says why
    wait,    // ask with begin()
  };
  virtual ~QuotaGate() = default;

  // A leased quota, without waiting. Needs neither `subject` nor `tenant`.
  [[nodiscard]] virtual Quick try_take(QuotaCharge& charge, const Reading& at) = 0;
  [[nodiscard]] virtual Quick try_peek(QuotaCharge& charge, const Reading& at) = 0;

  // Every leased charge that was taken is confirmed (the request was admitted) or put back, once.
  virtual void confirm(QuotaCharge& charge) = 0;
  virtual void put_back(QuotaCharge& charge) = 0;
  // A strict take is reversed, because the request was denied after all. `id` is the call's.
  virtual void reverse(const std::string& id) = 0;
  // A reservation that the store refused holds nothing any more.
  virtual void release(const std::string& reservation) = 0;
  // A failure policy admitted the request while the ledger did not answer.
  virtual void admitted_without(const QuotaCharge& charge) = 0;

  virtual void begin(QuotaCall& call) = 0;
};

}  // namespace weir
