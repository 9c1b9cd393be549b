#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "admin/rule_text.h"
#include "admin/traffic.h"

namespace weir::admin {
namespace {

using observe::RuleTotal;

double per_second(const std::optional<observe::History::RuleRates>& rates, RuleTotal total) {
  return rates ? rates->per_second[static_cast<std::size_t>(total)] : 0;
}

void write_conditions(JsonWriter& out, std::string_view name, const std::vector<weir::Condition>& conditions) {
  out.begin_object(name);
  for (const weir::Condition& each : conditions) {
    if (each.patterns.size() == 1) {
      out.member(each.attribute, each.patterns.front());
      continue;
    }
    out.begin_array(each.attribute);
    for (const std::string& pattern : each.patterns) out.value(pattern);
    out.end_array();
  }
  out.end_object();
}

// The fullest subject of each of some rules, with their names.
class Fullest {
 public:
  Fullest(const Traffic& traffic, std::span<const rules::CompiledRule> rules) {
    std::vector<observe::SubjectKey> keys;
    for (const rules::CompiledRule& rule : rules) {
      if (traffic.hot_keys == nullptr) break;
      const std::vector<observe::SubjectFill> found = traffic.hot_keys->fullest_of(rule.name.ordinal, 1);
      if (found.empty()) continue;
      fills_.push_back(found.front());
      keys.push_back(found.front().key);
    }
    names_.emplace(traffic, std::move(keys));
  }

  void write(JsonWriter& out, std::uint32_t ordinal) const {
    const auto found = std::find_if(fills_.begin(), fills_.end(),
                                    [&](const observe::SubjectFill& each) { return each.key.ordinal == ordinal; });
    if (found == fills_.end()) return out.null_member("fullest");
    out.begin_object("fullest");
    out.member("subject", subject_of(found->key.subject, found->shared));
    out.member("text", names_->find(found->key));
    out.member("share", found->share());
    out.member("used", found->used);
    out.member("limit", found->limit);
    out.end_object();
  }

