#include "scale/key_traffic.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "stores/leased/leased_store.h"
#include "stores/memory/memory_store.h"
#include "weir/ask.h"
#include "weir/limiter.h"

namespace weir::scale {
namespace {

constexpr double kLeastRequests = 600;
constexpr double kMostRequests = 120'000;
constexpr double kLeastSeconds = 3;
constexpr double kWindows = 3;      // of the rule, at least, if that is not too many requests
constexpr double kWarmShare = 0.4;  // of the requests, before anything is counted
constexpr std::string_view kSubject = "subject";

// The store that all loops share, and how often it is called. It is asked as one far away is: exhausted buckets are
// refused without it.
class CountedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    return memory_.begin(call);
  }
  bool immediate() const override { return false; }
  bool answers_on_this_thread() const override { return true; }
  std::string_view name() const override { return "redis"; }

  std::uint64_t calls = 0;

 private:
  memory::MemoryStore memory_{MemoryOptions{.max_bytes = std::size_t{64} << 20U}};
};

// The rule as it applies to a request for a key of it.
Rules rule_alone(Rule rule) {
  rule.match.clear();
  rule.descriptor.clear();
  rule.replaces.clear();
  rule.plans.clear();
  rule.overrides.clear();
  rule.per = {std::string(kSubject)};
  rule.cost = {};
  rule.mode = Mode::enforce;
  rule.rollout = 100;
  rule.max_subjects.reset();
  rule.region = RegionSharing::none;
  Rules rules;
  rules.rules.push_back(std::move(rule));
  return rules;
}

}  // namespace

class KeyTraffic::Region {
 public:
  explicit Region(std::uint64_t seed, double window_seconds) : random_(seed), window_seconds_(window_seconds) {}

  Status add_loops(const Rules& rules, std::uint32_t loops) {
    askers_->store(loops);
    for (std::uint32_t i = 0; i < loops; ++i) {
      LimiterOptions options;
      options.clock = clock_;
      options.hash_key = {1};
      options.store =
          std::make_shared<leased::LeasedStore>(leased::Options{.store = store_, .clock = clock_, .askers = askers_});
      Result<std::unique_ptr<Limiter>> made = Limiter::create(rules, options);
      if (!made.ok()) return made.failure();
      loops_.push_back(std::move(made.value()));
    }
    return success();
  }

  KeyOutcome run(double per_second) {
    const double requests =
        std::clamp(std::max(kLeastSeconds, kWindows * window_seconds_) * per_second, kLeastRequests, kMostRequests);
    const double warm = requests * kWarmShare;
    next_subject();
    std::exponential_distribution<double> pause(per_second);
    std::uniform_int_distribution<std::size_t> any_loop(0, loops_.size() - 1);
    KeyOutcome outcome;
    double seconds = 0;  // in the key's own time, so that fractions of microseconds add up
    const TimePoint start = clock_->now();
    std::uint64_t calls_before = store_->calls;
    for (double i = 0; i < requests; ++i) {
      seconds += pause(random_);
      clock_->set(start + Duration{static_cast<std::int64_t>(seconds * 1e6)});
      const bool allowed = decide(*loops_[any_loop(random_)]);
      if (i < warm) {
        calls_before = store_->calls;
        continue;
      }
      ++outcome.decisions;
      if (allowed) ++outcome.allowed;
    }
    outcome.store_calls = static_cast<double>(store_->calls - calls_before);
    return outcome;
  }

 private:
  void next_subject() {
    const auto [end, error] = std::to_chars(subject_.data(), subject_.data() + subject_.size(), ++subjects_);
    attribute_ = {kSubject, std::string_view(subject_.data(), static_cast<std::size_t>(end - subject_.data()))};
  }

  bool decide(Limiter& limiter) {
    bool allowed = false;
    const Request request{.attributes = {&attribute_, 1}};
    const auto answer = [&allowed](const Decision& decision) { allowed = decision.allowed; };
    ask(limiter, Action::take, request, answer, [&answer] { return answer; });
    return allowed;
  }

  std::shared_ptr<CountedStore> store_ = std::make_shared<CountedStore>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<std::atomic<std::uint32_t>> askers_ = std::make_shared<std::atomic<std::uint32_t>>(1);
  std::vector<std::unique_ptr<Limiter>> loops_;
  std::mt19937_64 random_;
  double window_seconds_;
  std::uint64_t subjects_ = 0;
  std::array<char, 24> subject_{};
  Attribute attribute_;
};

KeyTraffic::KeyTraffic(std::unique_ptr<Region> region) : region_(std::move(region)) {}
KeyTraffic::KeyTraffic(KeyTraffic&&) noexcept = default;
KeyTraffic::~KeyTraffic() = default;

Result<KeyTraffic> KeyTraffic::create(const Rule& rule, std::uint32_t loops, std::uint64_t seed) {
  const double window_seconds = static_cast<double>(rule.allowance.window.count()) / 1e6;
  auto region = std::make_unique<Region>(seed, window_seconds);
  if (Status made = region->add_loops(rule_alone(rule), std::clamp<std::uint32_t>(loops, 1, kMostLoops)); !made.ok())
    return made.failure();
  return KeyTraffic(std::move(region));
}

KeyOutcome KeyTraffic::run(double per_second) { return region_->run(per_second); }

}  // namespace weir::scale
