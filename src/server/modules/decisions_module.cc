#include "server/modules/decisions_module.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include "server/log_settings.h"
#include "server/redis_settings.h"

namespace weir::server {
namespace {

constexpr Duration kFallbackPeriod = std::chrono::seconds(1);
constexpr Duration kSubjectPeriod = std::chrono::seconds(1);
// How long the last reports of synced rules may take when the server stops.
constexpr Duration kLeavePatience = std::chrono::milliseconds(500);

}  // namespace

Status DecisionsModule::open() {
  if (Status opened = open_logs(); !opened.ok()) return opened;
  if (context_.config.metrics_tenants.size() > observe::RequestCounters::kMaxTenants) {
    return Failure{Code::invalid_argument,
                   "metrics.tenants: has " + std::to_string(context_.config.metrics_tenants.size()) +
                       " entries, expected at most " + std::to_string(observe::RequestCounters::kMaxTenants)};
  }
  if (redis_.stores() != nullptr) {
    synced_ = std::make_unique<SyncedNodes>(context_, *redis_.stores(), rules_.book(), askers_);
  }
  for (std::size_t i = 0; i < context_.loops->size(); ++i) {
    counters_.push_back(std::make_shared<observe::DecisionCounters>(rules_.labels()));
    LimiterOptions options;
    if (redis_.stores() != nullptr) {
      leased_.push_back(std::make_shared<leased::LeasedStore>(
          leased::Options{.store = regions_.decorate(i, redis_.stores()->store(i)),
                          .clock = context_.clock,
                          .epoch = redis_.stores()->connects(i),
                          .askers = askers_}));
      options.store = synced_->decorate(i, leased_.back());
    } else {
      options.store = memory_.store();
    }
    options.clock = context_.clock;
    options.quotas = quotas_.gate(i);
    options.observers = {counters_.back()};
    options.request_observers = {make_decision_log()};
    requests_.push_back(std::make_shared<observe::RequestCounters>(rules_.labels(), context_.config.metrics_tenants));
    options.request_observers.push_back(requests_.back());
    traffic_.observe(i, options);
    tracing_.observe(i, options);
    options.hash_key = context_.keys.previous.value_or(context_.keys.current);
    options.prefilter = context_.config.prefilter;
    engines_.push_back(std::make_unique<engine::Engine>(rules_.book(), options, memory_.fallback(), shared_));
    if (context_.keys.previous) add_rotating(options);
  }
  traffic_.set_counters(counters());
  return success();
}

Status DecisionsModule::start() {
  if (synced_ != nullptr) synced_->start();
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { fallbacks_.add_health(context_.clock->now(), details); });
  context_.add_task(kFallbackPeriod, [this] {
    fallbacks_.poll(context_.clock->now());
    watch_outages();
  });
  context_.add_task(kSubjectPeriod, [this] { subjects_.poll(counters_); });
  if (const Duration period = context_.config.memory_snapshot_every; period > Duration(0)) {
    context_.add_task(period, [this] { estimates_.save(); });
  }
  if (context_.keys.previous) {
    context_.log.info("hash_key_rotation",
                      "subjects are counted under two hash keys: remove the second one when the longest window has "
                      "passed");
  }
  return success();
}

void DecisionsModule::leaving() {
  if (synced_ != nullptr) synced_->leave(kLeavePatience);
}

std::filesystem::path DecisionsModule::estimates_path(const Config& config) {
  if (uses_redis(config) || config.memory_snapshot.empty()) return {};
  std::filesystem::path path = config.memory_snapshot;
  path += ".estimates";
  return path;
}

Status DecisionsModule::open_logs() {
  Result<observe::DecisionLogOptions> read = decision_log_options(context_.config, context_.keys);
  if (!read.ok()) return read.failure();
  log_options_ = std::move(read.value());
  observe::Log::Options lines = context_.log.options();
  lines.waits = false;
  lines.repeats_per_second = std::numeric_limits<std::int64_t>::max();  // the observers bound these themselves
  degraded_lines_ = std::make_unique<observe::Log>(lines, *context_.clock);
  lines.repeats_per_second = context_.config.log_decisions_per_second;
  lines.level = observe::Level::info;  // a sample that was asked for is written whatever log.level is
  decision_lines_ = std::make_unique<observe::Log>(lines, *context_.clock);
  return success();
}

std::shared_ptr<RequestObserver> DecisionsModule::make_decision_log() const {
  std::random_device seed;
  observe::DecisionLogOptions options = log_options_;
  options.seed = std::uint64_t{seed()} << 32 | seed();
  return std::make_shared<observe::DecisionLog>(*decision_lines_, *degraded_lines_, std::move(options));
}

