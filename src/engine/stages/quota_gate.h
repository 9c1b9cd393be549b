// QuotaPart: what a run has of quotas, and what the gate (weir/quotas.h) answered. The engine walks to the gate with
// it: leased quotas are taken before the store is asked, strict ones after it has admitted.
//
//   before the store   leased   quick, from what the node holds; or waits for the ledger
//   the store          charges everything else
//   after the store    strict   the ledger commits; if it refuses, the store's charges are given back
//   the verdict        leased ones are confirmed or put back, strict ones stay or are reversed
//
// A reservation holds all its quotas in the ledger, before the store is asked. So does a lease take them; if a client
// made its id, the store is asked before whether the id has a lease already, which takes nothing.
//
// Belongs to its run, and refers to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/run.h"
#include "weir/quotas.h"

namespace weir::engine {

// The charges of a check that the store sees, where some are quotas.
class StoreCharges {
 public:
  explicit StoreCharges(Check& check) : check_(check) { copy(); }

  // Again, because the check's charges have changed.
  void copy();
  std::span<const Charge> charges() const { return {charges_.data(), charges_.size()}; }
  std::span<ChargeOutcome> outcomes() { return {outcomes_.data(), outcomes_.size()}; }
  void hand_out();
  // Where the store's charge is among those of the check.
  std::size_t place_of(std::size_t charge) const { return places_[charge]; }

 private:
  Check& check_;
  InlineVector<Charge, 8> charges_;
  InlineVector<ChargeOutcome, 8> outcomes_;
  InlineVector<std::uint32_t, 8> places_;
};

// What a check's charge of a quota asks of the gate. Precondition: it is one, and of a request.
QuotaCharge quota_charge(const Check& check, std::size_t charge);

class QuotaPart final : public QuotaCall {
 public:
  enum class Waiting : std::uint8_t { no, look, before, after };
  // What the reservation of a run asks of the ledger.
  struct Reserving {
    std::string id;
    std::int64_t amount = 0;
    bool partial = false;
    Duration ttl{0};
  };

  // Precondition: the checks of the run are planned, and one has a quota. Takes the quotas out of what the run asks the
  // store.
  explicit QuotaPart(Run& run);

  // Leased quotas, without waiting: all, or the one that denies, or nothing.
  QuotaGate::Quick take_quickly(QuotaGate& gate);
  QuotaGate::Quick peek_quickly(QuotaGate& gate);
  // The texts that a ledger needs. While the requests are alive.
  void describe();
  // What the gate has answered goes to the outcomes of the checks.
  void hand_out();

  bool has_strict() const { return leased_ < all_.size(); }
  std::span<QuotaCharge> all() { return all_; }
  std::span<QuotaCharge> leased() { return {all_.data(), leased_}; }
  std::span<QuotaCharge> strict() { return {all_.data() + leased_, all_.size() - leased_}; }
  // A leased quota of a shadow rule that is used up goes on counting.
  bool counts_beyond(std::size_t quota) const;
  bool counts_beyond() const;
  // The first binding one that was denied, or not answered while its rule denies then. None: all admit.
  std::optional<std::size_t> refusing() const;
  std::size_t check_of(std::size_t quota) const { return places_[quota].check; }
  std::size_t charge_of(std::size_t quota) const { return places_[quota].charge; }

  void complete() override { run_.complete(); }

  std::optional<StoreCharges> store;  // none: the run has combined charges
  std::optional<Reserving> reserving;
  Waiting waiting = Waiting::no;
  bool can_wait = true;    // false: the run ends with its caller
  bool must_wait = false;  // such a run would have to: to be asked again by one that can
  bool refused = false;    // before the store was charged
  bool asked_strict = false;
  bool narrowed = false;  // the ledger was told how much less the store has granted
  bool looked = false;    // for the lease that the id of this call may have
  bool repeated = false;  // it has one: nothing is taken
  // With a name of the call (Request::once), a strict take is made once: its id, and what it is for. Else empty.
  std::string once = {};
  std::string once_request = {};
  Action asked = Action::take;  // what the run was to do, if it only looks because the gate refused

 private:
  struct Place {
    std::uint32_t check;
    std::uint32_t charge;
  };
  void add(std::uint32_t check, std::uint32_t charge);
  void name_strict();

  Run& run_;
  std::vector<QuotaCharge> all_;  // leased ones first
  InlineVector<Place, 8> places_;
  std::size_t leased_ = 0;
};

// The texts of the subject: "tenant=acme,user=bob", in the order of `per`. In values `%`, `,`, `=` and control
// characters are percent-encoded.
std::string quota_subject(const Rule& rule, const Request& request);

// The largest subject; longer ones are answered by the failure policy.
inline constexpr std::size_t kMaxQuotaSubject = 1024;

}  // namespace weir::engine
