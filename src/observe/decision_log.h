// DecisionLog: a random sample of the decisions as log lines, to see what the server is deciding right now.
//
//   {"ts":…,"level":"info","event":"decision","msg":"decision","outcome":"denied","reason":"limit_exceeded",
//    "rule":"search-per-key","algorithm":"token-bucket","limit":120,"remaining":0,"cost":1,"retry_after_ms":500,
//    "source":"memory","subject":"9c41d2e07b5a"}
//
// Denials have a share of their own, because they are rare and are what operators ask about. A decision that allows,
// but that a rule in shadow mode would have denied, is sampled with the larger of both shares; its line has outcome
// "allowed" and names the rule as "shadow_denied". A subject appears only as the first digits of its keyed hash: enough
// to distinguish subjects, not to identify one. The Log that is given bounds how many lines a second are written.
//
// Ad-hoc charges are not sampled. One for each event loop: not thread-safe. Borrows the log. A server that samples
// nothing makes none, and so pays nothing.
#pragma once

#include <cstdint>

#include "observe/log.h"
#include "weir/options.h"

namespace weir::observe {

// Shares are in parts of a million.
inline constexpr std::int64_t kWholeShare = 1'000'000;

struct DecisionSample {
  std::int64_t allowed = 0;
  std::int64_t denied = 0;

  bool none() const { return allowed == 0 && denied == 0; }
};

class DecisionLog final : public Observer {
 public:
  DecisionLog(Log& log, const DecisionSample& sample, std::uint64_t seed) : log_(log), sample_(sample), random_(seed) {}

  void on_decision(const Decision& decision) override;

 private:
  bool drawn(std::int64_t share);
  void write(const Decision& decision);

  Log& log_;
  const DecisionSample sample_;
  std::uint64_t random_;
};

}  // namespace weir::observe
