#include "simulate/replay.h"

#include <algorithm>
#include <utility>

#include "rules/compile/per_entry.h"
#include "rules/read/rule_summary.h"
#include "simulate/limit_search.h"

namespace weir::simulate {
namespace {

constexpr std::int64_t kTooManyRequests = 429;
constexpr std::size_t kShownLine = 300;

// The same key for every replay: two reports of one log name the same subjects alike, and the hashes leave this process
// only in reports about logs that the reader has.
HashKey replay_key() {
  HashKey key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = static_cast<std::uint8_t>(0x5a + i);
  return key;
}

}  // namespace

Replay::Replay(ReplayOptions options, LogAttributes attributes)
    : options_(std::move(options)),
      attributes_(std::move(attributes)),
      hash_key_(options_.identity.keys.current == HashKey{} ? replay_key() : options_.identity.keys.current),
      encoder_(hash_key_),
      clock_(std::make_shared<ManualClock>(TimePoint{})) {}

Result<std::unique_ptr<Replay>> Replay::create(ReplayOptions options) {
  if (options.sets.empty() || options.sets.size() > kMaxSets) {
    return Failure{Code::invalid_argument, "expected one or two rule sets"};
  }
  if (options.identity.keys.current == HashKey{}) options.identity.keys.current = replay_key();
  Result<LogAttributes> attributes = LogAttributes::create(options.identity, options.mappings);
  if (!attributes.ok()) return attributes.failure();
  std::vector<NamedRules> sets = std::exchange(options.sets, {});
  std::unique_ptr<Replay> replay(new Replay(std::move(options), std::move(attributes).value()));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    if (Status added = replay->add_set(std::move(sets[i]), i); !added.ok()) return added.failure();
  }
  if (replay->options_.target) {
    Result<std::unique_ptr<ChargeTape>> tape = ChargeTape::create();
    if (!tape.ok()) return tape.failure();
    replay->tape_ = std::move(tape).value();
  }
  return replay;
}

Status Replay::add_set(NamedRules set, std::size_t index) {
  const auto is_quota = [](const Rule& rule) { return rule.kind == ChargeKind::quota; };
  has_quotas_ = has_quotas_ || std::any_of(set.rules.rules.begin(), set.rules.rules.end(), is_quota);
  std::erase_if(set.rules.rules, is_quota);
  LimiterOptions options;
  options.clock = clock_;
  options.hash_key = hash_key_;
  options.memory.max_bytes = options_.max_bytes;
  Result<std::unique_ptr<Limiter>> limiter = Limiter::create(set.rules, options);
  if (!limiter.ok()) return Failure{limiter.failure().code, set.name + ": " + limiter.failure().message};
  for (const Rule& rule : set.rules.rules) {
    const auto [found, made] = rule_index_.emplace(rule.id, static_cast<std::uint32_t>(rules_.size()));
    if (made) rules_.emplace_back().summary.rule = rule.id;
    RuleState& state = rules_[found->second];
    state.per = rule.per;
    state.window = rule.allowance.window;
    state.spec = rule.allowance;
    state.counted = rule.kind == ChargeKind::bucket && !rule.unlimited;
    state.summary.summary[index] = rules::rule_summary(rule);
    state.summary.mode[index] =
        mode_name(set.rules.global_shadow && rule.mode == Mode::enforce ? Mode::shadow : rule.mode);
  }
  Set& added = sets_.emplace_back();
  added.summary.name = std::move(set.name);
  added.summary.rules = set.rules.rules.size();
  added.limiter = std::move(limiter).value();
  return success();
}

void Replay::add(const LogRecord& record, const LogReader& from) {
  if (record.status == kTooManyRequests) ++logged_429_;
  if (const char* const why = attributes_.identify(record)) {
    ++refused_;
    if (!first_refused_) {
      first_refused_ = BadLine{from.name(), from.line_number(), std::string(from.line().substr(0, kShownLine)), why};
    }
    return;
  }
  add(record.time, attributes_.request());
}

void Replay::add(TimePoint time, const Request& request) {
  if (requests_ == 0) {
    from_ = latest_ = time;
  } else if (time < latest_) {
    ++out_of_order_;
    from_ = std::min(from_, time);
  }
  latest_ = std::max(latest_, time);
  clock_->set(latest_);
  ++requests_;
  peaks_.add(latest_);
  StepCounts step{.requests = 1};
  for (std::size_t i = 0; i < sets_.size(); ++i) {
    Set& set = sets_[i];
    set.limiter->check_batch(std::span(&request, 1), std::span(&set.decision, 1));
    step.denied[i] = set.decision.allowed ? 0 : 1;
    count_outcomes(i, latest_, request);
  }
  if (sets_.size() == kMaxSets && sets_[0].decision.allowed != sets_[1].decision.allowed) {
    ++(sets_[0].decision.allowed ? newly_denied_ : newly_allowed_);
  }
  series_.add(latest_, step);
}

