// Account: what a node knows of one bucket, and what it has admitted of it that was not reported to the store.
// AccountTable: the accounts of a store.
//
// Plain values, for one thread. Times are by the node's clock unless it says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/store.h"

namespace weir::synced {

class Exchange;

struct Account {
  BucketKey key;
  const Allowance* asked_under = nullptr;  // compared, never read; null: no account
  std::uint64_t version = 0;               // of the rules
  Charge charge;                           // what a report charges; its allowance is the copy below
  Allowance allowance;
  SliceTerms terms;
  std::uint32_t parts = 0;  // in which the tolerance was divided when credit was computed; 0: it was not
  std::int64_t credit = 0;

  // What the store said last. It tells nothing of another window.
  bool known = false;
  bool failing = false;    // it did not answer the last question
  std::int64_t left = 0;   // at known_at
  TimePoint known_at{};    // when its answer came
  TimePoint full_at{};     // a bucket that refills: full again, if nothing else is charged
  TimePoint good_until{};  // a window: it has not ended before
  TimePoint store_time{};  // a moment of that window, by the store
  TimePoint used_at{};     // the last request

  // Units that were admitted here and that `left` does not contain.
  std::int64_t unsynced = 0;   // to be reported
  std::int64_t pending = 0;    // of decisions that wait for another bucket: they may come to nothing
  std::int64_t in_flight = 0;  // reported, and not answered yet
  std::int64_t lost = 0;       // reported, and never answered: charged or not
  TimePoint due{};             // when what is unsynced is to be reported
  Exchange* exchange = nullptr;
  bool listed = false;  // among those that are checked for reports

  std::int64_t unreflected() const { return unsynced + pending + in_flight + lost; }
  bool is_window() const { return allowance.algorithm == Algorithm::fixed_window; }
  // What is known is about now.
  bool is_good(TimePoint now) const { return known && (!is_window() || now < good_until); }
  // Units left by what is known, never more than the store would say. Precondition: is_good().
  std::int64_t level(TimePoint now) const;
  // How long a bucket that refills takes for so many units, rounded up.
  Duration time_for(std::int64_t units) const;
  // As the answer to a question that was sent at `sent` says.
  void learn(const ChargeOutcome& outcome, const DrawStep& step, TimePoint sent, TimePoint now);
};

// Bounded: a set of kWays accounts for each part of the keys. A newcomer takes the place of the account that was not
// used for longest and owes nothing; where all of a set owe something, it is not kept and its requests ask the store.
class AccountTable {
 public:
  static constexpr std::size_t kWays = 4;

  // `sets`: a power of two.
  explicit AccountTable(std::size_t sets = 1'024) : mask_(sets - 1) {}

  // Null: not kept.
  Account* find(const BucketKey& key);
  // The key's account, which may be a new one. Null: there is no place for it.
  Account* admit(const BucketKey& key);

  template <typename Use>
  void for_each(Use use) {
    for (Account& account : accounts_) {
      if (account.asked_under != nullptr) use(account);
    }
  }

 private:
  Account* set_of(const BucketKey& key) { return &accounts_[(key.high & mask_) * kWays]; }

  const std::size_t mask_;
  std::vector<Account> accounts_;  // empty until the first key is kept
};

}  // namespace weir::synced
