// rapidcheck generators of allowances and of timed sequences against one bucket: backward clocks, weighted, zero and
// huge costs, refunds, counted denials, retries at the very moment that was promised.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <ostream>
#include <vector>

#include "weir/allowance.h"
#include "weir/time.h"

namespace weir::models {

struct Step {
  enum class Kind : std::uint8_t { take, peek, refund, count_denied };
  Kind kind = Kind::take;
  bool at_retry = false;     // at the moment that the last denial promised, instead of `advance`
  std::int64_t advance = 0;  // microseconds, may be negative
  std::int64_t cost = 1;
};

inline std::ostream& operator<<(std::ostream& out, const Step& step) {
  constexpr const char* kKinds[] = {"take", "peek", "refund", "count_denied"};
  out << kKinds[static_cast<int>(step.kind)] << ' ' << step.cost;
  return step.at_retry ? out << " at retry" : out << " after " << step.advance << "us";
}

// Where sequences start: most near the present, some at the epoch, where indexes of windows begin.
inline rc::Gen<TimePoint> any_start() {
  return rc::gen::map(rc::gen::weightedOneOf<std::int64_t>({
                          {4, rc::gen::inRange<std::int64_t>(1'800'000'000'000'000, 1'800'000'100'000'000)},
                          {1, rc::gen::inRange<std::int64_t>(0, 1'000'000)},
                      }),
                      [](std::int64_t tick) { return from_micros(tick); });
}

inline rc::Gen<std::int64_t> any_limit(Algorithm algorithm) {
  const std::int64_t most = algorithm == Algorithm::sliding_log ? kMaxLogLimit : kMaxUnits;
  return rc::gen::weightedOneOf<std::int64_t>({
      {4, rc::gen::inRange<std::int64_t>(1, 11)},
      {2, rc::gen::inRange<std::int64_t>(1, 1'000)},
      {1, rc::gen::element<std::int64_t>(7, 120, 65'537, 99'991)},
      {1, rc::gen::inRange<std::int64_t>(most / 2, most + 1)},
      {1, rc::gen::just(most)},
  });
}

inline rc::Gen<std::int64_t> any_window() {
  return rc::gen::weightedOneOf<std::int64_t>({
      {4, rc::gen::element<std::int64_t>(1'000, 7'000, 1'000'000, 3'000'000, 60'000'000, 86'400'000'000)},
      {2, rc::gen::inRange<std::int64_t>(1'000, 10'000'000)},
      {1, rc::gen::just(kMaxWindow.count())},
  });
}

// Any allowance of the algorithm. Where limit, window and capacity together cannot be counted exactly, the smallest
// capacity is taken instead.
inline rc::Gen<Allowance> any_allowance(Algorithm algorithm) {
  return rc::gen::exec([algorithm] {
    AllowanceSpec spec;
    spec.algorithm = algorithm;
    spec.limit = *any_limit(algorithm);
    spec.window = Duration{*any_window()};
    const bool bursts = algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra;
    const std::int64_t capacity = *rc::gen::inRange<std::int64_t>(0, std::min(kMaxUnits, 3 * spec.limit));
    if (bursts && *rc::gen::arbitrary<bool>()) spec.burst = capacity + 1;
    if (algorithm == Algorithm::leaky_bucket && *rc::gen::arbitrary<bool>()) spec.queue = capacity;
    if (algorithm == Algorithm::bucketed_window) {
      spec.buckets = *rc::gen::element<std::int64_t>(2, 3, 7, 10, 60, 1'000);
      const std::int64_t width = std::min(spec.window, kMaxWindow / 10).count() / *spec.buckets + 1;
      spec.window = std::max(kMinWindow, Duration{width * *spec.buckets});
      spec.window += Duration{(*spec.buckets - spec.window.count() % *spec.buckets) % *spec.buckets};
    }
    if (Result<Allowance> made = make_allowance(spec); made.ok()) return made.value();
    if (bursts) spec.burst = 1;
    if (algorithm == Algorithm::leaky_bucket) spec.queue = 0;
    return std::move(make_allowance(spec)).value();
  });
}

inline rc::Gen<std::int64_t> any_cost(const Allowance& allowance) {
  const std::int64_t largest = allowance.largest_cost();
  return rc::gen::weightedOneOf<std::int64_t>({
      {6, rc::gen::just<std::int64_t>(1)},
      {6, rc::gen::inRange<std::int64_t>(1, std::min(largest, kMaxUnits) + 1)},
      {3, rc::gen::inRange<std::int64_t>(1, largest / 4 + 2)},
      {1, rc::gen::just<std::int64_t>(0)},
      {1, rc::gen::just(std::min(largest, kMaxUnits))},
      {1, rc::gen::just(std::min(largest + 1, kMaxUnits))},
      {1, rc::gen::just(kMaxUnits)},
  });
}

inline rc::Gen<std::int64_t> any_advance(const Allowance& allowance) {
  const std::int64_t window = allowance.window.count();
  return rc::gen::weightedOneOf<std::int64_t>({
      {4, rc::gen::just<std::int64_t>(0)},
      {4, rc::gen::inRange<std::int64_t>(0, 4)},
      {6, rc::gen::inRange<std::int64_t>(0, window / allowance.limit + 2)},
      {4, rc::gen::inRange<std::int64_t>(0, window)},
      {1, rc::gen::inRange<std::int64_t>(window - 2, window + 3)},
      {1, rc::gen::inRange<std::int64_t>(0, 3 * window)},
      {2, rc::gen::inRange<std::int64_t>(-window, 1)},
  });
}

inline rc::Gen<std::vector<Step>> any_steps(const Allowance& allowance) {
  using Kind = Step::Kind;
  return rc::gen::container<std::vector<Step>>(rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::weightedElement<Kind>(
                                    {{12, Kind::take}, {2, Kind::peek}, {2, Kind::refund}, {2, Kind::count_denied}})),
      rc::gen::set(&Step::at_retry, rc::gen::weightedElement<bool>({{4, false}, {1, true}})),
      rc::gen::set(&Step::advance, any_advance(allowance)), rc::gen::set(&Step::cost, any_cost(allowance))));
}

}  // namespace weir::models

namespace weir {

inline std::ostream& operator<<(std::ostream& out, const Allowance& allowance) {
  return out << algorithm_name(allowance.algorithm) << " limit " << allowance.limit << " window "
             << allowance.window.count() << "us burst " << allowance.burst << " queue " << allowance.queue
             << " buckets " << allowance.buckets;
}

}  // namespace weir
