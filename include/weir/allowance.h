// Allowance: how much one bucket may admit, checked and ready to compute with.
//
// Rules make allowances (one for the rule itself, one for each plan and override); algorithms only read them. An
// Allowance that exists is sound: every product that an algorithm forms from it and from a bounded cost fits in 64
// bits, so the arithmetic of a decision cannot overflow.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "weir/result.h"
#include "weir/time.h"

namespace weir {

enum class Algorithm : std::uint8_t {
  fixed_window,
  bucketed_window,
  sliding_log,
  sliding_counter,
  token_bucket,
  gcra,
  leaky_bucket,
};
inline constexpr int kAlgorithmCount = 7;

// What a rule counts in. Only a bucket has an algorithm; in rules files the others stand in its place.
enum class ChargeKind : std::uint8_t {
  bucket,   // units that time gives back
  lease,    // `concurrency`: units that are held, and free again when they are released or lapse
  quota,    // `quota`: units of a calendar period
  record,   // not of a rule: what is known of one reservation (hold_step.h)
  penalty,  // not an allowance: the penalty of the charge that it belongs to (penalty.h)
};
// The name used in rules files and answers: "concurrency", "quota". Precondition: one of these.
std::string_view charge_kind_name(ChargeKind kind);

// How a rule's buckets are kept where several nodes share them (docs/consistency.md).
enum class Consistency : std::uint8_t {
  exact,   // every decision asks the store
  leased,  // a node draws units in advance and spends them by itself; never admits more
  synced,  // a node admits by what it knows and reports it; admits more than the limit by a tolerance at most
};
// The name used in rules files and answers.
std::string_view consistency_name(Consistency consistency);

// The name used in rules files and answers, such as "token-bucket".
std::string_view algorithm_name(Algorithm algorithm);
std::optional<Algorithm> algorithm_from_name(std::string_view name);

// The most that one request may cost and one window may allow.
inline constexpr std::int64_t kMaxUnits = 1'000'000'000'000;
inline constexpr Duration kMinWindow = std::chrono::milliseconds(1);
inline constexpr Duration kMaxWindow = std::chrono::hours(24 * 3660);
inline constexpr std::int64_t kMaxSubBuckets = 1'000;
// A sliding log keeps one entry per admitted request, so its limit bounds its memory.
inline constexpr std::int64_t kMaxLogLimit = 100'000;
// A rule that counts different values keeps each of them, likewise.
inline constexpr std::int64_t kMaxDistinct = 1'000;
// A concurrency rule keeps one entry per lease, likewise.
inline constexpr std::int64_t kMaxConcurrency = 10'000;

// What a rule's author writes.
struct AllowanceSpec {
  Algorithm algorithm = Algorithm::token_bucket;
  std::int64_t limit = 0;  // units per window; 0 denies everything
  Duration window{0};
  std::optional<std::int64_t> burst = {};    // token-bucket, gcra; default: limit
  std::optional<std::int64_t> queue = {};    // leaky-bucket: how many units may wait; default: limit
  std::optional<std::int64_t> buckets = {};  // bucketed-window; default: 10

  bool operator==(const AllowanceSpec&) const = default;
};

// Constant after construction. Plain data: copies are independent.
struct Allowance {
  Algorithm algorithm = Algorithm::token_bucket;
  std::int64_t limit = 0;
  Duration window{0};
  std::int64_t burst = 0;    // token-bucket, gcra: capacity; otherwise equal to limit
  std::int64_t queue = 0;    // leaky-bucket; -1 when the limit is 0
  std::int64_t buckets = 0;  // bucketed-window: window is a multiple of it
  Duration anchor{0};        // fixed-window: windows begin this long after multiples of `window`; less than one

  // For work that has been done: units that may be charged beyond the capacity. Default: one capacity.
  std::int64_t overdraft = 0;
  bool charges_lapsed = false;  // a reservation that lapses has cost what it held; else nothing

  // limit/window in lowest terms: `rate_units` units every `rate_ticks` microseconds. Levels and debts are kept in
  // 1/rate_ticks of a unit, which makes every fractional rate exact.
  std::int64_t rate_units = 0;
  std::int64_t rate_ticks = 0;

  // The largest cost that can ever be admitted; 0 when the limit is 0.
  std::int64_t largest_cost() const {
    if (algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra) return burst;
    return algorithm == Algorithm::leaky_bucket ? queue + 1 : limit;
  }
};

// Checks a spec and derives the rest. The failure's message begins with the offending field and a colon, as in
// "burst: is 0, expected 1 to 1000000000000".
Result<Allowance> make_allowance(const AllowanceSpec& spec);

// The allowance of a concurrency rule: `spec.limit` units at a time, each for `lease` unless it is renewed. Fields of
// an algorithm do not apply. The failure's message is as above, with the fields `limit` and `lease`.
Result<Allowance> make_concurrency(const AllowanceSpec& spec, Duration lease);

// The allowance of a quota rule: `spec.limit` units of a calendar period. Fields of an algorithm do not apply. The
// window means nothing. Failures as above.
Result<Allowance> make_quota(const AllowanceSpec& spec);

}  // namespace weir
