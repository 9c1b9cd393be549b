#include <charconv>
#include <iomanip>
#include <memory>
#include <ostream>
#include <sstream>

#include "advise/size_estimate.h"
#include "base/json_text.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/failure_report.h"
#include "cli/quantities.h"
#include "cli/scale_report.h"
#include "cli/verbs.h"
#include "scale/deployment.h"
#include "weir/rules_file.h"

namespace weir::cli {
namespace {

struct EstimateOptions {
  std::string path;
  double requests_per_day = 1'000'000;
  double peak = 0;
  double subjects = 10'000;
  std::string costs = "1:100%";
  std::string hottest;
  bool scale = false;
  scale::Deployment deployment;
  bool json = false;
};

Failure wrong_estimate(std::string message) { return {Code::invalid_argument, std::move(message)}; }

// "5%" or "0.05"
std::optional<double> share_in(std::string_view text) {
  const bool percent = text.ends_with('%');
  if (percent) text.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || !(number >= 0)) return std::nullopt;
  return percent ? number / 100 : number;
}

// "1:90%,10:10%"
Result<std::vector<advise::CostShare>> parse_costs(std::string_view text) {
  std::vector<advise::CostShare> costs;
  const std::string whole(text);
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t colon = part.find(':');
    std::int64_t cost = -1;
    const std::string_view number = part.substr(0, colon);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), cost);
    const std::optional<double> share =
        colon == std::string_view::npos ? std::nullopt : share_in(part.substr(colon + 1));
    if (error != std::errc{} || end != number.data() + number.size() || cost < 0 || !share) {
      return wrong_estimate("--costs: is '" + shown(whole) +
                            "', expected cost:share pairs separated by commas, such as 1:90%,10:10%");
    }
    costs.push_back({cost, *share});
  }
  return costs;
}

void show_estimate(const advise::Estimate& estimate, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  std::size_t width = 4;
  for (const advise::RuleEstimate& rule : estimate.rules) width = std::max(width, columns_of(shown(rule.rule)));
  out << terminal.paint(Colour::faint,
                        padded("rule", width) + "    subjects      memory       Redis   ops/s at peak   hottest key/s")
      << '\n';
  for (const advise::RuleEstimate& rule : estimate.rules) {
    out << padded(shown(rule.rule), width) << std::setw(12) << rounded_number(rule.subjects) << std::setw(12)
        << size_for_people(rule.memory_bytes) << std::setw(12) << size_for_people(rule.redis_bytes) << std::setw(16)
        << rounded_number(rule.operations) << std::setw(16) << rounded_number(rule.hottest_operations);
    if (rule.exceeds_limit) out << "  " << terminal.paint(Colour::yellow, "more than the rule allows");
    out << '\n';
  }
  out << '\n'
      << terminal.paint(Colour::bold, "memory store") << "  " << size_for_people(estimate.memory_bytes)
      << ": set memory.max_bytes to at least " << size_for_people(estimate.memory_bytes * 3 / 2) << '\n'
      << terminal.paint(Colour::bold, "Redis") << "         " << size_for_people(estimate.redis_bytes) << ", "
      << rounded_number(estimate.store_calls) << " calls a second at peak, " << std::fixed << std::setprecision(2)
      << estimate.redis_cores << " of a core\n"
      << "for " << rounded_number(estimate.load.requests_per_day) << " requests a day, "
      << rounded_number(estimate.load.peak_per_second) << " a second at peak, the hottest subject with "
      << std::setprecision(1) << 100 * estimate.load.hottest_share << " % of them, " << std::setprecision(2)
      << estimate.average_cost << " units each; every rule is assumed to apply to every request\n";
  if (estimate.redis_cores > 0.5) {
    out << terminal.paint(Colour::yellow, "warning")
        << "  plan at most half of a Redis core; spread the load over a Cluster\n";
  }
}

void show_estimate_json(const advise::Estimate& estimate, std::ostream& out) {
  std::ostringstream text;
  text << std::setprecision(10) << "{\"rules\":[";
  for (std::size_t i = 0; i < estimate.rules.size(); ++i) {
    const advise::RuleEstimate& rule = estimate.rules[i];
    std::string id;
    base::append_json_string(id, rule.rule);
    text << (i == 0 ? "" : ",") << "{\"rule\":" << id << ",\"subjects\":" << rule.subjects
         << ",\"memory_bytes\":" << rule.memory_bytes << ",\"redis_bytes\":" << rule.redis_bytes
         << ",\"operations_per_second\":" << rule.operations << ",\"hottest_per_second\":" << rule.hottest_operations
         << ",\"hottest_exceeds_limit\":" << (rule.exceeds_limit ? "true" : "false") << '}';
  }
  text << "],\"memory_bytes\":" << estimate.memory_bytes << ",\"redis_bytes\":" << estimate.redis_bytes
       << ",\"store_calls_per_second\":" << estimate.store_calls << ",\"redis_cores\":" << estimate.redis_cores
       << ",\"average_cost\":" << estimate.average_cost << ",\"peak_per_second\":" << estimate.load.peak_per_second
       << ",\"hottest_share\":" << estimate.load.hottest_share << "}";
  out << text.str() << '\n';
}

