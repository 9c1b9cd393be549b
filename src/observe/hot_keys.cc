#include "observe/hot_keys.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "observe/decision_counters.h"

namespace weir::observe {
namespace {

// Of one loop: below this many decisions a second all are checked, above it so few that about as many are.
constexpr double kLookedAtPerSecond = 4'000;
constexpr std::uint32_t kMostEvery = 32;

// A subject that asks less often than this is forgotten.
constexpr double kLeastRate = 0.05;

bool is_close(const RuleOutcome& rule) {
  return rule.remaining * kNearLimitShare < rule.capacity && !rule.unlimited && !rule.store_failed;
}

// Another rule has denied, so that the ledger was not asked: what is left of the quota is not known.
bool is_unasked(const Decision& decision, const RuleOutcome& rule) {
  return !decision.allowed && rule.allowed && rule.kind == ChargeKind::quota;
}

bool is_fuller(const SubjectFill& left, const SubjectFill& right) { return left.share() > right.share(); }

}  // namespace

void HotKeyCounter::Table::clear() {
  asked.clear();
  denied.clear();
  fills.fill({});
  decisions = 0;
}

HotKeyCounter::HotKeyCounter(std::uint64_t seed) : random_(seed), table_(std::make_unique<Table>()) {}

void HotKeyCounter::on_decision(const Decision& decision) {
  decisions_.store(decisions_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  const bool drawn = next_random() >> 1 >> (63 - shift_.load(std::memory_order_relaxed)) == 0;
  bool close = !decision.allowed;
  for (const RuleOutcome& rule : decision.rules) close |= is_close(rule);
  if (drawn | close) [[unlikely]]
    count(decision, drawn);
}

[[gnu::noinline]] void HotKeyCounter::count(const Decision& decision, bool drawn) {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.unlimited || rule.store_failed || is_left_out(rule)) continue;
    if (drawn) table_->asked.add({rule.subject, rule.ordinal}, rule.shared, next_random() >> 32);
    if ((drawn || is_close(rule)) && !is_unasked(decision, rule)) note_fill(rule, decision.at);
  }
  const RuleOutcome* const rule = decision.allowed ? nullptr : decision.decisive();
  if (rule != nullptr && !is_left_out(*rule)) {
    table_->denied.add({rule->subject, rule->ordinal}, rule->shared, next_random() >> 32);
  }
  busy_.clear(std::memory_order_release);
}

bool HotKeyCounter::is_left_out(const RuleOutcome& rule) const {
  return !left_out_.empty() && std::binary_search(left_out_.begin(), left_out_.end(), rule.ordinal);
}

void HotKeyCounter::leave_out(std::vector<std::uint32_t> ordinals) {
  while (busy_.test_and_set(std::memory_order_acquire)) {
  }
  left_out_.swap(ordinals);
  busy_.clear(std::memory_order_release);
}

// Of two subjects with the same place the fuller one stays.
void HotKeyCounter::note_fill(const RuleOutcome& rule, TimePoint at) {
  if (rule.capacity <= 0) return;
  SubjectFill& place = table_->fills[(rule.subject.low ^ rule.ordinal) % Table::kFills];
  const SubjectFill fill{.key = {rule.subject, rule.ordinal},
                         .rule = rule.rule,
                         .shared = rule.shared,
                         .used = rule.capacity - rule.remaining,
                         .limit = rule.capacity,
                         .at = at};
  if (place.limit == 0 || place.key == fill.key || !is_fuller(place, fill)) place = fill;
}

std::unique_ptr<HotKeyCounter::Table> HotKeyCounter::take(std::unique_ptr<Table> empty, std::uint32_t every) {
  while (busy_.test_and_set(std::memory_order_acquire)) {
  }
  std::swap(table_, empty);
  busy_.clear(std::memory_order_release);
  shift_.store(static_cast<std::uint32_t>(std::bit_width(every)) - 1, std::memory_order_relaxed);
  const std::uint64_t decisions = decisions_.load(std::memory_order_relaxed);
  empty->decisions = decisions - std::exchange(taken_decisions_, decisions);
  return empty;
}

HotKeys::HotKeys(std::vector<HotKeyCounter*> loops) : loops_(std::move(loops)), every_(loops_.size(), 1) {
  for (std::size_t i = 0; i < loops_.size(); ++i) spare_.push_back(std::make_unique<HotKeyCounter::Table>());
}

void HotKeys::leave_out(std::vector<std::uint32_t> ordinals) {
  if (ordinals == left_out_) return;
  left_out_ = std::move(ordinals);
  for (HotKeyCounter* const loop : loops_) loop->leave_out(left_out_);
  const auto is_out = [this](const SubjectKey& key) {
    return std::binary_search(left_out_.begin(), left_out_.end(), key.ordinal);
  };
  const std::lock_guard lock(mutex_);
  std::erase_if(asked_, [&](const auto& each) { return is_out(each.first); });
  std::erase_if(denied_, [&](const auto& each) { return is_out(each.first); });
  for (const std::uint32_t ordinal : left_out_) fills_.erase(ordinal);
}

