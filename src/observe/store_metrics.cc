#include "observe/store_metrics.h"

#include <limits>

namespace weir::observe {
namespace {

// The store counts by latency only, so the sum is made from the buckets' bounds and is an upper estimate.
ClientMetric histogram_of(const std::vector<RemoteStoreFacts::LatencyBucket>& buckets) {
  ClientMetric metric;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    metric.histogram.sample_count += buckets[i].count;
    metric.histogram.sample_sum += static_cast<double>(buckets[i].count) * buckets[i].below_seconds;
    const bool last = i + 1 == buckets.size();
    metric.histogram.bucket.push_back(
        {.cumulative_count = metric.histogram.sample_count,
         .upper_bound = last ? std::numeric_limits<double>::infinity() : buckets[i].below_seconds});
  }
  return metric;
}

void collect_latency(const std::vector<RemoteStoreFacts::LatencyBucket>& buckets, std::vector<MetricFamily>& out) {
  MetricFamily latency = family(MetricType::Histogram, "weir_store_latency_seconds",
                                "How long the store took to answer. The sum is an upper estimate from the buckets.");
  latency.metric.push_back(histogram_of(buckets));
  out.push_back(std::move(latency));
}

void collect_scripts(const std::vector<RemoteStoreFacts::Script>& scripts, std::vector<MetricFamily>& out) {
  MetricFamily latency = family(MetricType::Histogram, "weir_store_script_latency_seconds",
                                "How long each script call took, by script and outcome: admitted, denied, or failed "
                                "(an error, or no answer in time). The sum is an upper estimate from the buckets.");
  MetricFamily errors =
      family(MetricType::Counter, "weir_store_script_errors_total", "Errors that scripts answered with, by script.");
  for (const RemoteStoreFacts::Script& script : scripts) {
    bool used = script.errors > 0;
    for (const RemoteStoreFacts::ScriptOutcome& each : script.outcomes) {
      ClientMetric metric = histogram_of(each.buckets);
      if (metric.histogram.sample_count == 0) continue;
      used = true;
      metric.label = {{"script", std::string(script.name)}, {"outcome", std::string(each.outcome)}};
      latency.metric.push_back(std::move(metric));
    }
    if (!used) continue;
    errors.metric.push_back(sample(MetricType::Counter, static_cast<double>(script.errors), {{"script", script.name}}));
  }
  for (MetricFamily* each : {&latency, &errors}) {
    if (!each->metric.empty()) out.push_back(std::move(*each));
  }
}

void collect_servers(const std::vector<RemoteStoreFacts::Server>& servers, std::vector<MetricFamily>& out) {
  using Server = RemoteStoreFacts::Server;
  const struct {
    MetricType type;
    const char* name;
    const char* help;
    double (*read)(const Server&);  // below 0: not known
  } kFigures[] = {
      {MetricType::Counter, "weir_store_server_calls_total", "Script calls sent to each Redis server.",
       [](const Server& s) { return static_cast<double>(s.calls); }},
      {MetricType::Counter, "weir_store_server_answers_total", "Answers of each Redis server that came in time.",
       [](const Server& s) { return static_cast<double>(s.answered); }},
      {MetricType::Counter, "weir_store_server_latency_seconds_total",
       "Total time that each Redis server took to answer.", [](const Server& s) { return s.latency_seconds; }},
      {MetricType::Counter, "weir_store_server_failures_total",
       "Calls that failed at each Redis server, including those that could not be sent.",
       [](const Server& s) { return static_cast<double>(s.failures); }},
      {MetricType::Gauge, "weir_store_server_in_flight", "Calls that wait for an answer of each Redis server.",
       [](const Server& s) { return static_cast<double>(s.in_flight); }},
      {MetricType::Gauge, "weir_store_server_memory_bytes", "Memory used by each Redis server, as it reports.",
       [](const Server& s) { return static_cast<double>(s.memory_bytes); }},
      {MetricType::Gauge, "weir_store_server_memory_max_bytes", "maxmemory of each Redis server; 0: no bound.",
       [](const Server& s) { return static_cast<double>(s.memory_max_bytes); }},
      {MetricType::Counter, "weir_store_server_cpu_seconds_total", "CPU time used by each Redis server, as it reports.",
       [](const Server& s) { return static_cast<double>(s.cpu_us) / 1e6; }},
      {MetricType::Gauge, "weir_store_server_keys",
       "Keys of Weir in each Redis server, estimated from a random sample.",
       [](const Server& s) { return static_cast<double>(s.keys); }},
      {MetricType::Gauge, "weir_store_server_key_bytes",
       "Memory that the keys of Weir take in each Redis server, estimated from a random sample.",
       [](const Server& s) { return static_cast<double>(s.key_bytes); }},
  };
  for (const auto& figure : kFigures) {
    MetricFamily made = family(figure.type, figure.name, figure.help);
    for (const Server& server : servers) {
      const double value = figure.read(server);
      if (value >= 0) made.metric.push_back(sample(figure.type, value, {{"server", server.name}}));
    }
    if (!made.metric.empty()) out.push_back(std::move(made));
  }
}

}  // namespace

void collect_remote_store(const RemoteStoreFacts& facts, std::vector<MetricFamily>& out) {
  FactWriter write(out);
  write.gauge("weir_store_breaker_state",
              "Circuit breaker: 0 closed; 1 open for some server; 2 half-open: a probe is in flight.",
              static_cast<double>(facts.breaker));
  write.counter("weir_store_breaker_opened_total", "Times that a server's circuit breaker opened.",
                facts.breaker_opened);
  write.fractional_counter("weir_store_fallback_seconds_total", "How long some circuit breaker was not closed.",
                           facts.fallback_seconds);
  write.counter("weir_store_calls_total", "Decisions that needed the store.", facts.calls);
  write.counter("weir_store_script_calls_total", "Scripts run in the store, including retries and refunds.",
                facts.script_calls);
  write.counter("weir_store_script_loads_total", "Scripts sent because the store did not have them.",
                facts.script_loads);
  write.counter("weir_store_redirects_total", "Calls that the cluster redirected to another server.", facts.redirects);
  write.counter("weir_store_connects_total", "Connections made to the store.", facts.connects);
  write.counter("weir_prefilter_hits_total", "Denials of exhausted buckets without asking the store.",
                facts.prefilter_hits);
  write.counter("weir_subject_count_failures_total", "Times that the subjects of a rule could not be counted.",
                facts.census_failures);
  MetricFamily failures =
      family(MetricType::Counter, "weir_store_failures_total", "Calls that the store did not answer, by cause.");
  for (const RemoteStoreFacts::FailureCount& each : facts.failures) {
    failures.metric.push_back(sample(MetricType::Counter, static_cast<double>(each.count), {{"kind", each.kind}}));
  }
  out.push_back(std::move(failures));
  collect_latency(facts.latency, out);
  collect_scripts(facts.scripts, out);
  collect_servers(facts.servers, out);
}

}  // namespace weir::observe
