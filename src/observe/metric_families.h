// What the files that make metric families share: samples with labels, and families of one fact.
#pragma once

#include <prometheus/metric_family.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::observe {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Label {
  std::string_view name;
  std::string_view value;
};

inline ClientMetric sample(MetricType type, double value, std::initializer_list<Label> labels) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  for (const Label& label : labels) metric.label.push_back({std::string(label.name), std::string(label.value)});
  return metric;
}

inline MetricFamily family(MetricType type, std::string_view name, std::string_view help) {
  MetricFamily out;
  out.name = name;
  out.help = help;
  out.type = type;
  return out;
}

// Adds families of one process-wide fact each.
class FactWriter {
 public:
  explicit FactWriter(std::vector<MetricFamily>& out) : out_(out) {}

  void counter(std::string_view name, std::string_view help, std::uint64_t value,
               std::initializer_list<Label> labels = {}) {
    add(MetricType::Counter, name, help, static_cast<double>(value), labels);
  }
  void fractional_counter(std::string_view name, std::string_view help, double value) {
    add(MetricType::Counter, name, help, value, {});
  }
  void gauge(std::string_view name, std::string_view help, double value, std::initializer_list<Label> labels = {}) {
    add(MetricType::Gauge, name, help, value, labels);
  }
  // One more sample of the family just added.
  void also(std::uint64_t value, std::initializer_list<Label> labels) {
    MetricFamily& last = out_.back();
    last.metric.push_back(sample(last.type, static_cast<double>(value), labels));
  }

 private:
  void add(MetricType type, std::string_view name, std::string_view help, double value,
           std::initializer_list<Label> labels) {
    out_.push_back(family(type, name, help));
    out_.back().metric.push_back(sample(type, value, labels));
  }
  std::vector<MetricFamily>& out_;
};

}  // namespace weir::observe
