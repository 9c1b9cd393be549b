#include "observe/request_counters.h"

#include <algorithm>
#include <map>

namespace weir::observe {
namespace {

void add_one(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::string_view value_of(const RequestContext& context, std::string_view name) {
  for (const Attribute& each : context.attributes) {
    if (each.name == name) return each.value;
  }
  return {};
}

constexpr std::string_view kOutcomes[] = {"denied", "allowed"};

}  // namespace

RequestCounters::RequestCounters(std::shared_ptr<const RuleLabels> labels, const std::vector<std::string>& tenants)
    : labels_(std::move(labels)), tenants_(tenants), by_tenant_(tenants.size() + 1), left_(kOtherRule + 1) {
  for (std::size_t i = 0; i < tenants_.size(); ++i) tenant_rows_[tenants_[i]] = i;
}

std::size_t RequestCounters::action_row(const RequestContext& context) {
  const std::string_view action = value_of(context, "action").substr(0, kMaxActionBytes);
  if (action.empty()) return kNone;
  const std::size_t used = used_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < used; ++i) {
    if (actions_[i] == action) return i;
  }
  if (used == kMaxActions) return kOther;
  actions_[used] = action;
  used_.store(used + 1, std::memory_order_release);
  return used;
}

void RequestCounters::on_decision(const Decision& decision, const RequestContext& context) {
  const std::size_t answer = decision.allowed ? 1 : 0;
  add_one(by_action_[action_row(context)][answer]);
  if (!tenants_.empty()) {
    const auto known = tenant_rows_.find(value_of(context, "tenant"));
    add_one(by_tenant_[known == tenant_rows_.end() ? tenants_.size() : known->second][answer]);
  }
  if (++tick_ % kSampled == 0) sample_left(decision);
}

void RequestCounters::sample_left(const Decision& decision) {
  if (const std::uint64_t version = labels_->version(); version != table_version_) {
    table_ = labels_->table();
    table_version_ = version;
  }
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.unlimited || rule.store_failed || rule.capacity <= 0) continue;
    if (!decision.allowed && rule.allowed && rule.kind == ChargeKind::quota) continue;  // the ledger was not asked
    const std::uint32_t row = table_->row(rule.ordinal);
    Left& left = left_[row];
    if (left.tenure.load(std::memory_order_relaxed) != table_->tenures[row]) {
      for (Counter& counter : left.counts) counter.store(0, std::memory_order_relaxed);
      left.tenure.store(table_->tenures[row], std::memory_order_release);
    }
    const double share =
        static_cast<double>(std::max<std::int64_t>(0, rule.remaining)) / static_cast<double>(rule.capacity);
    std::size_t step = 0;
    while (step < kRemainingBounds.size() && share > kRemainingBounds[step]) ++step;
    add_one(left.counts[step]);
  }
}

void add_request_counts(const std::vector<std::shared_ptr<RequestCounters>>& loops, const std::string& region,
                        Facts& facts) {
  if (loops.empty()) return;
  std::map<std::string, std::array<std::uint64_t, 2>> actions;  // by name; "": none
  std::vector<std::array<std::uint64_t, 2>> tenants(loops.front()->by_tenant_.size());
  const auto add = [](std::array<std::uint64_t, 2>& sum, const RequestCounters::Answers& counts) {
    for (std::size_t i = 0; i < 2; ++i) sum[i] += counts[i].load(std::memory_order_relaxed);
  };
  const auto table = loops.front()->labels_->table();
  for (const std::shared_ptr<RequestCounters>& loop : loops) {
    const std::size_t used = loop->used_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < used; ++i) add(actions[loop->actions_[i]], loop->by_action_[i]);
    add(actions["other"], loop->by_action_[RequestCounters::kOther]);
    add(actions[""], loop->by_action_[RequestCounters::kNone]);
    for (std::size_t i = 0; i < tenants.size(); ++i) add(tenants[i], loop->by_tenant_[i]);
  }
  using SeriesKind = FactMetric::Kind;
  for (const auto& [name, counts] : actions) {
    for (std::size_t i = 0; i < 2; ++i) {
      facts.more.push_back(
          {"weir_action_decisions_total",
           {},
           SeriesKind::counter,
           static_cast<double>(counts[i]),
           {{"action", name.empty() ? "none" : name}, {"region", region}, {"outcome", std::string(kOutcomes[i])}}});
    }
  }
  const std::vector<std::string>& names = loops.front()->tenants_;
  for (std::size_t t = 0; t < tenants.size() && !names.empty(); ++t) {
    for (std::size_t i = 0; i < 2; ++i) {
      facts.more.push_back(
          {"weir_tenant_decisions_total",
           {},
           SeriesKind::counter,
           static_cast<double>(tenants[t][i]),
           {{"tenant", t < names.size() ? names[t] : "other"}, {"outcome", std::string(kOutcomes[i])}}});
    }
  }
  for (std::uint32_t row = 0; row <= kOtherRule; ++row) {
    if (table->tenures[row] == 0) continue;
    RuleRemaining sum{.rule = std::string(table->ids[row])};
    for (const std::shared_ptr<RequestCounters>& loop : loops) {
      const RequestCounters::Left& left = loop->left_[row];
      if (left.tenure.load(std::memory_order_acquire) != table->tenures[row]) continue;
      for (std::size_t i = 0; i < sum.counts.size(); ++i)
        sum.counts[i] += left.counts[i].load(std::memory_order_relaxed);
    }
    if (row != kOtherRule ||
        std::any_of(sum.counts.begin(), sum.counts.end(), [](std::uint64_t count) { return count > 0; })) {
      facts.remaining.push_back(std::move(sum));
    }
  }
}

}  // namespace weir::observe
