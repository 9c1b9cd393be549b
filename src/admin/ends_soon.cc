#include <algorithm>

#include "admin/operator_state.h"
#include "admin/rule_text.h"
#include "admin/traffic.h"
#include "rules/compile/block_set.h"

namespace weir::admin {
namespace {

constexpr Duration kSoon = std::chrono::hours(24);
constexpr std::size_t kMostEnding = 20;

// "tenant=acme api_key=k1,k2"
std::string whom(const std::vector<weir::Condition>& when) {
  if (when.empty()) return "everyone";
  std::string text;
  for (const weir::Condition& each : when) {
    if (!text.empty()) text += ' ';
    text += each.attribute + '=';
    for (std::size_t i = 0; i < each.patterns.size(); ++i) text += (i > 0 ? "," : "") + each.patterns[i];
  }
  return text;
}

class EndingSoon {
 public:
  EndingSoon(const OperatorState& state, TimePoint now) : state_(state), now_(now), set_(state.book->current()) {}

  std::vector<EndsSoon> list() {
    for (const control::OverrideRecord& each : *state_.overrides.current()) {
      add("override", each.id, whom(each.when) + what(each), each.reason, each.until);
    }
    for (const rules::CompiledRule& rule : set_->rules()) add_file_overrides(rule.source);
    for (const control::BlockRecord& each : *state_.blocks.current()) {
      add("block", each.id, whom(each.when), each.reason, each.until);
    }
    add_file_blocks();
    std::sort(all_.begin(), all_.end(), [](const auto& left, const auto& right) { return left.until < right.until; });
    if (all_.size() > kMostEnding) all_.resize(kMostEnding);
    return std::move(all_);
  }

 private:
  void add(std::string_view kind, const std::string& id, const std::string& text, const std::string& reason,
           const std::optional<TimePoint>& until) {
    if (until && *until > now_ && *until <= now_ + kSoon) {
      all_.push_back({std::string(kind), id, text, reason, *until});
    }
  }

  // ", search-per-key, 5000 per 60 s"
  std::string what(const control::OverrideRecord& record) const {
    std::string text;
    for (const std::string& id : record.rules) text += ", " + (id == rules::kEveryRule ? "every rule" : id);
    const auto rule = std::find_if(set_->rules().begin(), set_->rules().end(),
                                   [&](const auto& each) { return each.source.id == record.rules.front(); });
    if (rule != set_->rules().end()) return text + ", " + override_text(rule->source, record.change, record.mode);
    if (record.change.unlimited) return text + ", unlimited";
    if (record.change.limit) return text + ", " + std::to_string(*record.change.limit);
    return text;
  }

  void add_file_overrides(const Rule& rule) {
    for (std::size_t i = 0; i < rule.overrides.size(); ++i) {
      const Override& each = rule.overrides[i];
      if (each.use != nullptr || !each.until) continue;  // set at run time, or without an end
      add("override", rules::file_override_id(rule, i),
          whom(each.when) + ", " + rule.id + ", " + override_text(rule, each.change, each.mode), each.reason,
          each.until);
    }
  }

  void add_file_blocks() {
    const std::shared_ptr<const rules::Intake> intake = state_.book->loaded().intake;
    if (intake == nullptr || intake->blocks == nullptr) return;
    for (const Block& each : intake->blocks->blocks()) {
      if (is_of_file(each)) add("block", each.use->id(), whom(each.when), each.reason, each.until);
    }
  }

  const OperatorState& state_;
  const TimePoint now_;
  const std::shared_ptr<const rules::RuleSet> set_;
  std::vector<EndsSoon> all_;
};

}  // namespace

std::vector<EndsSoon> ends_soon(const OperatorState& state, TimePoint now) { return EndingSoon(state, now).list(); }

}  // namespace weir::admin
