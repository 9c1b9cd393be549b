#include "advise/size_estimate.h"

#include <algorithm>
#include <cmath>

#include "rules/read/rule_summary.h"
#include "stores/memory/memory_store.h"

namespace weir::advise {
namespace {

constexpr std::size_t kMeasuredBuckets = 4'000;  // enough for the table's free slots to be in proportion
constexpr double kMaxMeasuredEntries = 400'000;  // of sliding logs, in all measured buckets
// Per key that is not in MEMORY USAGE: Redis's tables of keys and expiries (docs/redis.md).
constexpr double kRedisTables = 64;

class MeasuringCall final : public StoreCall {
 public:
  void complete() override {}
};

// Requests of one subject that are in one window.
double asked_in_window(const Rule& rule, const Load& load) {
  const double window_seconds = static_cast<double>(rule.allowance.window.count()) / 1e6;
  const double rate = load.requests_per_day / kSecondsPerDay / load.subjects;
  return std::clamp(rate * window_seconds, 1.0, static_cast<double>(std::max<std::int64_t>(1, rule.allowance.limit)));
}

// Bytes of one bucket: as many as fit the bound are made and charged, and the store says what they take.
double measured_bytes(const Rule& rule, double charges) {
  const Result<Allowance> allowance =
      rule.kind == ChargeKind::bucket ? make_allowance(rule.allowance) : make_concurrency(rule.allowance, rule.lease);
  if (!allowance.ok() || rule.kind != ChargeKind::bucket) return 128;
  memory::MemoryStore store(MemoryOptions{.max_bytes = std::size_t{1} << 30});
  const std::size_t empty = store.stats().bytes;
  const auto each = static_cast<std::size_t>(std::ceil(charges));
  const auto buckets = std::min<std::size_t>(
      kMeasuredBuckets, static_cast<std::size_t>(std::max(64.0, kMaxMeasuredEntries / static_cast<double>(each))));
  const TimePoint start = from_micros(1'800'000'000'000'000);
  for (std::size_t i = 0; i < buckets; ++i) {
    for (std::size_t k = 0; k < std::min<std::size_t>(each, kMaxLogLimit); ++k) {
      Charge charge;
      // Spread over the store's shards as real keys are.
      charge.key = {(i + 1) * 0x9e3779b97f4a7c15ULL, (i + 1) * 0xbf58476d1ce4e5b9ULL};
      charge.allowance = &allowance.value();
      ChargeOutcome outcome;
      MeasuringCall call;
      call.now = start + Duration{static_cast<std::int64_t>(k)};
      call.charges = std::span(&charge, 1);
      call.outcomes = std::span(&outcome, 1);
      static_cast<void>(store.begin(call));
    }
  }
  const memory::MemoryStats stats = store.stats();
  if (stats.keys == 0) return 0;  // unlimited in effect: nothing is kept
  return static_cast<double>(stats.bytes - empty) / static_cast<double>(stats.keys);
}

double redis_bytes_of(const Rule& rule, double charges) {
  const double id = static_cast<double>(rule.id.size()) - 4;  // the sizes were measured with ids of four letters
  if (rule.kind == ChargeKind::lease)
    return 43 + 37 * static_cast<double>(rule.allowance.limit) + 100 + kRedisTables + id;
  switch (rule.allowance.algorithm) {
    case Algorithm::fixed_window:
    case Algorithm::sliding_counter:
      return 136 + kRedisTables + id;
    case Algorithm::token_bucket:
    case Algorithm::gcra:
    case Algorithm::leaky_bucket:
      return 152 + kRedisTables + id;
    case Algorithm::bucketed_window:
      return 124 + 6 * static_cast<double>(rule.allowance.buckets.value_or(10)) + kRedisTables + id;
    case Algorithm::sliding_log:
      return 384 + 10 * charges + kRedisTables + id;
  }
  return 0;
}

// The share of the most frequent of n by Zipf's law.
double zipf_share(double n) { return 1 / (std::log(std::max(1.0, n)) + 0.5772); }

Status check_load(const Load& load) {
  const auto bad = [](const std::string& what) { return Failure{Code::invalid_argument, what}; };
  if (!(load.requests_per_day > 0) || load.requests_per_day > 1e15)
    return bad("requests per day: expected more than 0, up to 10^15");
  if (load.peak_per_second < 0 || load.peak_per_second > 1e10)
    return bad("peak: expected 0 to 10^10 requests a second");
  if (!(load.subjects >= 1) || load.subjects > 1e12) return bad("subjects: expected 1 to 10^12");
  if (load.hottest_share < 0 || load.hottest_share > 1)
    return bad("hottest: expected a share of the requests, such as 5%");
  double sum = 0;
  for (const CostShare& each : load.costs) {
    if (each.cost < 0 || each.cost > kMaxUnits || each.share < 0)
      return bad("costs: expected cost:share, such as 1:90%,10:10%");
    sum += each.share;
  }
  if (std::abs(sum - 1) > 0.01) return bad("costs: the shares do not add up to 100%");
  return success();
}

}  // namespace

Result<Estimate> estimate_size(const Rules& rules, Load load) {
  if (Status checked = check_load(load); !checked.ok()) return checked.failure();
  if (load.peak_per_second == 0) load.peak_per_second = usual_peak(load.requests_per_day);
  if (load.hottest_share == 0) load.hottest_share = zipf_share(load.subjects);
  Estimate estimate;
  estimate.average_cost = 0;
  for (const CostShare& each : load.costs) estimate.average_cost += static_cast<double>(each.cost) * each.share;
  for (const Rule& rule : rules.rules) {
    if (rule.mode == Mode::off) continue;
    RuleEstimate made{.rule = rule.id, .summary = rules::rule_summary(rule)};
    const double rollout = rule.rollout / 100.0;
    made.subjects = rule.per.empty() ? 1 : load.subjects * rollout;
    if (rule.max_subjects) made.subjects = std::min(made.subjects, static_cast<double>(*rule.max_subjects) + 1);
    made.operations = rule.unlimited ? 0 : load.peak_per_second * rollout;
    const double hottest = rule.per.empty() ? 1.0 : load.hottest_share;
    made.hottest_operations = made.operations * hottest;
    if (!rule.unlimited) {
      const double charges = asked_in_window(rule, load);
      made.memory_bytes = static_cast<std::uint64_t>(measured_bytes(rule, charges) * made.subjects);
      made.redis_bytes = static_cast<std::uint64_t>(redis_bytes_of(rule, charges) * made.subjects);
      if (rule.kind == ChargeKind::bucket && rule.allowance.window.count() > 0) {
        const double allowed =
            static_cast<double>(rule.allowance.limit) * 1e6 / static_cast<double>(rule.allowance.window.count());
        made.exceeds_limit = made.hottest_operations * estimate.average_cost > allowed;
      }
    }
    estimate.memory_bytes += made.memory_bytes;
    estimate.redis_bytes += made.redis_bytes;
    if (!rule.unlimited) estimate.store_calls = std::max(estimate.store_calls, made.operations);
    estimate.rules.push_back(std::move(made));
  }
  double charges = 0;
  for (const RuleEstimate& each : estimate.rules) charges += each.operations;
  const double further = std::max(0.0, charges - estimate.store_calls);
  estimate.redis_cores = (estimate.store_calls * kRedisMicrosPerDecision + further * kRedisMicrosPerFurtherRule) / 1e6;
  estimate.load = std::move(load);
  return estimate;
}

}  // namespace weir::advise