// With --scale: for many nodes and regions.
int plan(const EstimateOptions& options, const Rules& rules, const Terminal& terminal) {
  scale::Deployment deployment = options.deployment;
  deployment.rate = options.peak > 0 ? options.peak : advise::usual_peak(options.requests_per_day);
  deployment.subjects = options.subjects;
  const Result<scale::Plan> made = scale::plan_deployment(rules, deployment);
  if (!made.ok()) {
    return report_failure(terminal, "weir rules estimate", options.json,
                          {Code::invalid_argument, made.failure().message});
  }
  if (options.json) {
    show_plan_json(made.value(), terminal.out);
  } else {
    show_plan(made.value(), terminal);
  }
  return kExitAllowed;
}

int estimate(const EstimateOptions& options, const Terminal& terminal) {
  const auto fail = [&](const Failure& failure) {
    return report_failure(terminal, "weir rules estimate", options.json, {Code::invalid_argument, failure.message});
  };
  const Result<RulesFile> read = read_rules(options.path);
  if (!read.ok()) return fail(read.failure());
  if (options.scale) return plan(options, read.value().rules, terminal);
  const Result<std::vector<advise::CostShare>> costs = parse_costs(options.costs);
  if (!costs.ok()) return fail(costs.failure());
  advise::Load load{.requests_per_day = options.requests_per_day,
                    .peak_per_second = options.peak,
                    .subjects = options.subjects,
                    .costs = costs.value()};
  if (!options.hottest.empty()) {
    const std::optional<double> share = share_in(options.hottest);
    if (!share || *share > 1)
      return fail(wrong_estimate("--hottest: is '" + shown(options.hottest) + "', expected a share such as 5%"));
    load.hottest_share = *share;
  }
  const Result<advise::Estimate> made = advise::estimate_size(read.value().rules, std::move(load));
  if (!made.ok()) return fail(made.failure());
  if (options.json) {
    show_estimate_json(made.value(), terminal.out);
  } else {
    show_estimate(made.value(), terminal);
  }
  return kExitAllowed;
}

}  // namespace

void add_rules_estimate(CLI::App& parent, Session& session) {
  Command verb(parent, "estimate", "Estimate memory, store operations and the hottest key for a load");
  const auto options = std::make_shared<EstimateOptions>();
  verb.word("path", options->path, "The rules file, or a folder of them").required();
  verb.number("--requests-per-day", options->requests_per_day, 1, 1e15, "Requests a day");
  verb.number("--peak", options->peak, 0, 1e10, "Requests a second at peak; 0: three times the average");
  verb.number("--subjects", options->subjects, 1, 1e12, "Active subjects of each rule");
  verb.text("--costs", options->costs, "What requests cost: cost:share pairs, separated by commas").value("MIX");
  verb.text("--hottest", options->hottest, "The busiest subject's share of the requests; by Zipf's law unless given")
      .value("SHARE");
  verb.flag("--scale", options->scale, "Plan for many nodes and regions: simulates the busiest keys on all of them");
  verb.number("--regions", options->deployment.regions, 1, 1'000, "With --scale: regions, each with this load");
  verb.number("--nodes", options->deployment.nodes, 0, 100'000,
              "With --scale: nodes of a region; 0: as many as the load needs");
  verb.number("--loops", options->deployment.loops, 1, 256, "With --scale: event loops of a node, one for each core");
  verb.number("--skew", options->deployment.skew, 0, 3, "With --scale: Zipf's exponent, how uneven subjects are");
  verb.number("--node-micros", options->deployment.node_micros, 0.1, 10'000,
              "With --scale: a node's CPU time for one decision, in microseconds");
  verb.flag("--json", options->json, "For machines: one object");
  verb.footer(
      "Bytes of the memory store are measured by making buckets of each rule in this process; those of Redis come "
      "from\n"
      "MEMORY USAGE (docs/redis.md).\n"
      "Exit codes: 0 estimated, 2 bad input or invalid rules.\n\n"
      "Examples:\n"
      "  weir rules estimate rules.yaml --requests-per-day 50000000 --peak 3000 --subjects 200000\n"
      "  weir rules estimate rules.yaml --costs 1:90%,25:10% --hottest 8% --json\n"
      "  weir rules estimate rules.yaml --scale --regions 30 --peak 1000000 --subjects 1000000000 --loops 16");
  verb.action(session, [&session, options] { return estimate(*options, session.terminal); });
}

}  // namespace weir::cli
