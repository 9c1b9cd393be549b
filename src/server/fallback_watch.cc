#include "server/fallback_watch.h"

#include <algorithm>
#include <unordered_map>

namespace weir::server {
namespace {

std::int64_t whole_seconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::seconds>(duration).count();
}

}  // namespace

std::vector<FallbackWatch::Fallback> FallbackWatch::current(TimePoint now) const {
  std::vector<Fallback> found;
  if (!times_.any()) return found;
  std::unordered_map<std::uint32_t, engine::FallbackTimes::Spell> spells;
  for (const engine::FallbackTimes::Spell& spell : times_.spells()) spells.emplace(spell.ordinal, spell);
  const std::shared_ptr<const rules::RuleSet> set = book_->current();
  for (const rules::CompiledRule& rule : set->rules()) {
    const auto spell = spells.find(rule.name.ordinal);
    if (spell == spells.end()) continue;
    const OnStoreFailure failure = failure_policy_of(rule.source);
    if (now - spell->second.last_failure > engine::FallbackTimes::quiet_after(failure.term)) {
      times_.forget(rule.name.ordinal);
      continue;
    }
    const Duration lasted = std::max(Duration::zero(), now - spell->second.since);
    found.push_back({rule.name.ordinal, rule.name.id, failure.after(lasted), lasted, failure});
  }
  return found;
}

void FallbackWatch::poll(TimePoint now) {
  if (!times_.any() && known_.empty()) return;
  for (auto& [ordinal, each] : known_) each.still = false;
  for (const Fallback& each : current(now)) {
    log_change(each);
    known_[each.ordinal] = {each.policy, now - each.lasted, each.rule, true, each.configured};
  }
  log_ended(now);
  forget_unloaded();
}

void FallbackWatch::log_change(const Fallback& found) {
  const auto known = known_.find(found.ordinal);
  const std::string_view policy = failure_policy_name(found.policy);
  if (known == known_.end()) {
    log_.warn("rule_fallback", "the store does not answer for a rule: its failure policy decides",
              {{"rule", found.rule}, {"policy", policy}});
  } else if (known->second.policy == found.policy) {
    return;
  } else if (known->second.configured != found.configured) {
    log_.info("rule_fallback_reloaded", "the rules were reloaded: another failure policy decides for a rule",
              {{"rule", found.rule}, {"policy", policy}});
  } else {
    log_.warn("rule_fallback_policy", "the store has not answered for a rule for a long time: its next policy decides",
              {{"rule", found.rule}, {"policy", policy}, {"after_s", whole_seconds(found.lasted)}});
  }
}

std::unordered_set<std::uint32_t> FallbackWatch::loaded() const {
  std::unordered_set<std::uint32_t> ordinals;
  const std::shared_ptr<const rules::RuleSet> set = book_->current();
  for (const rules::CompiledRule& rule : set->rules()) ordinals.insert(rule.name.ordinal);
  return ordinals;
}

// Rules that are no longer loaded get no more answers that could end their spells.
void FallbackWatch::forget_unloaded() {
  std::vector<engine::FallbackTimes::Spell> spells = times_.spells();
  std::erase_if(spells, [&](const auto& spell) { return known_.contains(spell.ordinal); });
  if (spells.empty()) return;
  const std::unordered_set<std::uint32_t> still_loaded = loaded();
  for (const engine::FallbackTimes::Spell& spell : spells) {
    if (!still_loaded.contains(spell.ordinal)) times_.forget(spell.ordinal);
  }
}

void FallbackWatch::log_ended(TimePoint now) {
  if (std::all_of(known_.begin(), known_.end(), [](const auto& entry) { return entry.second.still; })) return;
  const std::unordered_set<std::uint32_t> still_loaded = loaded();
  std::erase_if(known_, [&](const auto& entry) {
    const auto& [ordinal, each] = entry;
    if (each.still) return false;
    const auto decisions = static_cast<std::int64_t>(times_.failures(ordinal));
    if (still_loaded.contains(ordinal)) {
      log_.info("rule_fallback_ended", "the failure policy of a rule no longer decides",
                {{"rule", each.rule}, {"after_s", whole_seconds(now - each.since)}, {"decisions", decisions}});
    } else {
      log_.info("rule_fallback_removed", "a rule was removed while its failure policy decided",
                {{"rule", each.rule}, {"after_s", whole_seconds(now - each.since)}, {"decisions", decisions}});
    }
    return true;
  });
}

void FallbackWatch::add_facts(TimePoint now, observe::Facts& facts) const {
  for (const Fallback& each : current(now)) {
    facts.rule_fallbacks.push_back({each.ordinal, failure_policy_name(each.policy), each.lasted});
  }
}

void FallbackWatch::add_health(TimePoint now, HealthDetails& details) const {
  const std::vector<Fallback> all = current(now);
  if (all.empty()) return;
  const auto longest = std::max_element(all.begin(), all.end(),
                                        [](const Fallback& a, const Fallback& b) { return a.lasted < b.lasted; });
  details.add_section("fallback", "\"rules\":" + std::to_string(all.size()) +
                                      ",\"longest_ms\":" + std::to_string(ceil_ms(longest->lasted)));
}

}  // namespace weir::server
