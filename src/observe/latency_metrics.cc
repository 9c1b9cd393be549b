#include "observe/latency_metrics.h"

#include <limits>
#include <utility>

namespace weir::observe {
namespace {

// Buckets end at powers of two, in nanoseconds.
constexpr std::size_t kFirstPower = 12;
constexpr std::size_t kLastPower = 30;

ClientMetric histogram_of_times(const base::LatencySums& sums) {
  ClientMetric metric;
  metric.histogram.sample_sum = static_cast<double>(sums.total_ns) / 1e9;
  std::uint64_t cumulative = 0;
  std::size_t bucket = 0;
  for (std::size_t power = kFirstPower; power <= kLastPower; ++power) {
    const std::uint64_t end = std::uint64_t{1} << power;
    while (bucket < base::kLatencyBuckets && base::latency_bucket_end(bucket) <= end)
      cumulative += sums.counts[bucket++];
    metric.histogram.bucket.push_back({.cumulative_count = cumulative, .upper_bound = static_cast<double>(end) / 1e9});
  }
  metric.histogram.sample_count = sums.count();
  metric.histogram.bucket.push_back(
      {.cumulative_count = metric.histogram.sample_count, .upper_bound = std::numeric_limits<double>::infinity()});
  return metric;
}

}  // namespace

void collect_answer_times(const std::vector<FrontEndTimes>& times, std::vector<MetricFamily>& out) {
  MetricFamily answers =
      family(MetricType::Histogram, "weir_answer_seconds",
             "Time from receiving requests until their answers were made, of a sample, by front end.");
  for (const FrontEndTimes& each : times) {
    ClientMetric metric = histogram_of_times(each.sums);
    metric.label.push_back({"front_end", each.front_end});
    answers.metric.push_back(std::move(metric));
  }
  if (!answers.metric.empty()) out.push_back(std::move(answers));
}

}  // namespace weir::observe
