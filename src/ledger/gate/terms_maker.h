// TermsMaker: what a quota rule says about a subject at a moment, as the terms of an account.
//
// Thread-safe. Calendars are kept, so that a time zone's file is read once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "ledger/account.h"
#include "ledger/period.h"
#include "weir/quotas.h"

namespace weir::ledger {

// What is known of tenants. Thread-safe; must answer at once, because event loops ask.
class TenantDirectory {
 public:
  virtual ~TenantDirectory() = default;
  // A name of the tz database. Empty: none is known, which is UTC.
  virtual std::string zone_of(const std::string& tenant) const = 0;

  // A plan, and from when on it is the tenant's. The epoch: since ever.
  struct PlanFrom {
    std::string plan;
    TimePoint from{};
  };
  struct Plans {
    std::vector<PlanFrom> steps;  // ascending
    TimePoint written{};          // when that was last changed
  };
  virtual Plans plans_of(const std::string&) const { return {}; }
};

class TermsMaker {
 public:
  // `tenants` is borrowed; null: none is known. `since` is when a limit was decided of which nothing else is known.
  TermsMaker(const TenantDirectory* tenants, TimePoint since) : tenants_(tenants), since_(since) {}

  // The terms of the period that contains `wall`. Failures: invalid_argument (a zone that is not known, a time outside
  // the calendar).
  Result<Terms> make(const QuotaCharge& charge, TimePoint wall);
  // The terms of the period that contains `wall` for an account whose own period has closed: its limit, as one that was
  // decided before any other, so that the next check of the rule replaces it. None: there is no later period.
  std::optional<Terms> after_close(const Quota& quota, const Account& closed, TimePoint wall);
  // What the rule's `plan_change` makes of the limit in a period in which the tenant's plan changes. The charge's own
  // limit where the plan is not that of the tenant's record, because the request names one or an override applies.
  struct PlannedLimit {
    std::int64_t limit = 0;
    TimePoint written{};
  };
  PlannedLimit limit_in(const QuotaCharge& charge, const Period& period, TimePoint wall) const;
  // The period alone.
  Result<Period> period(const Quota& quota, const std::string& tenant, TimePoint wall);

 private:
  using CalendarKey = std::tuple<PeriodUnit, int, std::string>;
  // A subject's limit, and since when it is that.
  struct Seen {
    std::int64_t limit = 0;
    TimePoint since;
  };
  static constexpr std::size_t kMostSeen = 100'000;  // then they are forgotten

  Result<std::shared_ptr<const Calendar>> calendar(const Quota& quota, const std::string& tenant);
  // When this limit was decided: with the rules, or when the subject was first seen with another than before, because
  // its plan has changed.
  TimePoint decided(const AccountKey& key, std::int64_t limit, TimePoint by_rules, TimePoint wall);

  const TenantDirectory* const tenants_;
  const TimePoint since_;
  std::mutex mutex_;
  std::map<CalendarKey, std::shared_ptr<const Calendar>> calendars_;  // guarded by mutex_
  std::map<AccountKey, Seen> seen_;                                   // guarded by mutex_
};

// The thresholds of a limit, in units: ascending, each once.
std::vector<std::int64_t> thresholds_of(const Quota& quota, std::int64_t limit);

}  // namespace weir::ledger
