#include "stores/synced/account.h"

#include <algorithm>

#include "algorithms/draw.h"
#include "stores/synced/credit.h"

namespace weir::synced {
namespace {

__extension__ typedef __int128 WideCount;

// count · factor / divisor, and at most `most`. None is negative. The product nearly always fits into 64 bits, which
// are divided in a fraction of the time that 128 take.
std::int64_t multiplied(std::int64_t count, std::int64_t factor, std::int64_t divisor, bool rounded_up,
                        std::int64_t most) {
  const std::int64_t by = std::max<std::int64_t>(divisor, 1);
  const std::int64_t more = rounded_up ? by - 1 : 0;
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(count, factor, &product) && !__builtin_add_overflow(product, more, &product)) [[likely]]
    return std::min(product / by, most);
  return static_cast<std::int64_t>(std::min<WideCount>((WideCount{count} * factor + more) / by, most));
}

// What the rate refills in a time, which is not negative.
std::int64_t refilled(const Allowance& allowance, Duration time, bool rounded_up) {
  return multiplied(time.count(), allowance.rate_units, allowance.rate_ticks, rounded_up, 2 * kMaxUnits);
}

bool owes_nothing(const Account& account) {
  return account.exchange == nullptr && account.unsynced == 0 && account.pending == 0;
}

}  // namespace

// A clock that runs too fast must not refill the bucket: what has passed counts for less, and what is to pass for more.
std::int64_t Account::level(TimePoint now) const {
  if (is_window()) return left;
  const Duration passed = std::max(now - known_at, Duration{0});
  const std::int64_t grown = left + refilled(allowance, passed - passed / kDriftShare, false);
  if (left > 0) return std::min(grown, allowance.burst);
  // It may owe more than it holds.
  const std::int64_t owed = now < full_at ? refilled(allowance, full_at - now, true) : 0;
  return std::min({grown, allowance.burst - owed, allowance.burst});
}

Duration Account::time_for(std::int64_t units) const {
  if (units <= 0 || allowance.rate_units <= 0) return Duration{0};
  return Duration{multiplied(units, allowance.rate_ticks, allowance.rate_units, true, kMaxWindow.count())};
}

// The answer was made at some moment between `sent` and `now`. A debt is not in `remaining`, but in how long the bucket
// takes to be full again.
void Account::learn(const ChargeOutcome& outcome, const DrawStep& step, TimePoint sent, TimePoint now) {
  left = outcome.remaining;
  known = true;
  known_at = now;
  if (!is_window()) {
    full_at = now + outcome.reset_after + outcome.reset_after / kDriftShare + Duration{1};
    return;
  }
  const Duration rest = algorithms::until_window_ends(allowance, step.at);
  const bool same = store_time + algorithms::until_window_ends(allowance, store_time) == step.at + rest;
  // What was admitted in a window that has passed is charged in it or not at all.
  if (!same) unsynced = 0;
  store_time = step.at;
  good_until = sent + rest - rest / kDriftShare - Duration{1};
}

Account* AccountTable::find(const BucketKey& key) {
  if (accounts_.empty()) return nullptr;
  Account* const set = set_of(key);
  for (std::size_t i = 0; i < kWays; ++i) {
    if (set[i].key == key && set[i].asked_under != nullptr) return &set[i];
  }
  return nullptr;
}

Account* AccountTable::admit(const BucketKey& key) {
  if (accounts_.empty()) accounts_.resize((mask_ + 1) * kWays);
  Account* const set = set_of(key);
  Account* oldest = nullptr;
  for (std::size_t i = 0; i < kWays; ++i) {
    Account& account = set[i];
    if (account.key == key && account.asked_under != nullptr) return &account;
    if (account.asked_under != nullptr && !owes_nothing(account)) continue;
    if (oldest == nullptr || (oldest->asked_under != nullptr && account.used_at < oldest->used_at)) oldest = &account;
  }
  if (oldest == nullptr) return nullptr;
  const bool listed = oldest->listed;  // it is still checked, under its new key
  *oldest = Account{};
  oldest->listed = listed;
  oldest->key = key;
  return oldest;
}

}  // namespace weir::synced
