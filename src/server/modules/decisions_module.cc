#include "server/modules/decisions_module.h"

#include <random>
#include <utility>

#include "observe/decision_log.h"

namespace weir::server {
namespace {

constexpr Duration kFallbackPeriod = std::chrono::seconds(1);

}  // namespace

Status DecisionsModule::open() {
  for (std::size_t i = 0; i < context_.loops->size(); ++i) {
    counters_.push_back(std::make_shared<observe::DecisionCounters>(rules_.labels()));
    LimiterOptions options;
    if (redis_.stores() != nullptr) {
      options.store = redis_.stores()->store(i);
    } else {
      options.store = memory_.store();
    }
    options.clock = context_.clock;
    options.observers = make_observers(counters_.back());
    options.hash_key = context_.keys.previous.value_or(context_.keys.current);
    options.prefilter = context_.config.prefilter;
    engines_.push_back(std::make_unique<engine::Engine>(rules_.book(), options, memory_.fallback(), shared_));
    if (context_.keys.previous) add_rotating(options);
  }
  return success();
}

Status DecisionsModule::start() {
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { fallbacks_.add_health(context_.clock->now(), details); });
  context_.add_task(kFallbackPeriod, [this] { fallbacks_.poll(context_.clock->now()); });
  if (context_.keys.previous) {
    context_.log.info("hash_key_rotation",
                      "subjects are counted under two hash keys: remove the second one when the longest window has "
                      "passed");
  }
  return success();
}

// A loop's counters, and the sampled decision log if it is switched on.
std::vector<std::shared_ptr<Observer>> DecisionsModule::make_observers(
    std::shared_ptr<observe::DecisionCounters> counters) {
  const Config& config = context_.config;
  const observe::DecisionSample sample{.allowed = config.log_decisions, .denied = config.log_denials};
  if (sample.none()) return {std::move(counters)};
  if (decision_lines_ == nullptr) {
    observe::Log::Options options = context_.log.options();
    options.level = observe::Level::info;  // a sample that was asked for is written whatever log.level is
    options.repeats_per_second = config.log_decisions_per_second;
    options.waits = false;
    decision_lines_ = std::make_unique<observe::Log>(options, *context_.clock);
  }
  std::random_device seed;
  auto lines = std::make_shared<observe::DecisionLog>(*decision_lines_, sample, std::uint64_t{seed()} << 32 | seed());
  return {std::move(counters), std::move(lines)};
}

// Each decision is counted once, by the engine that makes it: the other engine has no observers.
void DecisionsModule::add_rotating(const LimiterOptions& deciding) {
  LimiterOptions options = deciding;
  options.observers.clear();
  options.hash_key = context_.keys.current;
  incoming_.push_back(std::make_unique<engine::Engine>(rules_.book(), std::move(options), memory_.fallback(), shared_));
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

void DecisionsModule::add_facts(observe::Facts& facts) const {
  for (const auto& engine : engines_) {
    facts.local_denials += engine->local_denials();
    facts.forged_handles += engine->forged_handles();
  }
  for (std::size_t p = 0; p < kFailurePolicyCount; ++p) {
    const auto policy = static_cast<FailurePolicy>(p);
    observe::PolicyCount& count = facts.fallbacks.emplace_back(observe::PolicyCount{failure_policy_name(policy), 0});
    for (const auto& engine : engines_) count.count += engine->fallbacks(policy);
  }
  fallbacks_.add_facts(context_.clock->now(), facts);
  if (redis_.stores() != nullptr) {
    facts.remote_store = redis_.stores()->facts();
    for (const auto& engine : engines_) facts.remote_store->prefilter_hits += engine->prefilter_hits();
  }
  if (decision_lines_ != nullptr) {
    facts.log_lines_suppressed += static_cast<std::uint64_t>(decision_lines_->suppressed());
  }
}

}  // namespace weir::server