std::uint32_t Replay::rule_of(Set& set, const RuleOutcome& outcome) {
  if (outcome.ordinal >= set.by_ordinal.size()) set.by_ordinal.resize(outcome.ordinal + 1, kNoRule);
  std::uint32_t& index = set.by_ordinal[outcome.ordinal];
  if (index == kNoRule) {
    const auto found = rule_index_.find(std::string(outcome.rule));
    if (found != rule_index_.end()) index = found->second;
  }
  return index;
}

void Replay::count_outcomes(std::size_t index, TimePoint time, const Request& request) {
  Set& set = sets_[index];
  const Decision& decision = set.decision;
  ++(decision.allowed ? set.summary.allowed : set.summary.denied);
  if (decision.degraded) ++set.summary.degraded;
  if (decision.rules.empty()) ++set.summary.no_rule;
  const RuleOutcome* const decisive = decision.allowed ? nullptr : decision.decisive();
  const bool last = index + 1 == sets_.size();
  bool shadow_denied = false;
  for (const RuleOutcome& outcome : decision.rules) {
    const std::uint32_t number = rule_of(set, outcome);
    if (number == kNoRule) continue;
    RuleState& rule = rules_[number];
    ++rule.summary.requests[index];
    const bool denied = &outcome == decisive;
    if (!outcome.allowed) ++rule.summary.over[index];
    if (!outcome.allowed && outcome.mode == Mode::shadow) shadow_denied = true;
    if (denied) ++rule.summary.denied[index];
    if (denied && last) {
      if (rule.summary.first_denied == TimePoint{}) rule.summary.first_denied = time;
      rule.summary.last_denied = time;
      if (rule.denied == nullptr && series_used_ < kMaxSeries) {
        rule.denied = std::make_unique<TimeSeries>();
        ++series_used_;
      }
      if (rule.denied != nullptr) rule.denied->add(time, StepCounts{.requests = 1});
    }
    if (outcome.unlimited || !rule.counted) continue;
    count_subject(index, rule, outcome, time, denied, request);
    if (tape_ != nullptr && last && number <= TapeRecord::kMaxRule) {
      tape_->add({outcome.subject, time, number, outcome.cost});
    }
  }
  if (shadow_denied && decision.allowed) ++set.summary.shadow_denied;
}

void Replay::count_subject(std::size_t index, RuleState& rule, const RuleOutcome& outcome, TimePoint time, bool denied,
                           const Request& request) {
  bool made = false;
  SubjectCounts& counts = subjects_.of(outcome.subject, made);
  if (made) {
    counts.rule = rule.summary.rule;
    counts.text = subject_of(rule, outcome, request);
    ++rule.summary.subjects;
  }
  ++counts.requests[index];
  if (denied) ++counts.denied[index];
  if (index + 1 != sets_.size()) return;
  if (denied) {
    if (counts.first_denied == TimePoint{}) counts.first_denied = time;
    counts.last_denied = time;
  }
  const std::int64_t window = rule.window.count() > 0 ? micros(time) / rule.window.count() : 0;
  if (window != counts.window) {
    counts.window = window;
    counts.in_window = 0;
  }
  counts.in_window += static_cast<std::uint64_t>(outcome.cost);
  if (counts.in_window > counts.peak) {
    counts.peak = counts.in_window;
    counts.peak_at = from_micros(window * std::max<std::int64_t>(1, rule.window.count()));
  }
}

std::string Replay::subject_of(const RuleState& rule, const RuleOutcome& outcome, const Request& request) const {
  if (outcome.shared) return "shared";
  const SubjectDigits digits = subject_digits(outcome.subject);
  if (!options_.plain_subjects) return std::string(digits.data(), digits.size());
  std::string text;
  for (const std::string& entry : rule.per) {
    const Attribute* found = nullptr;
    rules::for_each_name(entry, [&](std::string_view name) {
      for (const Attribute& each : request.attributes) {
        if (found == nullptr && each.name == name) found = &each;
      }
    });
    if (found == nullptr) continue;
    if (!text.empty()) text += ", ";
    text.append(found->name).append("=");
    // What identity has hashed may be shown; other secrets never.
    if (secrets_.contains(found->name) && !found->value.starts_with("k_")) {
      const SubjectDigits value = observe::value_digits(found->name, found->value, encoder_);
      text.append("#").append(value.data(), value.size());
    } else {
      text.append(observe::cut_value(found->value));
    }
  }
  return text.empty() ? "all" : text;
}

