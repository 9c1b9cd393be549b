// FallbackWatch: which rules are answered by their failure policy at the moment, and for how long; with a log line when
// a rule begins, when its policy changes because the time of the first has passed, and when the store answers again.
// The last says how many decisions were made without the store. A reload that changes the policy or removes the rule is
// not one of these, and is logged as itself.
//
// poll() from the background thread; the rest from any thread. Borrows the times and the log.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/stages/fallback_times.h"
#include "observe/log.h"
#include "observe/metrics.h"
#include "rules/rule_book.h"
#include "server/server_context.h"

namespace weir::server {

class FallbackWatch {
 public:
  FallbackWatch(engine::FallbackTimes& times, std::shared_ptr<rules::RuleBook> book, observe::Log& log)
      : times_(times), book_(std::move(book)), log_(log) {}

  // Logs what has changed since the last call.
  void poll(TimePoint now);

  void add_facts(TimePoint now, observe::Facts& facts) const;
  // Nothing while the store answers for all rules.
  void add_health(TimePoint now, HealthDetails& details) const;

 private:
  struct Fallback {
    std::uint32_t ordinal = 0;
    std::string_view rule;
    FailurePolicy policy = FailurePolicy::allow;
    Duration lasted{0};
    OnStoreFailure configured;  // that the policy is of
  };
  // Of the rules that are loaded.
  std::vector<Fallback> current(TimePoint now) const;
  void log_change(const Fallback& found);
  void log_ended(TimePoint now);
  void forget_unloaded();
  std::unordered_set<std::uint32_t> loaded() const;

  engine::FallbackTimes& times_;
  const std::shared_ptr<rules::RuleBook> book_;
  observe::Log& log_;

  struct Known {
    FailurePolicy policy = FailurePolicy::allow;
    TimePoint since;
    std::string_view rule;  // interned
    bool still = false;     // found by the current poll
    OnStoreFailure configured;
  };
  std::map<std::uint32_t, Known> known_;  // by ordinal; of poll()
};

}  // namespace weir::server