// Each decision is counted once, by the engine that makes it: the other engine has no observers.
void DecisionsModule::add_rotating(const LimiterOptions& deciding) {
  LimiterOptions options = deciding;
  options.observers.clear();
  options.request_observers.clear();
  options.hash_key = context_.keys.current;
  options.quotas = std::make_shared<UncountedQuotas>();
  engine::SharedState shared = shared_;
  shared.sheds = false;  // the other one does, for both
  incoming_.push_back(std::make_unique<engine::Engine>(rules_.book(), std::move(options), memory_.fallback(), shared));
  rotating_.push_back(std::make_unique<engine::RotatingLimiter>(*engines_.back(), *incoming_.back()));
}

Limiter& DecisionsModule::limiter(std::size_t loop) {
  if (rotating_.empty()) return *engines_[loop];
  return *rotating_[loop];
}

std::vector<const observe::DecisionCounters*> DecisionsModule::counters() const {
  std::vector<const observe::DecisionCounters*> borrowed;
  for (const auto& each : counters_) borrowed.push_back(each.get());
  return borrowed;
}

void DecisionsModule::add_holds(observe::Facts& facts) const {
  using engine::HoldCounts;
  for (std::size_t c = 0; c < HoldCounts::kCalls; ++c) {
    for (std::size_t r = 0; r < HoldCounts::kResults; ++r) {
      const auto call = static_cast<HoldCounts::Call>(c);
      const auto result = static_cast<HoldCounts::Result>(r);
      std::uint64_t count = 0;
      for (const auto& engine : engines_) count += engine->hold_counts().total(call, result);
      facts.more.push_back({.name = "weir_hold_calls_total",
                            .help = {},  // of the table
                            .kind = observe::FactMetric::Kind::counter,
                            .value = static_cast<double>(count),
                            .labels = {{"kind", std::string(HoldCounts::kind_name(call))},
                                       {"call", std::string(HoldCounts::call_name(call))},
                                       {"result", std::string(HoldCounts::result_name(result))}}});
    }
  }
}

void DecisionsModule::add_facts(observe::Facts& facts) const {
  observe::add_request_counts(requests_, context_.config.region_name, facts);
  for (const auto& engine : engines_) {
    facts.local_denials += engine->local_denials();
    facts.forged_handles += engine->forged_handles();
    facts.uncharged_units += engine->uncharged_units();
  }
  add_holds(facts);
  for (const engine::Estimates::Errors& each : shared_.estimates->errors()) {
    facts.estimates.push_back({each.rule, each.settled, each.over, each.under});
  }
  // From the start with 0, of the rules that have a label.
  const std::shared_ptr<const observe::RuleLabels::Table> labels = rules_.labels()->table();
  for (const rules::CompiledRule& rule : rules_.book()->current()->rules()) {
    if (!rule.source.estimate || labels->row(rule.name.ordinal) == observe::kOtherRule) continue;
    const bool counted = std::any_of(facts.estimates.begin(), facts.estimates.end(),
                                     [&](const observe::EstimateErrors& each) { return each.rule == rule.name.id; });
    if (!counted) facts.estimates.push_back({std::string(rule.name.id), 0, 0, 0});
  }
  for (std::size_t p = 0; p < kFailurePolicyCount; ++p) {
    const auto policy = static_cast<FailurePolicy>(p);
    observe::PolicyCount& count = facts.fallbacks.emplace_back(observe::PolicyCount{failure_policy_name(policy), 0});
    for (const auto& engine : engines_) count.count += engine->fallbacks(policy);
  }
  fallbacks_.add_facts(context_.clock->now(), facts);
  add_shedding(facts);
  if (redis_.stores() != nullptr) add_outages(facts);
  add_leased(facts);
  if (synced_ != nullptr) synced_->add_facts(facts);
  add_rollout(facts);
  if (redis_.stores() != nullptr) {
    facts.remote_store = redis_.stores()->facts();
    for (const redis::SubjectCensus::Count& each : redis_.stores()->subjects()) {
      facts.rule_subjects.push_back({each.number - 1, each.subjects});
    }
    for (const auto& engine : engines_) facts.remote_store->prefilter_hits += engine->prefilter_hits();
  }
  for (const auto* log : {decision_lines_.get(), degraded_lines_.get()}) {
    facts.log_lines_suppressed += static_cast<std::uint64_t>(log->suppressed());
  }
}

void DecisionsModule::add_leased(observe::Facts& facts) const {
  if (leased_.empty()) return;
  using Kind = observe::FactMetric::Kind;
  const auto add = [&](std::string_view name, std::string_view help, leased::Stats::Counter leased::Stats::*counter,
                       std::vector<std::pair<std::string_view, std::string>> labels = {}) {
    std::uint64_t sum = 0;
    for (const auto& store : leased_) sum += (store->stats().*counter).load(std::memory_order_relaxed);
    facts.more.push_back({name, help, Kind::counter, static_cast<double>(sum), std::move(labels)});
  };
  add("weir_lease_answers_total",
      "Store calls answered from units that this node took in advance, without asking Redis.",
      &leased::Stats::answered);
  add("weir_lease_draws_total", "Calls that took units in advance.", &leased::Stats::asks);
  add("weir_lease_units_total", "Units taken in advance; `lapsed`: of these, the ones that were not spent in time.",
      &leased::Stats::granted, {{"result", "drawn"}});
  add("weir_lease_units_total", "", &leased::Stats::lapsed, {{"result", "lapsed"}});
}