Result<Report> Replay::finish(const MergedLogs* logs) {
  Report report;
  if (logs != nullptr) {
    for (const std::unique_ptr<LogReader>& log : logs->logs()) {
      report.logs.push_back({log->name(), log->format() ? std::string(log_format_text(*log->format())) : "empty",
                             log->lines(), log->unparsed()});
      if (!report.first_unparsed) report.first_unparsed = log->first_unparsed();
    }
    report.lines = logs->lines();
    report.unparsed = logs->unparsed();
  }
  report.refused = refused_;
  report.first_refused = first_refused_;
  report.requests = requests_;
  report.logged_429 = logged_429_;
  report.out_of_order = out_of_order_;
  report.from = from_;
  report.to = latest_;
  for (const Set& set : sets_) report.sets.push_back(set.summary);
  report.newly_denied = newly_denied_;
  report.newly_allowed = newly_allowed_;
  report.peak_second = peaks_.second();
  report.peak_minute = peaks_.minute();
  report.series_start = series_.start();
  report.series_step = series_.step();
  report.series = series_.steps();
  add_lists(report);
  add_notes(report);
  if (tape_ != nullptr) {
    if (Status added = add_suggestions(report); !added.ok()) return added.failure();
  }
  return report;
}

void Replay::add_lists(Report& report) const {
  const std::size_t last = sets_.size() - 1;
  report.exact_subjects = subjects_.given_up() == 0;
  report.top_denied = subjects_.top(options_.top, [&](const SubjectCounts& each) { return each.denied[last]; });
  report.top_requests = subjects_.top(options_.top, [&](const SubjectCounts& each) { return each.requests[last]; });
  if (last > 0) {
    report.changed = subjects_.top(options_.top, [](const SubjectCounts& each) {
      return each.denied[1] > each.denied[0] ? each.denied[1] - each.denied[0] : each.denied[0] - each.denied[1];
    });
  }
  for (const RuleState& rule : rules_) {
    RuleSummary summary = rule.summary;
    if (rule.denied != nullptr) {
      summary.denied_series.resize(series_.steps().size());
      const std::vector<StepCounts>& steps = rule.denied->steps();
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const TimePoint at = rule.denied->start() + rule.denied->step() * static_cast<std::int64_t>(i);
        const std::int64_t step = std::clamp<std::int64_t>((at - series_.start()) / series_.step(), 0,
                                                           static_cast<std::int64_t>(summary.denied_series.size()) - 1);
        summary.denied_series[static_cast<std::size_t>(step)] += steps[i].requests;
      }
    }
    report.rules.push_back(std::move(summary));
  }
  std::stable_sort(report.rules.begin(), report.rules.end(), [&](const RuleSummary& one, const RuleSummary& other) {
    return one.denied[last] > other.denied[last];
  });
}

void Replay::add_notes(Report& report) const {
  report.notes = attributes_.notes();
  if (has_quotas_) {
    report.notes.emplace_back("quota rules are not simulated; a log does not say what was used before it began");
  }
  for (const Set& set : sets_) {
    if (set.summary.degraded > 0) {
      report.notes.push_back(set.summary.name + ": " + std::to_string(set.summary.degraded) +
                             " decisions were made by failure policies, because the memory for buckets was full; "
                             "allow more with --memory");
    }
  }
  for (const RuleState& rule : rules_) {
    if (rule.counted || rule.summary.requests[0] + rule.summary.requests[1] == 0) continue;
    const bool unlimited = rule.summary.summary[0] == "unlimited" || rule.summary.summary[1] == "unlimited";
    if (!unlimited) {
      report.notes.push_back("rule " + rule.summary.rule +
                             ": is not simulated; an access log does not say what is held or was used before");
    }
  }
}

Status Replay::add_suggestions(Report& report) {
  report.target = *options_.target;
  std::vector<SearchedRule> searched(rules_.size());
  for (std::size_t i = 0; i < rules_.size(); ++i) searched[i] = {rules_[i].summary.rule, rules_[i].spec};
  Result<std::vector<Suggestion>> found = search_limits(*tape_, searched, *options_.target, options_.max_bytes);
  if (!found.ok()) return found.failure();
  report.suggestions = std::move(found).value();
  return success();
}

}  // namespace weir::simulate
