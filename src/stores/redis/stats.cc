#include "stores/redis/stats.h"

namespace weir::redis {

const char* failure_kind_name(FailureKind kind) {
  switch (kind) {
    case FailureKind::refused:
      return "refused";
    case FailureKind::overload:
      return "overload";
    case FailureKind::connect:
      return "connect";
    case FailureKind::timeout:
      return "timeout";
    case FailureKind::late:
      return "late";
    case FailureKind::lost:
      return "lost";
    case FailureKind::loading:
      return "loading";
    case FailureKind::read_only:
      return "read_only";
    case FailureKind::memory:
      return "memory";
    case FailureKind::cluster:
      return "cluster";
    case FailureKind::permission:
      return "permission";
    case FailureKind::bucket:
      return "bucket";
    case FailureKind::other:
      return "other";
  }
  return "other";
}

const char* call_outcome_name(CallOutcome outcome) {
  switch (outcome) {
    case CallOutcome::admitted:
      return "admitted";
    case CallOutcome::denied:
      return "denied";
    case CallOutcome::failed:
      return "failed";
  }
  return "failed";
}

namespace {

std::int64_t steady_us(SteadyTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

void StoreStats::breaker_changed(bool open, SteadyTime now) {
  const std::uint32_t before = breakers_open.load(std::memory_order_relaxed);
  if (open) {
    add(breaker_opened);
    if (before == 0) open_since_us.store(steady_us(now), std::memory_order_relaxed);
    breakers_open.store(before + 1, std::memory_order_relaxed);
    return;
  }
  breakers_open.store(before - 1, std::memory_order_relaxed);
  if (before == 1)
    add(refused_us, static_cast<std::uint64_t>(steady_us(now) - open_since_us.load(std::memory_order_relaxed)));
}

std::chrono::microseconds StoreStats::refused_for(SteadyTime now) const {
  auto sum = static_cast<std::int64_t>(refused_us.load(std::memory_order_relaxed));
  if (breakers_open.load(std::memory_order_relaxed) > 0) {
    sum += steady_us(now) - open_since_us.load(std::memory_order_relaxed);
  }
  return std::chrono::microseconds(sum);
}

}  // namespace weir::redis
