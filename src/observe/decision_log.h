// DecisionLog: decisions as log lines, to see what the server is deciding right now: a random sample of all of them,
// and those that were made without the store.
//
//   {"ts":…,"level":"info","event":"decision","msg":"decision","outcome":"denied","reason":"limit_exceeded",
//    "rule":"search-per-key","algorithm":"token-bucket","limit":120,"remaining":0,"cost":1,"retry_after_ms":500,
//    "source":"redis","subject":"9c41d2e07b5a","subject_type":"tenant,api_key","tenant_hash":"3f90aa17c2d4",
//    "action":"search","region":"eu","store_us":412,"rules_version":7,"rules_hash":"9f86d081884c7d65",
//    "trace_id":"4bf92f35…"}
//
// Denials have a share of their own, because they are rare and are what operators ask about. A decision that allows,
// but that a rule in shadow mode would have denied, is sampled with the larger of both shares; its line has outcome
// "allowed" and names the rule as "shadow_denied".
//
// A degraded decision that the sample leaves out is a line with event "degraded_decision" and level warn, at most
// `degraded_per_second` times a second; "omitted" in the next line is how many were left out.
//
// A subject appears as the first digits of its keyed hash: enough to distinguish subjects, not to identify one. So
// does the tenant, unless `plain`: then its value is logged, and the values that the rule counts by; of secrets
// (subject_text.h) the hash.
//
// Ad-hoc charges are not logged. One for each event loop: not thread-safe. Borrows the logs, which bound how many lines
// a second are written. With an empty sample only degraded decisions reach it, and the others pay nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "keys/key_encoder.h"
#include "observe/log.h"
#include "observe/subject_text.h"
#include "weir/options.h"

namespace weir::observe {

// Shares are in parts of a million.
inline constexpr std::int64_t kWholeShare = 1'000'000;

struct DecisionSample {
  std::int64_t allowed = 0;
  std::int64_t denied = 0;

  bool none() const { return allowed == 0 && denied == 0; }
};

struct DecisionLogOptions {
  DecisionSample sample;
  std::int64_t degraded_per_second = 0;  // 0: these are only sampled
  bool plain = false;
  SecretNames secrets;
  HashKey hash_key{};
  std::string region;  // of this node; empty: not logged
  std::uint64_t seed = 0;
};

class DecisionLog final : public RequestObserver {
 public:
  // `degraded` is the log of degraded decisions.
  DecisionLog(Log& log, Log& degraded, DecisionLogOptions options);

  Scope scope() const override { return options_.sample.none() ? Scope::degraded_only : Scope::every_decision; }
  void on_decision(const Decision& decision, const RequestContext& context) override;

 private:
  bool drawn(std::int64_t share);
  bool admit_degraded(TimePoint at);
  void write(Log& log, Level level, std::string_view event, const Decision& decision, const RequestContext& context);

  Log& log_;
  Log& degraded_;
  const DecisionLogOptions options_;
  const keys::KeyEncoder encoder_;
  std::uint64_t random_;

  // Of degraded decisions.
  std::int64_t second_ = 0;  // that `written_` is about
  std::int64_t written_ = 0;
  std::int64_t omitted_ = 0;  // since the last line
};

}  // namespace weir::observe
