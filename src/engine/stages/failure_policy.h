// FailurePolicies: what rules answer when the store does not. One verdict per charge:
//
//   allow    admitted, nothing counted
//   deny     denied as store_unavailable (503 over HTTP)
//   degrade  admitted and flagged, so that the caller can serve a reduced answer
//   local    counted in this process, against local_share percent of the allowance
//   static   counted in this process, one bucket for the whole rule, against static_limit per window
//
// A rule may have two of them, the second for outages that last (fallback_times.h says how long one has).
//
// local and static count in a small memory store of their own, so that what the shared store holds stays untouched.
// Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "engine/check.h"
#include "engine/stages/fallback_times.h"
#include "weir/rule.h"
#include "weir/store.h"

namespace weir::engine {

class FailurePolicies {
 public:
  // `fallback` must answer at once. It is only used by rules with policy local or static.
  FailurePolicies(Store& fallback, const keys::KeyEncoder& encoder, std::shared_ptr<FallbackTimes> times)
      : fallback_(fallback), encoder_(encoder), times_(std::move(times)) {}

  // Which of a check's deciding charges a policy answered for.
  using Failed = InlineVector<bool, kMaxCharges>;

  // The store did not answer the call at all (its status), or had no room for some buckets and, if one of them binds,
  // charged none. The rules concerned answer by their policies; if those admit, the buckets that the store does hold
  // are charged after all, with the call's hold, provided that `store` is given: one that answers at once, or null.
  Failed stand_in(Check& check, const StoreCall& call, Action action, Store* store);

  // Denied by this charge's rule, whose ledger did not answer, before the store was asked.
  void count_denial(const Check& check, std::size_t charge, TimePoint now);

  // To be called for every answer of the store.
  void store_answered(const Check& check, TimePoint now) {
    if (times_->any()) [[unlikely]]
      end_spells(check, now);
  }

  // How often `policy` has answered a take for a rule.
  std::uint64_t answered(FailurePolicy policy) const {
    return answered_[static_cast<std::size_t>(policy)].load(std::memory_order_relaxed);
  }

 private:
  // Writes outcomes for the charges marked in `failed`. Either all binding ones of them admit and local counts are
  // taken, or nothing is taken.
  void answer(Check& check, std::span<const bool> failed, Action action, const Reading& at);
  void end_spells(const Check& check, TimePoint now);
  void charge_others(Check& check, const Failed& failed, Action action, const StoreCall& call, Store& store);

  Store& fallback_;
  const keys::KeyEncoder& encoder_;
  const std::shared_ptr<FallbackTimes> times_;
  std::array<std::atomic<std::uint64_t>, kFailurePolicyCount> answered_{};
};

// local_share percent of an allowance, at least one unit.
Allowance scale_allowance(const Allowance& allowance, int percent);

}  // namespace weir::engine
