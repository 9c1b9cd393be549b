#include "observe/rollout_counts.h"

#include <algorithm>

namespace weir::observe {
namespace {

std::uint64_t place_of(std::uint32_t ordinal, RolloutCounts::Kind kind) {
  return std::uint64_t{ordinal} * 2 + (kind == RolloutCounts::Kind::shadow ? 1 : 0);
}

bool others_admit(const Decision& decision, const RuleOutcome& rule) {
  return std::all_of(decision.rules.begin(), decision.rules.end(), [&](const RuleOutcome& each) {
    return &each == &rule || each.mode != Mode::enforce || each.allowed;
  });
}

bool is_more(const RolloutSubject& a, const RolloutSubject& b) { return a.differs() > b.differs(); }

RolloutSubject& subject_of(RolloutReport& report, const RuleOutcome& rule) {
  std::vector<RolloutSubject>& all = report.subjects;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const RolloutSubject& each) { return each.key == rule.subject; });
  if (found != all.end()) return *found;
  if (all.size() < RolloutCounts::kSubjects) return all.emplace_back(RolloutSubject{rule.subject, rule.shared});
  RolloutSubject& least = *std::max_element(all.begin(), all.end(), is_more);
  least.key = rule.subject;
  least.shared = rule.shared;
  return least;
}

}  // namespace

RolloutReport* RolloutCounts::find(std::uint32_t ordinal, Kind kind) {
  const std::uint64_t place = place_of(ordinal, kind);
  const auto known = rules_.find(place);
  if (known != rules_.end()) return &known->second;
  return rules_.size() < kMaxRules ? &rules_[place] : nullptr;
}

void RolloutCounts::note(const Decision& decision, const RuleOutcome& rule) {
  if (rule.store_failed) return;
  const std::lock_guard lock(mutex_);
  if (rule.candidate != CandidateVerdict::none) note_candidate(decision, rule);
  if (rule.mode == Mode::shadow) note_shadow(decision, rule);
}

void RolloutCounts::note_candidate(const Decision& decision, const RuleOutcome& rule) {
  RolloutReport* const report = find(rule.ordinal, Kind::candidate);
  if (report == nullptr) return;
  if (rule.candidate == CandidateVerdict::warming) {
    if (report->requests > 0) *report = {};  // other numbers
    ++report->warming;
    return;
  }
  if (report->since == TimePoint{}) report->since = decision.at;
  ++report->requests;
  const bool allows = rule.candidate == CandidateVerdict::allows;
  if (allows == rule.allowed || !others_admit(decision, rule)) return;
  ++(allows ? report->would_allow : report->would_deny);
  RolloutSubject& subject = subject_of(*report, rule);
  ++(allows ? subject.would_allow : subject.would_deny);
}

void RolloutCounts::note_shadow(const Decision& decision, const RuleOutcome& rule) {
  RolloutReport* const report = find(rule.ordinal, Kind::shadow);
  if (report == nullptr) return;
  if (report->since == TimePoint{}) report->since = decision.at;
  ++report->requests;
  if (rule.allowed || !decision.allowed) return;
  ++report->would_deny;
  ++subject_of(*report, rule).would_deny;
}

void RolloutCounts::add_to(RolloutReport& report, std::uint32_t ordinal, Kind kind) const {
  const std::lock_guard lock(mutex_);
  const auto found = rules_.find(place_of(ordinal, kind));
  if (found == rules_.end()) return;
  const RolloutReport& own = found->second;
  const bool earlier = own.since != TimePoint{} && (report.since == TimePoint{} || own.since < report.since);
  if (earlier) report.since = own.since;
  report.requests += own.requests;
  report.warming += own.warming;
  report.would_deny += own.would_deny;
  report.would_allow += own.would_allow;
  for (const RolloutSubject& each : own.subjects) {
    const auto known = std::find_if(report.subjects.begin(), report.subjects.end(),
                                    [&](const RolloutSubject& other) { return other.key == each.key; });
    if (known == report.subjects.end()) {
      report.subjects.push_back(each);
    } else {
      known->would_deny += each.would_deny;
      known->would_allow += each.would_allow;
    }
  }
}

void finish_report(RolloutReport& report) {
  std::stable_sort(report.subjects.begin(), report.subjects.end(), is_more);
  if (report.subjects.size() > RolloutCounts::kShown) report.subjects.resize(RolloutCounts::kShown);
}

}  // namespace weir::observe