void HotKeys::merge(TimePoint now) {
  const double seconds =
      merged_ == TimePoint{} || now <= merged_ ? 1 : static_cast<double>((now - merged_).count()) / 1e6;
  merged_ = now;
  for (std::size_t i = 0; i < loops_.size(); ++i) {
    const std::uint32_t every = every_[i];
    spare_[i] = loops_[i]->take(std::move(spare_[i]), every);
    spare_[i]->every = every;
    const double rate = static_cast<double>(spare_[i]->decisions) / seconds;
    const auto wanted = static_cast<std::uint32_t>(std::min(rate / kLookedAtPerSecond, double{kMostEvery}));
    every_[i] = std::bit_floor(std::max(wanted, 1U));
  }
  const std::lock_guard lock(mutex_);
  halve(asked_);
  halve(denied_);
  decisions_per_second_ /= 2;
  for (const auto& table : spare_) {
    add(asked_, table->asked, static_cast<double>(table->every) / seconds / 2, now);
    add(denied_, table->denied, 1 / seconds / 2, now);
    decisions_per_second_ += static_cast<double>(table->decisions) / seconds / 2;
    for (const SubjectFill& fill : table->fills) {
      if (fill.limit > 0) add_fill(fill);
    }
    table->clear();
  }
  bound(asked_);
  bound(denied_);
  drop_old_fills(now);
}

void HotKeys::halve(Subjects& subjects) {
  for (auto& [key, subject] : subjects) subject.per_second /= 2;
}

void HotKeys::add(Subjects& subjects, const HeavySketch& sketch, double scale, TimePoint now) {
  sketch.each([&](const HeavySketch::Place& place) {
    const auto [found, is_new] = subjects.try_emplace(place.key);
    if (is_new) found->second = {.key = place.key, .shared = place.shared, .since = now};
    found->second.per_second += place.count * scale;
  });
}

void HotKeys::bound(Subjects& subjects) {
  std::erase_if(subjects, [](const auto& each) { return each.second.per_second < kLeastRate; });
  if (subjects.size() <= kMaxSubjects) return;
  std::vector<double> rates;
  for (const auto& each : subjects) rates.push_back(each.second.per_second);
  std::nth_element(rates.begin(), rates.begin() + kMaxSubjects, rates.end(), std::greater<>());
  const double least = rates[kMaxSubjects];
  std::erase_if(subjects, [&](const auto& each) { return each.second.per_second <= least; });
}

void HotKeys::add_fill(const SubjectFill& fill) {
  auto found = fills_.find(fill.key.ordinal);
  if (found == fills_.end()) {
    if (fills_.size() >= kMaxRules) return;
    found = fills_.emplace(fill.key.ordinal, std::vector<SubjectFill>{}).first;
  }
  std::vector<SubjectFill>& fills = found->second;
  const auto same = std::find_if(fills.begin(), fills.end(), [&](const auto& each) { return each.key == fill.key; });
  if (same == fills.end()) {
    fills.push_back(fill);
  } else if (fill.at >= same->at) {
    *same = fill;
  }
  std::sort(fills.begin(), fills.end(), is_fuller);
  if (fills.size() > kFillsOfRule) fills.pop_back();
}

void HotKeys::drop_old_fills(TimePoint now) {
  for (auto& [ordinal, fills] : fills_) {
    std::erase_if(fills, [&](const SubjectFill& each) { return each.at + kFillLives < now; });
  }
  std::erase_if(fills_, [](const auto& each) { return each.second.empty(); });
}

std::vector<HotKeys::Subject> HotKeys::most(const Subjects& subjects, std::size_t count) {
  std::vector<Subject> all;
  for (const auto& [key, subject] : subjects) all.push_back(subject);
  std::sort(all.begin(), all.end(), [](const Subject& left, const Subject& right) {
    return left.per_second != right.per_second ? left.per_second > right.per_second
                                               : left.key.subject.high < right.key.subject.high;
  });
  if (all.size() > count) all.resize(count);
  return all;
}

std::vector<HotKeys::Subject> HotKeys::asked(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  return most(asked_, count);
}

std::vector<HotKeys::Subject> HotKeys::denied(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  return most(denied_, count);
}

std::vector<SubjectFill> HotKeys::fullest(std::size_t count, double least) const {
  std::vector<SubjectFill> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [ordinal, fills] : fills_) {
      for (const SubjectFill& fill : fills) {
        if (fill.share() >= least) all.push_back(fill);
      }
    }
  }
  std::sort(all.begin(), all.end(), is_fuller);
  if (all.size() > count) all.resize(count);
  return all;
}

std::vector<SubjectFill> HotKeys::fullest_of(std::uint32_t ordinal, std::size_t count) const {
  const std::lock_guard lock(mutex_);
  const auto found = fills_.find(ordinal);
  if (found == fills_.end()) return {};
  std::vector<SubjectFill> fills = found->second;
  if (fills.size() > count) fills.resize(count);
  return fills;
}

double HotKeys::decisions_per_second() const {
  const std::lock_guard lock(mutex_);
  return decisions_per_second_;
}

std::size_t HotKeys::hot(double share) const {
  const std::lock_guard lock(mutex_);
  const double least = decisions_per_second_ * share;
  return static_cast<std::size_t>(
      std::count_if(asked_.begin(), asked_.end(), [&](const auto& each) { return each.second.per_second >= least; }));
}

}  // namespace weir::observe