void DecisionsModule::add_rollout(observe::Facts& facts) const {
  const std::vector<const observe::DecisionCounters*> loops = counters();
  std::size_t candidates = 0;
  for (const rules::CompiledRule& rule : rules_.book()->current()->rules()) {
    if (!rule.candidate || candidates == observe::RolloutCounts::kMaxRules) continue;
    ++candidates;
    const observe::RolloutReport report =
        observe::rollout_report(loops, rule.name.ordinal, observe::RolloutCounts::Kind::candidate);
    const std::uint64_t same = report.requests - report.would_deny - report.would_allow;
    const std::pair<std::string_view, std::uint64_t> counts[] = {{"same", same},
                                                                 {"would_deny", report.would_deny},
                                                                 {"would_allow", report.would_allow},
                                                                 {"warming", report.warming}};
    for (const auto& [verdict, count] : counts) {
      facts.more.push_back({"weir_candidate_requests_total",
                            "",
                            observe::FactMetric::Kind::counter,
                            static_cast<double>(count),
                            {{"rule", std::string(rule.name.id)}, {"verdict", std::string(verdict)}}});
    }
  }
  for (const engine::AdaptiveLimits::Standing& each : shared_.adaptive->list(observe::RolloutCounts::kMaxRules)) {
    const BucketKey key = each.key;
    const SubjectDigits digits = subject_digits(key);
    facts.more.push_back({"weir_adaptive_limit",
                          "",
                          observe::FactMetric::Kind::gauge,
                          static_cast<double>(each.limit),
                          {{"rule", each.rule}, {"subject", std::string(digits.data(), digits.size())}}});
  }
}

void DecisionsModule::add_shedding(observe::Facts& facts) const {
  const engine::Shedder& shedder = *shared_.shedder;
  using Kind = observe::FactMetric::Kind;
  const std::vector<engine::Shedder::ClassCount> counts = shedder.counts();
  if (counts.empty()) return;
  for (const engine::Shedder::ClassCount& each : counts) {
    facts.more.push_back({"weir_shedding_requests_total",
                          "Requests by class and result, while shedding is configured.",
                          Kind::counter,
                          static_cast<double>(each.admitted),
                          {{"class", each.name}, {"result", "admitted"}}});
    facts.more.push_back({"weir_shedding_requests_total",
                          "",
                          Kind::counter,
                          static_cast<double>(each.shed),
                          {{"class", each.name}, {"result", "shed"}}});
  }
  for (const engine::Shedder::ClassCount& each : counts) {
    facts.more.push_back({"weir_shedding_active",
                          "1 while requests of the class are being shed.",
                          Kind::gauge,
                          each.shedding ? 1.0 : 0.0,
                          {{"class", each.name}}});
  }
  facts.more.push_back({"weir_shedding_load",
                        "The load that classes are shed by: 1 is the capacity.",
                        Kind::gauge,
                        static_cast<double>(shedder.load()) / 1'000,
                        {}});
}

void DecisionsModule::add_outages(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  const engine::OutageDebts::Totals totals = shared_.debts->totals();
  const auto add = [&](std::string_view result, std::uint64_t units) {
    facts.more.push_back({"weir_outage_units_total",
                          "Units that failure policies admitted without the store, by the result of charging them.",
                          Kind::counter,
                          static_cast<double>(units),
                          {{"result", std::string(result)}}});
  };
  add("admitted", totals.admitted);
  add("charged", totals.charged);
  add("repaid", totals.repaid);
  add("over_capacity", totals.over_capacity);
  add("lost", totals.lost);
  facts.more.push_back({"weir_outage_subjects",
                        "Buckets still to be charged after an outage.",
                        Kind::gauge,
                        static_cast<double>(totals.subjects),
                        {}});
}

void DecisionsModule::watch_outages() {
  const engine::OutageDebts::Totals totals = shared_.debts->totals();
  const auto sum = [](const engine::OutageDebts::Totals& of) {
    return of.charged + of.repaid + of.over_capacity + of.lost;
  };
  const bool changed = sum(totals) > sum(settled_);
  if (totals.subjects > 0 || !changed) return;
  context_.log.info("outage_reconciled", "what was admitted without the store has been charged to it: " +
                                             std::to_string(totals.charged - settled_.charged) + " units; " +
                                             std::to_string(totals.repaid - settled_.repaid) +
                                             " had been repaid by time, " +
                                             std::to_string(totals.over_capacity - settled_.over_capacity) +
                                             " were more than one capacity of their bucket, " +
                                             std::to_string(totals.lost - settled_.lost) + " could not be charged");
  settled_ = totals;
}

}  // namespace weir::server
