// DecisionLog: a random sample of the decisions as log lines, for whoever asks "what is it deciding right now?".
//
//   {"ts":…,"level":"info","event":"decision","msg":"decision","outcome":"denied","reason":"limit_exceeded",
//    "rule":"search-per-key","algorithm":"token-bucket","limit":120,"remaining":0,"cost":1,"retry_after_ms":500,
//    "source":"memory","subject":"9c41d2e07b5a"}
//
// Denials have a share of their own, because they are rare and are what is asked about. A subject appears only as the
// first digits of its keyed hash: enough to tell subjects apart, nothing to find one by. How many lines a second may
// pass is the bound of the Log that is given.
//
// An observer that passes everything on to another. Ad-hoc charges are not sampled. One for each event loop: not
// thread-safe. Borrows the log. A server that samples nothing makes none, and so pays nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "observe/log.h"
#include "weir/limiter.h"

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
  DecisionLog(std::shared_ptr<Observer> next, Log& log, const DecisionSample& sample, std::uint64_t seed)
      : next_(std::move(next)), log_(log), sample_(sample), random_(seed) {}

  void on_decision(const Decision& decision) override;
  void on_charge(std::string_view space, const ChargeOutcome& outcome) override { next_->on_charge(space, outcome); }

 private:
  bool drawn(std::int64_t share);
  void write(const Decision& decision);

  const std::shared_ptr<Observer> next_;
  Log& log_;
  const DecisionSample sample_;
  std::uint64_t random_;
};

}  // namespace weir::observe
