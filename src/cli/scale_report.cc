#include "cli/scale_report.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "base/json_text.h"
#include "cli/quantities.h"
#include "rules/compile/region_rules.h"

namespace weir::cli {
namespace {

std::string json_text(std::string_view text) {
  std::string out;
  base::append_json_string(out, text);
  return out;
}

void show_rules_of_plan(const scale::Plan& plan, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  std::size_t width = 4;
  for (const scale::RulePlan& rule : plan.rules) width = std::max(width, columns_of(shown(rule.rule)));
  out << terminal.paint(Colour::faint, padded("rule", width) +
                                           "  mode         calls/decision     calls/s   busiest key/s   its calls/s  "
                                           "active subjects       Redis  admitted beyond the limit")
      << '\n';
  for (const scale::RulePlan& rule : plan.rules) {
    out << padded(shown(rule.rule), width) << "  " << padded(std::string(consistency_name(rule.consistency)), 8)
        << std::setw(19) << three_digits(rule.calls_per_decision) << std::setw(12) << rounded_number(rule.store_calls)
        << std::setw(16) << rounded_number(rule.hottest_rate) << std::setw(14) << rounded_number(rule.hottest_calls)
        << std::setw(17) << rounded_number(rule.active_subjects) << std::setw(12) << size_for_people(rule.redis_bytes)
        << "  " << rule.bound << '\n';
  }
}

}  // namespace

void show_plan(const scale::Plan& plan, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  const scale::Deployment& d = plan.deployment;
  show_rules_of_plan(plan, terminal);
  out << '\n'
      << terminal.paint(Colour::bold, "in each region") << "  " << rounded_number(d.nodes) << " nodes of "
      << rounded_number(d.loops) << " cores (" << three_digits(plan.node_cores) << " cores busy), "
      << rounded_number(plan.redis_servers) << " Redis servers (" << three_digits(plan.redis_cores) << " cores busy, "
      << rounded_number(plan.store_calls) << " calls a second, " << size_for_people(plan.redis_bytes) << ")\n";
  if (plan.coordinator_rows > 0) {
    out << terminal.paint(Colour::bold, "between regions") << " " << rounded_number(plan.coordinator_rows)
        << " rows a second in the coordinator's PostgreSQL\n";
  }
  out << terminal.paint(Colour::bold, "what runs out first") << '\n';
  for (const scale::Ceiling& each : plan.ceilings) {
    std::string used = three_digits(100 * each.used) + " %";
    if (each.used > 1) used = terminal.paint(Colour::red, used);
    out << "  " << used << " of " << shown(each.name) << (each.used > 0.5 ? ": " + each.advice : "") << '\n';
  }
  out << "for " << rounded_number(d.regions) << (d.regions == 1 ? " region" : " regions") << " with "
      << rounded_number(d.rate) << " decisions a second and " << rounded_number(d.subjects)
      << " subjects each, the k-th busiest 1/k^" << three_digits(d.skew)
      << " as busy as the first; every rule is assumed to apply to every request\n";
}

void show_plan_json(const scale::Plan& plan, std::ostream& out) {
  std::ostringstream text;
  text << std::setprecision(10) << "{\"rules\":[";
  bool first = true;
  for (const scale::RulePlan& rule : plan.rules) {
    text << (first ? "" : ",") << "{\"rule\":" << json_text(rule.rule) << ",\"consistency\":\""
         << consistency_name(rule.consistency) << "\",\"region\":\"" << rules::region_sharing_name(rule.region)
         << "\",\"calls_per_decision\":" << rule.calls_per_decision
         << ",\"store_calls_per_second\":" << rule.store_calls << ",\"hottest_per_second\":" << rule.hottest_rate
         << ",\"hottest_calls_per_second\":" << rule.hottest_calls << ",\"allowed_share\":" << rule.allowed_share
         << ",\"active_subjects\":" << rule.active_subjects << ",\"redis_bytes\":" << rule.redis_bytes
         << ",\"coordinator_rows_per_second\":" << rule.coordinator_rows
         << ",\"beyond_limit\":" << json_text(rule.bound) << '}';
    first = false;
  }
  text << "],\"regions\":" << plan.deployment.regions << ",\"nodes\":" << plan.deployment.nodes
       << ",\"loops\":" << plan.deployment.loops << ",\"node_cores\":" << plan.node_cores
       << ",\"store_calls_per_second\":" << plan.store_calls << ",\"redis_cores\":" << plan.redis_cores
       << ",\"redis_servers\":" << plan.redis_servers << ",\"redis_bytes\":" << plan.redis_bytes
       << ",\"coordinator_rows_per_second\":" << plan.coordinator_rows << ",\"ceilings\":[";
  first = true;
  for (const scale::Ceiling& each : plan.ceilings) {
    text << (first ? "" : ",") << "{\"name\":" << json_text(each.name) << ",\"used\":" << each.used
         << ",\"advice\":" << json_text(each.advice) << '}';
    first = false;
  }
  text << "]}";
  out << text.str() << '\n';
}

}  // namespace weir::cli
