#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "admin/traffic.h"
#include "base/ascii.h"

namespace weir::admin {
namespace {

using observe::HistoryRange;
using observe::RuleTotal;
using observe::Total;

constexpr std::size_t kTopCount = 10;
constexpr std::int64_t kMostRules = 1'000;  // that may be asked for
// A subject that has used this share of its limit is close to it.
constexpr double kCloseShare = 0.8;

double rate_of(const std::array<double, observe::kTotalCount>& rates, Total total) {
  return rates[static_cast<std::size_t>(total)];
}

double rate_of(const observe::History::RuleRates& rates, RuleTotal total) {
  return rates.per_second[static_cast<std::size_t>(total)];
}

double milliseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e6; }

// The upper end of the bucket below which 99 of 100 calls were.
double store_p99_ms(const observe::RemoteStoreFacts& store) {
  std::uint64_t all = 0;
  for (const auto& each : store.latency) all += each.count;
  std::uint64_t left = (all * 99 + 99) / 100;
  for (const auto& each : store.latency) {
    if (each.count >= left && left > 0) return std::isfinite(each.below_seconds) ? each.below_seconds * 1e3 : 0;
    left -= std::min(left, each.count);
  }
  return 0;
}

std::string_view breaker_name(observe::RemoteStoreFacts::Breaker breaker) {
  using Breaker = observe::RemoteStoreFacts::Breaker;
  if (breaker == Breaker::open) return "open";
  return breaker == Breaker::half_open ? "half-open" : "closed";
}

class Overview {
 public:
  Overview(const Traffic& traffic, HistoryRange range, std::size_t rules, TimePoint now)
      : traffic_(traffic),
        range_(range),
        rules_(rules),
        now_(now),
        facts_(traffic.facts()),
        set_(traffic.rules.current()) {}

  std::string json() {
    if (traffic_.hot_keys != nullptr) {
      denied_ = traffic_.hot_keys->denied(kTopCount);
      asked_ = traffic_.hot_keys->asked(kTopCount);
      close_ = traffic_.hot_keys->fullest(kTopCount, kCloseShare);
    }
    names_.emplace(traffic_, subjects());
    out_.begin_object();
    out_.member("at", now_);
    out_.member("range", observe::history_range_name(range_));
    auto series = traffic_.history.totals(range_);
    out_.member("step_ms", ceil_ms(series.step));
    out_.member("node", traffic_.node);
    write_state();
    write_totals();
    write_history(std::move(series));
    write_top_rules();
    write_subjects();
    write_ends_soon();
    out_.end_object();
    return out_.take();
  }

 private:
  void write_history(observe::Series<observe::kTotalCount> totals) {
    observe::Series<observe::kTotalCount + 1> all{.start = totals.start, .step = totals.step, .values = {}};
    std::move(totals.values.begin(), totals.values.end(), all.values.begin());
    all.values.back() = traffic_.history.p99_ms(range_);
    write_series(out_, all, {"allowed", "denied", "shadow_denied", "shed", "degraded", "blocked", "p99_ms"});
  }

  std::vector<observe::SubjectKey> subjects() const {
    std::vector<observe::SubjectKey> all;
    for (const auto& each : denied_) all.push_back(each.key);
    for (const auto& each : asked_) all.push_back(each.key);
    for (const auto& each : close_) all.push_back(each.key);
    return all;
  }

