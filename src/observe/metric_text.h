// The Prometheus text format. Families with a few samples are made as values (metric_families.h) and written at once;
// those with samples for each rule are written line by line, because 1,000 rules have some 20,000 of them.
//
//   MetricLines checks("weir_checks_total");
//   checks.add("rule=\"login\"", 7);
//   append_family(out, MetricType::Counter, "What each rule said.", checks);
//
// Plain values; not thread-safe.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::observe {

// The samples of one family.
class MetricLines {
 public:
  explicit MetricLines(std::string_view name) : name_(name) {}

  // `labels` is what is between the braces. `suffix` follows the name, as in "_bucket".
  void add(std::string_view labels, std::uint64_t value, std::string_view suffix = {});
  void add_fraction(std::string_view labels, double value, std::string_view suffix = {});

  std::string_view name() const { return name_; }
  const std::string& text() const { return text_; }

 private:
  void begin(std::string_view labels, std::string_view suffix);

  const std::string_view name_;
  std::string text_;
};

// name="value", escaped, after a comma if there is something before it.
void append_label(std::string& out, std::string_view name, std::string_view value);
// Whole numbers as such, others as short as they can be read back; "+Inf".
void append_metric_number(std::string& out, double value);

// Nothing if there are no samples. The help is that of the table of metrics, if it has the family.
void append_family(std::string& out, prometheus::MetricType type, std::string_view help, const MetricLines& lines);
void append_families(std::string& out, const std::vector<prometheus::MetricFamily>& families);

}  // namespace weir::observe
