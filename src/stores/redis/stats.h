// StoreStats: what a Redis store has done so far, for metrics and health.
//
// Written by the store's loop, readable from any thread at any time (relaxed: each number is right, together they may
// be from slightly different moments).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "stores/redis/breaker.h"
#include "stores/redis/scripts.h"

namespace weir::redis {

// Why a call was not answered.
enum class FailureKind : std::uint8_t {
  refused,     // the breaker is open
  overload,    // more calls than can be answered in time
  connect,     // no connection
  timeout,     // no answer before the deadline, nor to any other call
  late,        // no answer before the deadline, while others were answered
  lost,        // the connection broke while waiting
  loading,     // LOADING, MASTERDOWN: the server is starting or out of sync
  read_only,   // READONLY: a replica; NOREPLICAS: a master that must not write alone
  memory,      // OOM: maxmemory
  cluster,     // CLUSTERDOWN, TRYAGAIN or redirected too often
  permission,  // NOPERM, NOAUTH
  bucket,      // an error of this bucket: a key of another type, an answer that cannot be right
  other,       // any other error
};
inline constexpr std::size_t kFailureKindCount = 13;
const char* failure_kind_name(FailureKind kind);
// True where the server is to blame: such failures in a row open its breaker. The others concern one call.
constexpr bool counts_against_server(FailureKind kind) {
  return kind != FailureKind::refused && kind != FailureKind::overload && kind != FailureKind::late &&
         kind != FailureKind::bucket;
}

// What became of a script call.
enum class CallOutcome : std::uint8_t { admitted, denied, failed };
inline constexpr std::size_t kCallOutcomeCount = 3;
const char* call_outcome_name(CallOutcome outcome);

class StoreStats {
 public:
  // Bucket i counts latencies below 2^i * 16 µs; the last one counts the rest.
  static constexpr std::size_t kLatencyBuckets = 14;
  static std::chrono::microseconds latency_bound(std::size_t bucket) {
    return std::chrono::microseconds(std::int64_t{16} << bucket);
  }

  using Counter = std::atomic<std::uint64_t>;
  Counter calls{0};         // begun, whatever became of them
  Counter script_calls{0};  // commands sent that run a script, retries and refunds included
  Counter script_loads{0};
  Counter redirects{0};  // MOVED and ASK followed
  Counter undone{0};     // slots refunded because another slot denied or failed
  Counter connects{0};
  Counter breaker_opened{0};
  Counter refused_us{0};  // how long some breaker was open; spells that have ended
  std::atomic<std::uint32_t> breakers_open{0};
  std::atomic<std::uint32_t> probes_under_way{0};
  std::atomic<std::int64_t> open_since_us{0};  // of the steady clock, while breakers_open is not 0
  std::array<Counter, kFailureKindCount> failures{};
  std::array<Counter, kLatencyBuckets> latency{};
  // Of script calls, by script (scripts.h) and what became of them; `failed`: an answer that is an error, or none.
  std::array<std::array<std::array<Counter, kLatencyBuckets>, kCallOutcomeCount>, kScriptCount> script_latency{};
  std::array<Counter, kScriptCount> script_errors{};  // answers of scripts that are errors

  static void add(Counter& counter, std::uint64_t by = 1) {
    // One writer: no read-modify-write needed.
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
  }
  void add_failure(FailureKind kind) { add(failures[static_cast<std::size_t>(kind)]); }
  void add_latency(std::chrono::microseconds latency_us) { add(latency[latency_bucket(latency_us)]); }
  void add_script_call(std::size_t script, CallOutcome outcome, std::chrono::microseconds latency_us) {
    add(script_latency[script][static_cast<std::size_t>(outcome)][latency_bucket(latency_us)]);
  }
  static std::size_t latency_bucket(std::chrono::microseconds latency_us) {
    const auto steps = static_cast<std::uint64_t>(latency_us.count()) / 16;
    const auto bucket = static_cast<std::size_t>(std::bit_width(steps));
    return bucket < kLatencyBuckets ? bucket : kLatencyBuckets - 1;
  }

  void breaker_changed(bool open, SteadyTime now);
  // How long calls were refused by some breaker, the present spell included.
  std::chrono::microseconds refused_for(SteadyTime now) const;
  void probe_changed(bool under_way) {
    probes_under_way.store(probes_under_way.load(std::memory_order_relaxed) + (under_way ? 1 : -1),
                           std::memory_order_relaxed);
  }
  // Of all servers together: half open while one that is out of use is being probed.
  BreakerState breaker() const {
    if (breakers_open.load(std::memory_order_relaxed) == 0) return BreakerState::closed;
    return probes_under_way.load(std::memory_order_relaxed) == 0 ? BreakerState::open : BreakerState::half_open;
  }
};

}  // namespace weir::redis