  void write_state() {
    out_.begin_object("state");
    const NodesState nodes = traffic_.nodes();
    out_.begin_object("nodes");
    out_.member("live", nodes.live);
    out_.member("expected", nodes.expected);
    out_.end_object();
    write_store();
    const DatabaseState database = traffic_.database();
    out_.begin_object("database");
    out_.member("kind", database.kind);
    out_.member("ok", database.ok);
    out_.member("detail", database.detail);
    out_.member("lag_ms", ceil_ms(database.lag));
    out_.end_object();
    out_.begin_object("rules");
    out_.member("version", set_->told_version());
    out_.member("hash", base::hex_text(set_->told_hash()));
    out_.member("source", traffic_.rules_source);
    out_.member("loaded_at", traffic_.rules.last_success());
    const std::string error = traffic_.rules.last_error();
    out_.member("error", error.empty() ? std::nullopt : std::optional(error));
    out_.member("loaded", set_->rules().size());
    out_.end_object();
    out_.begin_array("fallbacks");
    for (const observe::RuleFallback& each : facts_.rule_fallbacks) {
      out_.begin_object();
      out_.member("rule", traffic_.rules.names().id_of(each.ordinal));
      out_.member("policy", each.policy);
      out_.member("since", now_ - each.lasted);
      out_.end_object();
    }
    out_.end_array();
    out_.end_object();
  }

  void write_store() {
    out_.begin_object("store");
    if (const auto& remote = facts_.remote_store) {
      out_.member("name", "redis");
      out_.member("ok", remote->breaker == observe::RemoteStoreFacts::Breaker::closed);
      out_.member("breaker", breaker_name(remote->breaker));
      out_.member("p99_ms", store_p99_ms(*remote));
      write_keys(*remote);
    } else {
      out_.member("name", "memory");
      out_.member("ok", true);
      out_.member("breaker", "closed");
      out_.member("p99_ms", 0);
      out_.member("keys", facts_.store_keys);
      out_.member("bytes", facts_.store_bytes);
      out_.member("max_bytes", facts_.store_max_bytes);
    }
    out_.end_object();
  }

  // Of all servers together, as far as they are known.
  void write_keys(const observe::RemoteStoreFacts& store) {
    std::int64_t keys = 0;
    std::int64_t bytes = 0;
    for (const auto& server : store.servers) {
      if (server.key_bytes < 0) continue;
      keys += server.keys;
      bytes += server.key_bytes;
    }
    out_.member("keys", keys);
    out_.member("bytes", bytes);
  }

  void write_totals() {
    const std::array<double, observe::kTotalCount> rates = traffic_.history.rates();
    const double allowed = rate_of(rates, Total::allowed);
    const double denied = rate_of(rates, Total::denied);
    const base::LatencySums latency = traffic_.history.latency();
    out_.begin_object("totals");
    out_.member("allowed_per_second", allowed);
    out_.member("denied_per_second", denied);
    out_.member("denied_share", allowed + denied > 0 ? denied / (allowed + denied) : 0.0);
    out_.member("usual_denied_share", traffic_.history.usual_denied_share());
    out_.member("shadow_denied_per_second", rate_of(rates, Total::shadow_denied));
    out_.member("shed_per_second", rate_of(rates, Total::shed));
    out_.member("degraded_per_second", rate_of(rates, Total::degraded));
    out_.member("blocked_per_second", rate_of(rates, Total::blocked));
    out_.member("rules_in_shadow", std::count_if(set_->rules().begin(), set_->rules().end(),
                                                 [](const auto& rule) { return rule.mode == Mode::shadow; }));
    out_.member("candidates", std::count_if(set_->rules().begin(), set_->rules().end(),
                                            [](const auto& rule) { return rule.candidate && rule.mode != Mode::off; }));
    out_.member("p50_ms", milliseconds(base::latency_quantile(latency, 500)));
    out_.member("p99_ms", milliseconds(base::latency_quantile(latency, 990)));
    out_.end_object();
  }

