#include "weir/allowance.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <string>

#include "algorithms/arithmetic.h"
#include "weir/hold.h"

namespace weir {
namespace {

constexpr std::int64_t kDefaultSubBuckets = 10;

constexpr std::array<std::string_view, kAlgorithmCount> kNames = {
    "fixed-window", "bucketed-window", "sliding-log", "sliding-counter", "token-bucket", "gcra", "leaky-bucket",
};

Failure wrong(std::string_view field, const std::string& value, const std::string& expected) {
  return {Code::invalid_argument, std::string(field) + ": is " + value + ", expected " + expected};
}

// In the largest unit that needs no fraction, as a rules file would write it.
std::string text_of(Duration duration) {
  struct Unit {
    std::int64_t ticks;
    const char* name;
  };
  constexpr Unit kUnits[] = {
      {86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "m"}, {1'000'000, "s"}, {1'000, "ms"}};
  for (const Unit& unit : kUnits) {
    if (duration.count() != 0 && duration.count() % unit.ticks == 0) {
      return std::to_string(duration.count() / unit.ticks) + unit.name;
    }
  }
  return std::to_string(duration.count()) + "us";
}

std::string range(std::int64_t least, std::int64_t most) {
  return std::to_string(least) + " to " + std::to_string(most);
}

bool has_burst(Algorithm algorithm) { return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra; }

Status check_limit_and_window(const AllowanceSpec& spec) {
  const bool log = spec.algorithm == Algorithm::sliding_log;
  const std::int64_t most = log ? kMaxLogLimit : kMaxUnits;
  if (spec.limit < 0 || spec.limit > most) {
    return wrong("limit", std::to_string(spec.limit), range(0, most) + (log ? " for sliding-log" : ""));
  }
  if (spec.window < kMinWindow || spec.window > kMaxWindow) {
    return wrong("window", text_of(spec.window), text_of(kMinWindow) + " to " + text_of(kMaxWindow));
  }
  return success();
}

// A field that is given must belong to the algorithm and lie within its bounds.
Status check_field(const AllowanceSpec& spec, std::string_view field, const std::optional<std::int64_t>& value,
                   bool applies, std::int64_t least, std::int64_t most) {
  if (!value) return success();
  if (!applies) {
    return Failure{Code::invalid_argument,
                   std::string(field) + ": does not apply to " + std::string(algorithm_name(spec.algorithm))};
  }
  if (*value < least || *value > most) return wrong(field, std::to_string(*value), range(least, most));
  return success();
}

// What can be owed must be countable exactly, in 1/rate_ticks of a unit, within 64 bits.
Status check_debt(const AllowanceSpec& spec, const Allowance& allowance) {
  const std::int64_t most_units = algorithms::kMaxDebt / allowance.rate_ticks;
  const auto rate = [&] {
    return " at a rate of " + std::to_string(allowance.rate_units) + " every " +
           text_of(Duration{allowance.rate_ticks});
  };
  if (has_burst(spec.algorithm) && allowance.burst > most_units) {
    if (spec.burst)
      return wrong("burst", std::to_string(allowance.burst), "at most " + std::to_string(most_units) + rate());
    return wrong("limit", std::to_string(spec.limit),
                 "a rounder one, or a burst of at most " + std::to_string(most_units) + rate());
  }
  if (spec.algorithm == Algorithm::leaky_bucket && 2 * allowance.queue + 1 > most_units) {
    const std::int64_t most_queue = (most_units - 1) / 2;
    if (spec.queue)
      return wrong("queue", std::to_string(allowance.queue), "at most " + std::to_string(most_queue) + rate());
    return wrong("limit", std::to_string(spec.limit),
                 "a rounder one, or a queue of at most " + std::to_string(most_queue) + rate());
  }
  return success();
}

Status check_sub_buckets(const Allowance& allowance) {
  if (allowance.algorithm != Algorithm::bucketed_window) return success();
  if (allowance.window.count() % allowance.buckets == 0) return success();
  return wrong("buckets", std::to_string(allowance.buckets),
               "a number that divides the window of " + text_of(allowance.window));
}

Allowance derive(const AllowanceSpec& spec) {
  Allowance allowance;
  allowance.algorithm = spec.algorithm;
  allowance.limit = spec.limit;
  allowance.window = spec.window;
  allowance.burst = spec.burst.value_or(spec.limit);
  if (spec.algorithm == Algorithm::leaky_bucket) allowance.queue = spec.queue.value_or(spec.limit);
  if (spec.algorithm == Algorithm::bucketed_window) allowance.buckets = spec.buckets.value_or(kDefaultSubBuckets);
  if (spec.limit == 0) {
    // No cost fits: one unit is more than a bucket without capacity, or a queue without a place, can take.
    allowance.burst = 0;
    allowance.queue = spec.algorithm == Algorithm::leaky_bucket ? -1 : 0;
  }
  // A debt from other numbers is repaid at some rate even where nothing is admitted.
  const std::int64_t rate = std::max<std::int64_t>(1, spec.limit);
  const std::int64_t divisor = std::gcd(rate, spec.window.count());
  allowance.rate_units = rate / divisor;
  allowance.rate_ticks = spec.window.count() / divisor;
  allowance.overdraft = allowance.largest_cost();
  return allowance;
}

}  // namespace

std::string_view algorithm_name(Algorithm algorithm) {
  const auto index = static_cast<std::size_t>(algorithm);
  assert(index < kNames.size());
  return kNames[index];
}

std::string_view consistency_name(Consistency consistency) {
  switch (consistency) {
    case Consistency::exact:
      return "exact";
    case Consistency::leased:
      return "leased";
    case Consistency::synced:
      return "synced";
  }
  return "exact";
}

std::string_view charge_kind_name(ChargeKind kind) {
  assert(kind == ChargeKind::lease || kind == ChargeKind::quota);
  return kind == ChargeKind::lease ? "concurrency" : "quota";
}

std::optional<Algorithm> algorithm_from_name(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<Algorithm>(i);
  }
  return std::nullopt;
}

Result<Allowance> make_allowance(const AllowanceSpec& spec) {
  const bool leaky = spec.algorithm == Algorithm::leaky_bucket;
  const bool bucketed = spec.algorithm == Algorithm::bucketed_window;
  const bool bursts = has_burst(spec.algorithm);
  if (Status status = check_limit_and_window(spec); !status.ok()) return status.failure();
  if (Status status = check_field(spec, "burst", spec.burst, bursts, 1, kMaxUnits); !status.ok()) {
    return status.failure();
  }
  if (Status status = check_field(spec, "queue", spec.queue, leaky, 0, kMaxUnits); !status.ok()) {
    return status.failure();
  }
  if (Status status = check_field(spec, "buckets", spec.buckets, bucketed, 2, kMaxSubBuckets); !status.ok()) {
    return status.failure();
  }
  const Allowance allowance = derive(spec);
  if (Status status = check_debt(spec, allowance); !status.ok()) return status.failure();
  if (Status status = check_sub_buckets(allowance); !status.ok()) return status.failure();
  return allowance;
}

namespace {

// The first field of an algorithm that is given.
std::optional<std::string> given_field(const AllowanceSpec& spec) {
  for (const auto& [field, given] :
       {std::pair("burst", spec.burst.has_value()), std::pair("queue", spec.queue.has_value()),
        std::pair("buckets", spec.buckets.has_value()), std::pair("window", spec.window != Duration::zero())}) {
    if (given) return field;
  }
  return std::nullopt;
}

}  // namespace

Result<Allowance> make_concurrency(const AllowanceSpec& spec, Duration lease) {
  if (spec.limit < 0 || spec.limit > kMaxConcurrency) {
    return wrong("limit", std::to_string(spec.limit), range(0, kMaxConcurrency) + " for concurrency");
  }
  if (lease < kMinHoldTtl || lease > kMaxHoldTtl) {
    return wrong("lease", text_of(lease), text_of(kMinHoldTtl) + " to " + text_of(kMaxHoldTtl));
  }
  if (const std::optional<std::string> field = given_field(spec)) {
    return Failure{Code::invalid_argument, *field + ": does not apply to concurrency"};
  }
  Allowance allowance;
  allowance.algorithm = Algorithm::fixed_window;  // not used; its largest cost is the limit
  allowance.limit = spec.limit;
  allowance.burst = spec.limit;
  allowance.window = lease;
  return allowance;
}

Result<Allowance> make_quota(const AllowanceSpec& spec) {
  if (spec.limit < 0 || spec.limit > kMaxUnits) return wrong("limit", std::to_string(spec.limit), range(0, kMaxUnits));
  if (const std::optional<std::string> field = given_field(spec)) {
    return Failure{Code::invalid_argument, *field + ": does not apply to quota, which has a period"};
  }
  Allowance allowance;
  allowance.algorithm = Algorithm::fixed_window;  // not used; its largest cost is the limit
  allowance.limit = spec.limit;
  allowance.burst = spec.limit;
  allowance.window = std::chrono::hours(1);  // not used, and the same for all
  return allowance;
}

}  // namespace weir
