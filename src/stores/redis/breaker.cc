#include "stores/redis/breaker.h"

#include <algorithm>
#include <utility>

#include "stores/redis/jitter.h"

namespace weir::redis {

const char* breaker_state_name(BreakerState state) {
  switch (state) {
    case BreakerState::closed:
      return "closed";
    case BreakerState::open:
      return "open";
    case BreakerState::half_open:
      return "half_open";
  }
  return "unknown";
}

Breaker::Breaker(BreakerOptions options, std::uint64_t seed, Listener listener)
    : options_(options), listener_(std::move(listener)), delay_(options.first_delay), random_(seed) {}

void Breaker::call_succeeded() {
  if (state_ == BreakerState::closed) failures_ = 0;
}

void Breaker::call_failed(SteadyTime now) {
  if (state_ != BreakerState::closed) return;
  if (++failures_ >= options_.failures_to_open) open(now);
}

void Breaker::open(SteadyTime now) {
  if (!closed_at_ || now - *closed_at_ > options_.longest_delay) delay_ = options_.first_delay;
  wait_for_probe(now);
  if (listener_) listener_(state_);
}

void Breaker::wait_for_probe(SteadyTime now) {
  state_ = BreakerState::open;
  probe_at_ = now + jittered(delay_, random_);
  delay_ = std::min(delay_ * 2, options_.longest_delay);
}

std::optional<SteadyTime> Breaker::probe_at() const {
  if (state_ != BreakerState::open) return std::nullopt;
  return probe_at_;
}

void Breaker::hurry(SteadyTime now) {
  if (state_ == BreakerState::open) probe_at_ = std::min(probe_at_, now);
}

bool Breaker::start_probe(SteadyTime now) {
  if (state_ != BreakerState::open || now < probe_at_) return false;
  state_ = BreakerState::half_open;
  return true;
}

void Breaker::probe_succeeded(SteadyTime now) {
  if (state_ != BreakerState::half_open) return;
  state_ = BreakerState::closed;
  closed_at_ = now;
  failures_ = 0;
  if (listener_) listener_(state_);
}

void Breaker::probe_failed(SteadyTime now) {
  if (state_ == BreakerState::half_open) wait_for_probe(now);
}

}  // namespace weir::redis