  void write_top_rules() {
    std::vector<observe::History::RuleRates> rates = traffic_.history.rule_rates();
    std::sort(rates.begin(), rates.end(), [](const auto& left, const auto& right) {
      const double left_denied = rate_of(left, RuleTotal::denied);
      const double right_denied = rate_of(right, RuleTotal::denied);
      return left_denied != right_denied ? left_denied > right_denied
                                         : rate_of(left, RuleTotal::passed) > rate_of(right, RuleTotal::passed);
    });
    std::unordered_map<std::string_view, const rules::CompiledRule*> loaded;
    for (const rules::CompiledRule& each : set_->rules()) loaded.emplace(each.name.id, &each);
    std::size_t shown = 0;
    out_.begin_array("top_rules");
    for (const observe::History::RuleRates& each : rates) {
      const auto found = loaded.find(each.rule);
      if (found == loaded.end()) continue;
      const rules::CompiledRule* const rule = found->second;
      if (shown++ == rules_) break;
      const bool fallback = std::any_of(facts_.rule_fallbacks.begin(), facts_.rule_fallbacks.end(),
                                        [&](const auto& one) { return one.ordinal == rule->name.ordinal; });
      out_.begin_object();
      out_.member("rule", each.rule);
      out_.member("mode", mode_name(rule->mode));
      out_.member("allowed_per_second", rate_of(each, RuleTotal::passed));
      out_.member("denied_per_second", rate_of(each, RuleTotal::denied));
      out_.member("shadow_denied_per_second", rate_of(each, RuleTotal::shadow_denied));
      out_.member("fallback", fallback);
      out_.end_object();
    }
    out_.end_array();
  }

  void begin_subject(const observe::SubjectKey& key, bool shared) {
    out_.begin_object();
    out_.member("subject", subject_of(key.subject, shared));
    out_.member("text", names_->find(key));
    out_.member("rule", traffic_.rules.names().id_of(key.ordinal));
  }

  void write_subjects() {
    out_.begin_array("top_subjects");
    for (const observe::HotKeys::Subject& each : denied_) {
      begin_subject(each.key, each.shared);
      out_.member("denied_per_second", each.per_second);
      out_.member("since", each.since);
      out_.end_object();
    }
    out_.end_array();
    out_.begin_array("near_limit");
    for (const observe::SubjectFill& each : close_) {
      begin_subject(each.key, each.shared);
      out_.member("used", each.used);
      out_.member("limit", each.limit);
      out_.member("share", each.share());
      out_.end_object();
    }
    out_.end_array();
    out_.begin_array("hot_subjects");
    for (const observe::HotKeys::Subject& each : asked_) {
      begin_subject(each.key, each.shared);
      out_.member("per_second", each.per_second);
      out_.end_object();
    }
    out_.end_array();
  }

  void write_ends_soon() {
    out_.begin_array("ends_soon");
    if (traffic_.ends_soon) {
      for (const EndsSoon& each : traffic_.ends_soon()) {
        out_.begin_object();
        out_.member("kind", each.kind);
        out_.member("id", each.id);
        out_.member("text", each.text);
        out_.member("reason", each.reason);
        out_.member("until", each.until);
        out_.end_object();
      }
    }
    out_.end_array();
  }

  const Traffic& traffic_;
  const HistoryRange range_;
  const std::size_t rules_;
  const TimePoint now_;
  const observe::Facts facts_;
  const std::shared_ptr<const rules::RuleSet> set_;
  std::vector<observe::HotKeys::Subject> denied_;
  std::vector<observe::HotKeys::Subject> asked_;
  std::vector<observe::SubjectFill> close_;
  std::optional<SubjectNames> names_;
  JsonWriter out_;
};

}  // namespace

void add_overview_route(Api& api, const Traffic& traffic) {
  api.get("/overview", [&traffic](Call& call) {
    Query query = call.query();
    const std::string range = query.choice("range", {"5m", "1h", "24h"}).value_or("5m");
    const std::int64_t rules = query.number("rules", 1, kMostRules).value_or(kTopCount);
    if (!call.accepts(query)) return;
    run_aside(call, traffic, [&traffic, range = *observe::history_range_from_name(range), rules, now = call.now()] {
      return json_answer(Overview(traffic, range, static_cast<std::size_t>(rules), now).json());
    });
  });
}

}  // namespace weir::admin
