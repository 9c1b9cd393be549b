// LocalLimits: the caps that rules put in front of the store (`local_limit`), counted on this node for each
// subject.
//
// What they refuse costs the store nothing. A request takes from the caps of all its rules or of none, before the store
// is asked, and gives back when it is denied after all, so that a cap counts what this node has admitted. While the
// store is away and a policy lets everything pass, the cap still holds. A node without room for a new subject's cap
// leaves the decision to the store.
//
// Thread-safe if the store is. Borrows it.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/check.h"
#include "weir/store.h"

namespace weir::engine {

class LocalLimits {
 public:
  // `store` must answer at once. Its other buckets are left alone.
  explicit LocalLimits(Store& store) : store_(store) {}

  struct Answer {
    bool taken = false;                 // give_back() if the request is denied later
    std::optional<std::size_t> denied;  // the charge whose cap denies, with the longest wait if there are several
    ChargeOutcome outcome;              // its outcome
  };
  // Takes, peeks, refunds or resets the caps of the check's rules. Only a take or a peek is ever denied.
  Answer ask(const Check& check, Action action, const Reading& at);
  void give_back(const Check& check, const Reading& at) { ask(check, Action::refund, at); }

  // Takes that were refused.
  std::uint64_t denials() const { return denials_.load(std::memory_order_relaxed); }

 private:
  Store& store_;
  std::atomic<std::uint64_t> denials_{0};
};

}  // namespace weir::engine
