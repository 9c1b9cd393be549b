// Breaker: stops asking a server that does not answer, and detects when it answers again.
//
//   closed ──N consecutive failures──▶ open ──delay──▶ half_open (one probe) ──success──▶ closed
//                                       ▲                    │ failure: a longer delay
//                                       └────────────────────┘
//
// One that opens again soon after it has closed goes on with the longer delay: a server that passes probes and fails
// calls is asked less and less often, too.
//
// A pure state machine: time is a parameter, nothing is awaited here. Not thread-safe; it belongs to one loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "stores/redis/options.h"

namespace weir::redis {

using SteadyTime = std::chrono::steady_clock::time_point;

enum class BreakerState : std::uint8_t { closed, open, half_open };
const char* breaker_state_name(BreakerState state);

class Breaker {
 public:
  // Runs at each change between closed and not closed; a failed probe is not a change.
  using Listener = std::function<void(BreakerState state)>;

  // `seed` spreads the probes of many nodes.
  Breaker(BreakerOptions options, std::uint64_t seed, Listener listener = {});

  // Only then may ordinary calls be sent.
  bool closed() const { return state_ == BreakerState::closed; }
  BreakerState state() const { return state_; }

  // The outcome of an ordinary call. Late answers of calls sent before the breaker opened do not move it.
  void call_succeeded();
  void call_failed(SteadyTime now);

  // When the next probe is due; nothing while closed or while a probe is under way.
  std::optional<SteadyTime> probe_at() const;
  // Makes the next probe due now: there is news, such as another master.
  void hurry(SteadyTime now);
  // True: the caller must send a probe and report its outcome.
  bool start_probe(SteadyTime now);
  void probe_succeeded(SteadyTime now);
  void probe_failed(SteadyTime now);

 private:
  void open(SteadyTime now);
  void wait_for_probe(SteadyTime now);

  const BreakerOptions options_;
  const Listener listener_;
  BreakerState state_ = BreakerState::closed;
  int failures_ = 0;
  std::chrono::milliseconds delay_;
  SteadyTime probe_at_{};
  std::optional<SteadyTime> closed_at_;  // by a probe
  std::uint64_t random_;
};

}  // namespace weir::redis
