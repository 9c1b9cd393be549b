// UsageRecorder: consumption that has happened already. It is always recorded: charged to buckets as debt, within each
// rule's overdraft, and to quotas, beyond limit and grace as overage. Nothing is denied.
//
//   recorder.record({.request = weir::Request(attributes), .amount = 1'234, .id = "job-17"},
//                   [](const weir::UsageAnswer& answer) { … });
//
// With an id, the same report is recorded once: for a day in buckets, and in quotas as long as the ledger remembers it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weir/request.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

struct UsageReport {
  Request request = {};
  std::int64_t amount = 1;       // for rules that take the cost from the request or an attribute
  std::string_view id = {};      // with `caller`, of this report; empty: it is recorded as often as it comes
  std::string_view caller = {};  // who is authenticated
  TimePoint at{};                // when it happened, for quotas; zero: now
};

struct UsageAnswer {
  // Not ok: not recorded, or not everywhere; the message says why. unavailable: send it again, with the same id.
  Code status = Code::ok;
  std::string message;
  bool replayed = false;       // a report with this id had been recorded
  std::int64_t rules = 0;      // that counted it
  std::int64_t debt = 0;       // units in the bucket that took most
  std::int64_t uncharged = 0;  // units beyond the overdraft of some bucket
  std::int64_t overage = 0;    // units beyond limit and grace of quotas
};

class UsageRecorder {
 public:
  virtual ~UsageRecorder() = default;
  // Calls `done` once, here or later on a thread of the store or the ledger. The report is not used after it returns.
  virtual void record(const UsageReport& report, std::function<void(const UsageAnswer&)> done) = 0;
};

}  // namespace weir
