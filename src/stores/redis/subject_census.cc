#include "stores/redis/subject_census.h"

#include <algorithm>
#include <utility>

namespace weir::redis {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;

// How much longer than its bucket a subject may count.
Duration slack_of(Duration lifetime) { return std::max<Duration>(lifetime / 8, std::chrono::seconds(1)); }

std::int64_t since_start_us(SubjectCensus::Time time) {
  return duration_cast<microseconds>(time.time_since_epoch()).count();
}

}  // namespace

unsigned SubjectCensus::level_for(std::uint32_t max_subjects) {
  unsigned level = 0;
  while ((std::size_t{max_subjects} >> level) > kSharedSample) ++level;
  return level;
}

SubjectCensus::Rule* SubjectCensus::rule_of(const Charge& charge) {
  const auto found = rules_.find(charge.number);
  if (found != rules_.end()) return &found->second;
  if (rules_.size() >= kMaxRules && charge.max_subjects == 0) return nullptr;
  Rule& made = rules_[charge.number];
  made.id = charge.rule;
  return &made;
}

// At another level the sample is another one: it begins empty, and is whole again when every subject was charged once.
void SubjectCensus::bound(Rule& rule, std::uint32_t max_subjects) {
  if (rule.max_subjects == max_subjects) return;
  const unsigned level = level_for(max_subjects);
  if (rule.max_subjects == 0 || level != rule.level) {
    rule.lives_until.clear();
    rule.news.clear();
    rule.shared = 0;
    rule.told_at = {};
  }
  rule.max_subjects = max_subjects;
  rule.level = level;
}

SubjectCensus::View SubjectCensus::look(const Charge& charge, Time now) {
  const std::lock_guard lock(mutex_);
  Rule& rule = *rule_of(charge);
  bound(rule, charge.max_subjects);
  const std::size_t many = std::max<std::size_t>(1, (rule.max_subjects >> rule.level) / kTellShare);
  View view;
  view.full = rule.shared >= std::int64_t{rule.max_subjects};
  view.due = !rule.telling && (rule.news.size() >= many || now - rule.told_at >= kTellPeriod);
  if (view.due) rule.telling = true;
  return view;
}

void SubjectCensus::record(const Charge& charge, Duration lifetime, Time now) {
  const std::lock_guard lock(mutex_);
  Rule* const rule = rule_of(charge);
  const std::uint64_t id = charge.key.low;
  if (rule == nullptr || !is_sampled(id, rule->level)) return;
  if (rule->max_subjects > 0) {
    if (rule->news.size() >= kMaxNews) return;  // told when the subject comes again
    Time& until = rule->lives_until[id];
    if (until >= now + lifetime) return;
    until = now + lifetime + slack_of(lifetime);
    rule->news.push_back({id, since_start_us(until)});
    return;
  }
  if (rule->lives_until.size() >= kOwnSample && !rule->lives_until.contains(id)) make_room(*rule, now);
  if (is_sampled(id, rule->level)) rule->lives_until[id] = now + lifetime;
}

SubjectCensus::News SubjectCensus::news(std::uint32_t number, Time now) {
  const std::lock_guard lock(mutex_);
  Rule& rule = rules_[number];
  if (now - rule.told_at >= kTellPeriod) forget_idle(rule, now);
  News news{rule.id, rule.level, std::exchange(rule.news, {})};
  for (News::Subject& each : news.subjects)
    each.lives_us = std::max<std::int64_t>(1, each.lives_us - since_start_us(now));
  return news;
}

void SubjectCensus::told(std::uint32_t number, std::int64_t sampled, Time now) {
  const std::lock_guard lock(mutex_);
  Rule& rule = rules_[number];
  rule.telling = false;
  rule.told_at = now;
  rule.shared = sampled << rule.level;
}

// Whether the set has heard the news is not known: all is told again, as the subjects come.
void SubjectCensus::failed(std::uint32_t number, Time now) {
  const std::lock_guard lock(mutex_);
  Rule& rule = rules_[number];
  rule.telling = false;
  rule.told_at = now;
  rule.lives_until.clear();
  ++failures_;
}

void SubjectCensus::forget_idle(Rule& rule, Time now) {
  std::erase_if(rule.lives_until, [now](const auto& each) { return each.second <= now; });
}

// Of this node's own sample: what is idle goes; if that is not enough, every second subject does.
void SubjectCensus::make_room(Rule& rule, Time now) {
  forget_idle(rule, now);
  while (rule.lives_until.size() >= kOwnSample) {
    ++rule.level;
    rule.settled = {};
    std::erase_if(rule.lives_until, [&](const auto& each) { return !is_sampled(each.first, rule.level); });
  }
}

// A sample that has become small is taken at a lower level again. It lacks half of its subjects until each that lives
// has been charged once, so until then only those of the level before count.
std::int64_t SubjectCensus::own_count(Rule& rule, Time now) {
  forget_idle(rule, now);
  if (rule.level > 0 && rule.lives_until.size() < kOwnSample / 4 && now >= rule.settled) {
    Time last = now;
    for (const auto& [id, until] : rule.lives_until) last = std::max(last, until);
    --rule.level;
    rule.settled = last;
  }
  const unsigned level = now < rule.settled ? rule.level + 1 : rule.level;
  const auto counted = std::count_if(rule.lives_until.begin(), rule.lives_until.end(),
                                     [&](const auto& each) { return is_sampled(each.first, level); });
  return static_cast<std::int64_t>(counted) << level;
}

// Without requests nothing is exchanged, and what was learned last grows old.
std::int64_t SubjectCensus::shared_count(Rule& rule, Time now) {
  forget_idle(rule, now);
  return rule.lives_until.empty() && now - rule.told_at > 10 * kTellPeriod ? 0 : rule.shared;
}

std::vector<SubjectCensus::Count> SubjectCensus::counts(Time now) {
  const std::lock_guard lock(mutex_);
  std::vector<Count> counts;
  for (auto& [number, rule] : rules_) {
    const std::int64_t subjects = rule.max_subjects > 0 ? shared_count(rule, now) : own_count(rule, now);
    if (subjects > 0) counts.push_back({number, subjects});
  }
  return counts;
}

std::uint64_t SubjectCensus::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

}  // namespace weir::redis
