#include "observe/metric_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "observe/metric_table.h"

namespace weir::observe {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

constexpr std::size_t kLongestNumber = 32;                 // of either kind
constexpr double kLargestWhole = 9'007'199'254'740'992.0;  // beyond that a double has no halves, nor all whole numbers

void append_whole(std::string& out, std::uint64_t value) {
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end.ptr);
}

// The end of a line. `before` is short.
void append_number(std::string& out, std::string_view before, std::uint64_t value) {
  char end[8 + 20 + 1];
  char* at = end + before.copy(end, 8);
  at = std::to_chars(at, end + sizeof end, value).ptr;
  *at++ = '\n';
  out.append(end, static_cast<std::size_t>(at - end));
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  const auto is_special = [](char c) { return c == '\\' || c == '\n' || c == '"'; };
  if (std::none_of(text.begin(), text.end(), is_special)) {
    out += text;
    return;
  }
  for (const char c : text) {
    if (c == '\\') {
      out += "\\\\";
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '"' && quotes) {
      out += "\\\"";
    } else {
      out += c;
    }
  }
}

std::string_view type_name(MetricType type) {
  switch (type) {
    case MetricType::Counter:
      return "counter";
    case MetricType::Gauge:
      return "gauge";
    case MetricType::Histogram:
      return "histogram";
    default:
      return "untyped";
  }
}

void append_head(std::string& out, MetricType type, std::string_view name, std::string_view help) {
  const MetricRow* const row = find_metric(name);
  out.append("# HELP ").append(name).append(" ");
  append_escaped(out, row == nullptr ? help : std::string_view(row->help), false);
  out.append("\n# TYPE ").append(name).append(" ").append(type_name(type)).append("\n");
}

void add_histogram(MetricLines& lines, const std::string& labels, const prometheus::ClientMetric::Histogram& of) {
  for (const auto& bucket : of.bucket) {
    std::string bound;
    append_metric_number(bound, bucket.upper_bound);
    lines.begin(labels, "le", "_bucket");
    lines.end(bound, bucket.cumulative_count);
  }
  lines.add_fraction(labels, of.sample_sum, "_sum");
  lines.add(labels, of.sample_count, "_count");
}

}  // namespace

void MetricLines::write_head() {
  if (has_head_) return;
  has_head_ = true;
  append_head(out_, type_, name_, help_);
}

void MetricLines::add(std::string_view labels, std::uint64_t value, std::string_view suffix) {
  write_head();
  out_.append(name_).append(suffix);
  if (!labels.empty()) out_.append("{").append(labels).append("}");
  append_number(out_, " ", value);
}

void MetricLines::add_fraction(std::string_view labels, double value, std::string_view suffix) {
  write_head();
  out_.append(name_).append(suffix);
  if (!labels.empty()) out_.append("{").append(labels).append("}");
  out_ += ' ';
  append_metric_number(out_, value);
  out_ += '\n';
}

void MetricLines::begin(std::string_view labels, std::string_view last_label, std::string_view suffix) {
  beginning_.assign(name_).append(suffix).append("{").append(labels);
  if (!labels.empty()) beginning_ += ',';
  beginning_.append(last_label).append("=\"");
}

void MetricLines::end(std::string_view last_value, std::uint64_t value) {
  write_head();
  out_.append(beginning_).append(last_value);
  append_number(out_, "\"} ", value);
}

void MetricLines::end(std::string_view last_value, std::string_view more, std::uint64_t value) {
  write_head();
  out_.append(beginning_).append(last_value).append("\"").append(more);
  append_number(out_, "} ", value);
}

void append_label(std::string& out, std::string_view name, std::string_view value) {
  if (!out.empty()) out += ',';
  out.append(name).append("=\"");
  append_escaped(out, value, true);
  out += '"';
}

void append_metric_number(std::string& out, double value) {
  if (std::isnan(value)) {
    out += "NaN";
  } else if (std::isinf(value)) {
    out += value > 0 ? "+Inf" : "-Inf";
  } else if (value >= 0 && value < kLargestWhole && value == std::floor(value)) {
    append_whole(out, static_cast<std::uint64_t>(value));
  } else {
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    out.append(digits, end.ptr);
  }
}

void append_families(std::string& out, const std::vector<MetricFamily>& families) {
  for (const MetricFamily& family : families) {
    MetricLines lines(out, family.type, family.name, family.help);
    for (const ClientMetric& metric : family.metric) {
      std::string labels;
      for (const ClientMetric::Label& label : metric.label) append_label(labels, label.name, label.value);
      if (family.type == MetricType::Histogram) {
        add_histogram(lines, labels, metric.histogram);
      } else {
        lines.add_fraction(labels, family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value);
      }
    }
  }
}

}  // namespace weir::observe
