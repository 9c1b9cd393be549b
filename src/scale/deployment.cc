#include "scale/deployment.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "advise/size_estimate.h"
#include "rules/read/rule_summary.h"
#include "scale/key_traffic.h"
#include "scale/zipf.h"

namespace weir::scale {
namespace {

// docs/scaling.md says how these were measured.
constexpr double kBusy = 0.6;               // of a core, planned for
constexpr double kCoordinatorRows = 5'000;  // a second, that one PostgreSQL commits
constexpr double kShareLives = 10;          // seconds; renewed twice in that time
constexpr double kHotRanks = 100;           // simulated one by one
constexpr double kStratum = 1.5;            // ranks of the tail from k to 1.5 k are taken together
constexpr int kDrawn = 2;                   // of each stratum
constexpr double kColdRate = 0.02;          // a second: asked for too seldom for anything but a call each

struct Sum {
  double decisions = 0;
  double allowed = 0;
  double calls = 0;

  void add(const KeyOutcome& outcome, double rate) {
    decisions += rate;
    allowed += rate * outcome.allowed_share();
    calls += rate * outcome.calls_per_decision();
  }
};

Failure impossible(const std::string& what) { return {Code::invalid_argument, what}; }

Status check(const Deployment& d) {
  if (!(d.regions >= 1) || d.regions > 1'000) return impossible("--regions: expected 1 to 1,000");
  if (!(d.rate > 0) || d.rate > 1e10) return impossible("--peak: expected more than 0, up to 10^10 requests a second");
  if (!(d.subjects >= 1) || d.subjects > 1e12) return impossible("--subjects: expected 1 to 10^12");
  if (!(d.skew >= 0) || d.skew > 3) return impossible("--skew: expected 0 to 3");
  if (!(d.nodes >= 0) || d.nodes > 100'000) return impossible("--nodes: expected 0 to 100,000");
  if (!(d.loops >= 1) || d.loops > 256) return impossible("--loops: expected 1 to 256");
  if (!(d.node_micros > 0) || d.node_micros > 10'000)
    return impossible("--node-micros: expected more than 0, up to 10,000");
  return success();
}

// Keys of one rule, whose loads are spread by Zipf's law.
class RuleLoad {
 public:
  RuleLoad(const Deployment& deployment, double subjects, double rate, KeyTraffic& traffic)
      : zipf_(subjects, deployment.skew), rate_(rate), traffic_(traffic), random_(deployment.seed) {}

  Sum all() {
    Sum sum;
    const double hot = std::min(kHotRanks, zipf_.subjects());
    for (double rank = 1; rank <= hot; ++rank) {
      const double rate = rate_ * zipf_.share(rank);
      const KeyOutcome outcome = outcome_at(rate);
      if (rank == 1) hottest_ = outcome;
      sum.add(outcome, rate);
    }
    for (double from = hot + 1; from <= zipf_.subjects();) {
      const double to = std::min(std::max(from + 1, std::floor(from * kStratum)), zipf_.subjects() + 1);
      const double rate = rate_ * zipf_.share(from, to);
      std::uniform_real_distribution<double> rank(from, to);
      for (int i = 0; i < kDrawn; ++i) {
        sum.add(outcome_at(rate_ * zipf_.share(std::floor(rank(random_)))), rate / kDrawn);
      }
      from = to;
    }
    return sum;
  }
  const KeyOutcome& hottest() const { return hottest_; }
  double hottest_rate() const { return rate_ * zipf_.share(1); }

  // Keys that are asked for at least once in that time.
  double active_in(double seconds) const {
    double sum = 0;
    for (double from = 1; from <= zipf_.subjects();) {
      const double to = std::min(std::max(from + 1, std::floor(from * 1.1)), zipf_.subjects() + 1);
      sum += (to - from) * -std::expm1(-rate_ * zipf_.share(from, to) / (to - from) * seconds);
      from = to;
    }
    return sum;
  }

 private:
  KeyOutcome outcome_at(double rate) {
    if (rate < kColdRate) return {.decisions = 1, .allowed = 1, .store_calls = 1};
    return traffic_.run(rate);
  }

  Zipf zipf_;
  double rate_;
  KeyTraffic& traffic_;
  std::mt19937_64 random_;
  KeyOutcome hottest_;
};

std::string bound_of(const Rule& rule, double regions) {
  std::string within = "none";
  if (rule.consistency == Consistency::synced) within = "the tolerance";
  if (regions <= 1 || rule.region == RegionSharing::slices || rule.region == RegionSharing::central) return within;
  if (rule.region == RegionSharing::reconcile) {
    return rule.on_partition == OnPartition::hold ? "the tolerance" : "while cut off, the limit in each other region";
  }
  return "the limit in each other region";
}

// A share of the limit for each region, as if they were equally busy.
Rule in_one_region(Rule rule, double regions) {
  if (rule.region != RegionSharing::slices) return rule;
  const auto part = [regions](std::int64_t units) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(units) / regions));
  };
  rule.allowance.limit = part(rule.allowance.limit);
  if (rule.allowance.burst) rule.allowance.burst = part(*rule.allowance.burst);
  return rule;
}

Result<RulePlan> plan_rule(const Rule& rule, const Deployment& d) {
  RulePlan plan{.rule = rule.id, .summary = rules::rule_summary(rule)};
  plan.consistency = rule.consistency;
  plan.region = rule.region;
  plan.bound = bound_of(rule, d.regions);
  const double rate = d.rate * rule.rollout / 100.0;
  const double subjects = rule.per.empty() ? 1 : d.subjects;
  const double window = static_cast<double>(rule.allowance.window.count()) / 1e6;
  if (rule.kind == ChargeKind::quota) return plan;  // spent from slices of the ledger, not in the store
  const auto loops = static_cast<std::uint32_t>(std::min<double>(d.nodes * d.loops, KeyTraffic::kMostLoops));
  Rule simulated = in_one_region(rule, d.regions);
  if (rule.kind == ChargeKind::lease) {  // one call to acquire, one to release
    plan.calls_per_decision = 2;
    plan.hottest_rate = rate * Zipf(subjects, d.skew).share(1);
    plan.hottest_calls = 2 * plan.hottest_rate;
    plan.active_subjects = std::min(subjects, rate * static_cast<double>(rule.lease.count()) / 1e6);
  } else {
    Result<KeyTraffic> traffic = KeyTraffic::create(simulated, loops, d.seed);
    if (!traffic.ok()) return impossible("rule '" + rule.id + "': " + traffic.failure().message);
    RuleLoad load(d, subjects, rate, traffic.value());
    const Sum sum = load.all();
    plan.calls_per_decision = sum.decisions == 0 ? 0 : sum.calls / sum.decisions;
    plan.allowed_share = sum.decisions == 0 ? 1 : sum.allowed / sum.decisions;
    plan.hottest_rate = load.hottest_rate();
    plan.hottest_calls = plan.hottest_rate * load.hottest().calls_per_decision();
    plan.active_subjects = load.active_in(window);
  }
  plan.store_calls = rate * plan.calls_per_decision;
  if (rule.region == RegionSharing::central) {
    plan.store_calls *= d.regions;  // in the home region
    plan.hottest_calls *= d.regions;
  }
  if (rule.region == RegionSharing::slices) plan.coordinator_rows = 2 * plan.active_subjects * d.regions / kShareLives;
  if (rule.region == RegionSharing::reconcile) plan.coordinator_rows = plan.active_subjects * d.regions;
  Rules alone;
  alone.rules.push_back(rule);
  const Result<advise::Estimate> size = advise::estimate_size(alone, {.requests_per_day = rate * advise::kSecondsPerDay,
                                                                      .peak_per_second = rate,
                                                                      .subjects = std::max(1.0, plan.active_subjects)});
  if (size.ok()) plan.redis_bytes = static_cast<double>(size.value().redis_bytes);
  return plan;
}

void add_totals(Plan& plan) {
  const Deployment& d = plan.deployment;
  double charges = 0;
  double exact = 0;  // one call takes all exact rules of a decision; draws are calls of their own
  double drawn = 0;
  for (const RulePlan& rule : plan.rules) {
    charges += rule.store_calls;
    if (rule.consistency == Consistency::exact) {
      exact = std::max(exact, rule.store_calls);
    } else {
      drawn += rule.store_calls;
    }
    plan.redis_bytes += rule.redis_bytes;
    plan.coordinator_rows += rule.coordinator_rows;
  }
  plan.store_calls = exact + drawn;
  const double further = std::max(0.0, charges - plan.store_calls);
  plan.redis_cores =
      (plan.store_calls * advise::kRedisMicrosPerDecision + further * advise::kRedisMicrosPerFurtherRule) / 1e6;
  plan.redis_servers = std::max(1.0, std::ceil(plan.redis_cores / kBusy));
  plan.node_cores = d.rate * d.node_micros / 1e6;
}

std::string advice_for_key(const RulePlan& rule) {
  if (rule.consistency == Consistency::exact)
    return "consistency: leased, if the rule allows it; else count by more attributes";
  if (rule.calls_per_decision > 0.5) return "fewer nodes: each then sees more of a key, and draws larger slices";
  return "count by more attributes, or give the key a local_limit";
}

void add_ceilings(Plan& plan) {
  for (const RulePlan& rule : plan.rules) {
    if (rule.store_calls == 0) continue;
    plan.ceilings.push_back({"the Redis core of the busiest key of '" + rule.rule + "'",
                             rule.hottest_calls * advise::kRedisMicrosPerDecision / 1e6 / kBusy, advice_for_key(rule)});
  }
  if (plan.coordinator_rows > 0) {
    plan.ceilings.push_back(
        {"rows that the regions' coordinator writes", plan.coordinator_rows / kCoordinatorRows,
         "share fewer keys between regions: region: none for the rules whose keys live in one region"});
  }
  const double cores = plan.deployment.nodes * plan.deployment.loops;
  plan.ceilings.push_back({"the cores of a region's nodes", plan.node_cores / kBusy / cores, "add nodes"});
  std::stable_sort(plan.ceilings.begin(), plan.ceilings.end(),
                   [](const Ceiling& a, const Ceiling& b) { return a.used > b.used; });
}

}  // namespace

Result<Plan> plan_deployment(const Rules& rules, Deployment deployment) {
  if (Status checked = check(deployment); !checked.ok()) return checked.failure();
  if (deployment.nodes == 0) {
    deployment.nodes = std::ceil(deployment.rate * deployment.node_micros / 1e6 / (deployment.loops * kBusy));
  }
  Plan plan;
  plan.deployment = deployment;
  for (const Rule& rule : rules.rules) {
    if (rule.mode == Mode::off || rule.unlimited) continue;
    Result<RulePlan> made = plan_rule(rule, deployment);
    if (!made.ok()) return made.failure();
    plan.rules.push_back(std::move(made.value()));
  }
  add_totals(plan);
  add_ceilings(plan);
  return plan;
}

}  // namespace weir::scale