 private:
  std::vector<observe::SubjectFill> fills_;
  std::optional<SubjectNames> names_;
};

// The members of a card, inside an object.
void write_card(JsonWriter& out, const Traffic& traffic, const rules::CompiledRule& rule,
                const std::optional<observe::History::RuleRates>& rates, bool fallback, const Fullest& fullest) {
  const Rule& source = rule.source;
  out.member("id", source.id);
  out.member("algorithm", algorithm_of(source));
  out.member("summary", summary_of(source));
  write_conditions(out, "match", source.match);
  out.begin_array("per");
  for (const std::string& each : source.per) out.value(each);
  out.end_array();
  out.member("mode", mode_name(rule.mode));
  out.member("limit", source.unlimited ? std::nullopt : std::optional(source.allowance.limit));
  const Duration window = source.kind == ChargeKind::lease ? source.lease : source.allowance.window;
  out.member("window_ms", window > Duration(0) ? std::optional(ceil_ms(window)) : std::nullopt);
  out.member("passed_per_second", per_second(rates, RuleTotal::passed));
  out.member("denied_per_second", per_second(rates, RuleTotal::denied));
  out.member("shadow_denied_per_second", per_second(rates, RuleTotal::shadow_denied));
  fullest.write(out, rule.name.ordinal);
  const bool seen = rates && rates->last_seen != TimePoint{};
  out.member("last_seen_at", seen ? std::optional(rates->last_seen) : std::nullopt);
  out.member("fallback", fallback);
  if (!rule.candidate) return out.null_member("candidate");
  out.begin_object("candidate");
  write_candidate_report(out, traffic, rule);
  out.end_object();
}

bool is_in_fallback(const observe::Facts& facts, std::uint32_t ordinal) {
  return std::any_of(facts.rule_fallbacks.begin(), facts.rule_fallbacks.end(),
                     [&](const observe::RuleFallback& each) { return each.ordinal == ordinal; });
}

// In the order of the file, from the rule behind the one named `after` on.
Answer list_cards(const Traffic& traffic, const Page& page) {
  const std::shared_ptr<const rules::RuleSet> set = traffic.rules.current();
  const observe::Facts facts = traffic.facts();
  auto rule = set->rules().begin();
  if (!page.after.empty()) {
    rule = std::find_if(rule, set->rules().end(), [&](const auto& each) { return each.name.id == page.after; });
    if (rule != set->rules().end()) ++rule;
  }
  const auto left = static_cast<std::size_t>(set->rules().end() - rule);
  const Fullest fullest(traffic, {rule, std::min(left, static_cast<std::size_t>(page.limit))});
  JsonWriter out;
  out.begin_object();
  out.begin_array("items");
  std::string last;
  for (std::int64_t shown = 0; shown < page.limit && rule != set->rules().end(); ++shown, ++rule) {
    out.begin_object();
    write_card(out, traffic, *rule, traffic.history.rule_rates(rule->name.id),
               is_in_fallback(facts, rule->name.ordinal), fullest);
    out.end_object();
    last = rule->name.id;
  }
  out.end_array();
  out.member("next", rule == set->rules().end() ? std::nullopt : std::optional(next_cursor("rules", last)));
  out.end_object();
  return json_answer(out.take());
}

void write_top_subjects(JsonWriter& out, const Traffic& traffic, std::uint32_t ordinal) {
  std::vector<observe::SubjectFill> fills;
  std::vector<observe::HotKeys::Subject> denied;
  if (traffic.hot_keys != nullptr) {
    fills = traffic.hot_keys->fullest_of(ordinal, observe::HotKeys::kFillsOfRule);
    denied = traffic.hot_keys->denied(observe::HotKeys::kMaxSubjects);
    std::erase_if(denied, [&](const auto& each) { return each.key.ordinal != ordinal; });
    if (denied.size() > 10) denied.resize(10);
  }
  std::vector<observe::SubjectKey> keys;
  for (const auto& each : fills) keys.push_back(each.key);
  for (const auto& each : denied) keys.push_back(each.key);
  const SubjectNames names(traffic, keys);
  out.begin_array("top_subjects");
  for (const observe::HotKeys::Subject& each : denied) {
    out.begin_object();
    out.member("subject", subject_of(each.key.subject, each.shared));
    out.member("text", names.find(each.key));
    out.member("denied_per_second", each.per_second);
    out.member("since", each.since);
    out.end_object();
  }
  out.end_array();
  out.begin_array("near_limit");
  for (const observe::SubjectFill& each : fills) {
    out.begin_object();
    out.member("subject", subject_of(each.key.subject, each.shared));
    out.member("text", names.find(each.key));
    out.member("used", each.used);
    out.member("limit", each.limit);
    out.member("share", each.share());
    out.end_object();
  }
  out.end_array();
}

Answer show_rule(const Traffic& traffic, const std::string& id, observe::HistoryRange range) {
  const std::shared_ptr<const rules::RuleSet> set = traffic.rules.current();
  const auto rule =
      std::find_if(set->rules().begin(), set->rules().end(), [&](const auto& each) { return each.name.id == id; });
  if (rule == set->rules().end()) return not_found("rule", id);
  JsonWriter out;
  out.begin_object();
  write_card(out, traffic, *rule, traffic.history.rule_rates(id), is_in_fallback(traffic.facts(), rule->name.ordinal),
             Fullest(traffic, {rule, 1}));
  out.begin_array("explanation");
  for (const std::string& each : explain_rule(*rule)) out.value(each);
  out.end_array();
  write_series(out, traffic.history.rule(id, range), {"allowed", "denied", "shadow_denied"});
  write_top_subjects(out, traffic, rule->name.ordinal);
  out.end_object();
  return json_answer(out.take());
}

}  // namespace

void add_rule_card_routes(Api& api, const Traffic& traffic) {
  api.get("/rules/list", [&traffic](Call& call) {
    Query query = call.query();
    const Page page = query.page("rules");
    if (!call.accepts(query)) return;
    run_aside(call, traffic, [&traffic, page] { return list_cards(traffic, page); });
  });
  api.get("/rules/{id}", [&traffic](Call& call) {
    Query query = call.query();
    const std::string range = query.choice("range", {"5m", "1h", "24h"}).value_or("5m");
    if (!call.accepts(query)) return;
    run_aside(call, traffic, [&traffic, id = call.parameter("id"), range] {
      return show_rule(traffic, id, *observe::history_range_from_name(range));
    });
  });
}

}  // namespace weir::admin
