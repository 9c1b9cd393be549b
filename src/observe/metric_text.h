// The Prometheus text format. Families with a few samples are made as values (metric_families.h) and written at once;
// those with samples for each rule are written line by line, because 1,000 rules have some 20,000 of them.
//
//   MetricLines checks(out, MetricType::Counter, "weir_checks_total", "What each rule said.");
//   checks.add("rule=\"login\"", 7);
//
// Plain values; not thread-safe.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::observe {

// The samples of one family, written to the end of a text, with HELP and TYPE before the first. One family at a time.
// The help is that of the table of metrics, if it has the family.
class MetricLines {
 public:
  MetricLines(std::string& out, prometheus::MetricType type, std::string_view name, std::string_view help)
      : out_(out), type_(type), name_(name), help_(help) {}

  // `labels` is what is between the braces. `suffix` follows the name, as in "_bucket".
  void add(std::string_view labels, std::uint64_t value, std::string_view suffix = {});
  void add_fraction(std::string_view labels, double value, std::string_view suffix = {});

  // Lines that begin with the same labels, and end with one of their own, whose value has nothing to escape:
  //   lines.begin("rule=\"login\"", "outcome");
  //   lines.end("allowed", 7);
  void begin(std::string_view labels, std::string_view last_label, std::string_view suffix = {});
  void end(std::string_view last_value, std::uint64_t value);
  // The same with more labels after it, escaped: `,subject="all"`.
  void end(std::string_view last_value, std::string_view more, std::uint64_t value);

 private:
  void write_head();

  std::string& out_;
  const prometheus::MetricType type_;
  const std::string_view name_;
  const std::string_view help_;
  bool has_head_ = false;
  std::string beginning_;
};

// name="value", escaped, after a comma if there is something before it.
void append_label(std::string& out, std::string_view name, std::string_view value);
// Whole numbers as such, others as short as they can be read back; "+Inf".
void append_metric_number(std::string& out, double value);

void append_families(std::string& out, const std::vector<prometheus::MetricFamily>& families);

}  // namespace weir::observe
