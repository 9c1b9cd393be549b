// The table of metrics: every series that a scrape can show, described once. Help texts come from here,
// docs/metrics.md, the dashboards in deploy/grafana and the alerts in deploy/prometheus are generated from here
// (scripts/metrics_files.py), and a test compares a real scrape with it.
//
// A new metric is one new row; the code that fills it may leave its help empty. Constant; thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::observe {

enum class MetricGroup : std::uint8_t { decisions, rules, store, redis, quotas, database, callers, process };
std::string_view metric_group_name(MetricGroup group);

enum class MetricKind : std::uint8_t { counter, gauge, histogram };
std::string_view metric_kind_name(MetricKind kind);

struct MetricRow {
  std::string_view name;
  MetricKind kind = MetricKind::counter;
  MetricGroup group = MetricGroup::process;
  std::string_view help;
  std::string_view labels;  // "rule, outcome"; empty: none
  std::string_view bound;   // how many series there can be: "rules × 6"; empty: one
  std::string_view when;    // what must be so for it to be there: "with Redis"; empty: always
};
std::span<const MetricRow> metric_table();
// Null: not in the table.
const MetricRow* find_metric(std::string_view name);

// A panel of a dashboard. Queries use $__rate_interval and the label `instance`.
struct PanelRow {
  std::string_view dashboard;  // overview, rules, stores, quotas
  std::string_view title;
  std::string_view query;
  std::string_view legend;
  std::string_view unit;  // Grafana's name: ops, bytes, s, short, percentunit
  std::string_view when;  // as in MetricRow: without it the query returns nothing
};
std::span<const PanelRow> panel_table();

struct AlertRow {
  std::string_view name;
  std::string_view expression;
  std::string_view lasts;     // `for`
  std::string_view severity;  // page, ticket
  std::string_view summary;   // with {{ $labels.rule }}
  std::string_view what_to_do;
  std::string_view when;  // as in MetricRow
};
std::span<const AlertRow> alert_table();

// All three tables as one JSON object, for the generator.
std::string metric_tables_json();

}  // namespace weir::observe
