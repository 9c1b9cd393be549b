#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "admin/operator_state.h"
#include "admin/subject_routes.h"
#include "admin/traffic.h"
#include "engine/stages/quota_gate.h"
#include "ledger/reading.h"
#include "server/modules/admin_tools_module.h"
#include "server/modules/front_ends.h"
#include "server/modules/operators_module.h"
#include "server/modules/traffic_module.h"
#include "server/node_beat.h"

namespace weir::server {
namespace {

constexpr std::chrono::seconds kQuotaPatience{2};

// The routes of the admin API that show the traffic of this node, and act on one subject of it.
class TrafficRoutesModule final : public Module {
 public:
  TrafficRoutesModule(ServerContext& context, AdminToolsModule& tools, const RulesModule& rules,
                      const OperatorsModule& operators, const TrafficModule& traffic, DecisionsModule& decisions)
      : context_(context),
        tools_(tools),
        rules_(rules),
        operators_(operators),
        traffic_(traffic),
        decisions_(decisions) {}

  Status start() override {
    shown_.reset(
        new admin::Traffic{.history = traffic_.history(),
                           .hot_keys = traffic_.hot_keys(),
                           .journal = traffic_.journal(),
                           .rules = *rules_.book(),
                           .rules_source = rules_source(),
                           .facts = [this] { return context_.facts(); },
                           .database = [this] { return database_state(); },
                           .nodes = [this] { return nodes_state(); },
                           .rollout =
                               [this](std::uint32_t ordinal, observe::RolloutCounts::Kind kind) {
                                 return observe::rollout_report(decisions_.counters(), ordinal, kind);
                               },
                           .ends_soon = [this] { return admin::ends_soon(operators_.state(), context_.clock->wall()); },
                           .find_stored = [this](const auto& query, std::size_t count,
                                                 const auto& after) { return find_stored(query, count, after); },
                           .node = tools_.node(),
                           .side = side_});
    database::Database* const database = tools_.databases().database();
    if (database != nullptr && database->dialect() == database::Dialect::postgres) {
      beat_ = std::make_unique<NodeBeat>(*database, tools_.node());
      context_.add_task(control::kBeatPeriod, [this] {
        if (tools_.databases().is_ready()) beat_->beat();
      });
    }
    context_.add_routes("admin", [this](http::Router& router, std::size_t loop) { add_routes(router, loop); });
    return success();
  }

  void stop() override {
    if (beat_ != nullptr && tools_.databases().is_ready()) beat_->leave();
  }

 private:
  void add_routes(http::Router& router, std::size_t loop) {
    // The environment is the tools module's, which lives longer than every router.
    admin::Api api(router, std::shared_ptr<const admin::Environment>(std::shared_ptr<void>(), &tools_.environment()));
    admin::add_overview_route(api, *shown_);
    admin::add_rule_card_routes(api, *shown_);
    admin::add_decision_routes(api, *shown_);
    admin::add_hot_key_routes(api, *shown_);
    admin::add_candidate_routes(api, *shown_);
    Limiter& limiter = decisions_.limiter(loop);
    admin::add_lookup_route(api, limiter, *shown_, [this](admin::JsonWriter& out, const admin::LookedUp& found) {
      add_subject_members(out, found);
    });
    admin::add_reset_route(api, limiter);
    admin::add_refund_route(api, limiter);
    admin::add_hold_routes(api, limiter);
  }

  // The tenant's record, and the overrides that apply.
  void add_subject_members(admin::JsonWriter& out, const admin::LookedUp& found) const {
    const admin::OperatorState& state = operators_.state();
    std::string tenant;
    for (const Attribute& each : found.attributes) {
      if (each.name != "tenant") continue;
      const auto records = state.tenants.current();
      if (const control::TenantRecord* const record = records->find(each.value)) tenant = admin::describe(*record);
    }
    out.raw_member("tenant", tenant);
    out.begin_array("overrides");
    admin::write_applying_overrides(out, state, found.explanation);
    out.end_array();
    add_quotas(out, found);
  }

  // The open accounts of the quota rules that apply. On the side thread, which may wait for the database.
  void add_quotas(admin::JsonWriter& out, const admin::LookedUp& found) const {
    std::vector<ledger::Account> accounts;
    database::Database* const database = tools_.databases().database();
    const auto set = rules_.book()->current();
    const TimePoint now = context_.clock->wall();
    for (const rules::RuleExplanation& each : found.explanation.rules) {
      if (database == nullptr || !each.applies || each.kind != ChargeKind::quota) continue;
      const auto rule = std::find_if(set->rules().begin(), set->rules().end(),
                                     [&](const rules::CompiledRule& one) { return one.source.id == each.rule; });
      if (rule == set->rules().end()) continue;
      ledger::AccountFilter filter;
      filter.rule = each.rule;
      filter.subject = engine::quota_subject(rule->source, Request(found.attributes));
      static_cast<void>(database->run(
          database::Access::read,
          [&](database::Session& session) -> Status {
            const Result<std::vector<ledger::Account>> listed = ledger::list_accounts(session, filter);
            if (!listed.ok()) return listed.failure();
            for (const ledger::Account& account : listed.value()) {
              if (account.begins <= now && now < account.ends) accounts.push_back(account);
            }
            return success();
          },
          kQuotaPatience));
    }
    out.begin_array("quotas");
    for (const ledger::Account& account : accounts) {
      out.begin_object();
      out.member("rule", account.key.rule);
      out.member("account", std::to_string(account.id));
      out.member("limit", account.limit);
      out.member("used", account.used);
      out.member("held", account.held);
      out.member("available", account.available);
      out.member("resets_at", account.ends);
      out.end_object();
    }
    out.end_array();
  }

  Result<std::vector<admin::StoredDecision>> find_stored(const observe::JournalQuery& query, std::size_t count,
                                                         const std::optional<observe::JournalPlace>& after) const {
    std::vector<admin::StoredDecision> all;
    const JournalStore* const store = traffic_.stored();
    if (store == nullptr) return all;
    Result<std::vector<JournalStore::Found>> found = store->find(query, count, after);
    if (!found.ok()) return found.failure();
    for (JournalStore::Found& each : found.value()) {
      all.push_back({each.place, std::move(each.node), std::move(each.json)});
    }
    return all;
  }

  std::string rules_source() const {
    if (rules_in_database(context_.config)) return "database";
    return context_.config.rules_path.empty() ? "built-in" : "file";
  }

  admin::DatabaseState database_state() const {
    const DatabaseModule& databases = tools_.databases();
    admin::DatabaseState state;
    state.kind = databases.kind();
    if (databases.database() == nullptr) return state;
    const database::Health health = databases.database()->health();
    state.ok = databases.is_ready() && health.connected;
    state.detail = health.trouble;
    state.lag = std::chrono::duration_cast<Duration>(health.lag);
    return state;
  }

  admin::NodesState nodes_state() const {
    if (beat_ == nullptr) return {};
    const control::NodeCounts counts = beat_->counts();
    return {.live = counts.live, .expected = counts.expected};
  }

  ServerContext& context_;
  AdminToolsModule& tools_;
  const RulesModule& rules_;
  const OperatorsModule& operators_;
  const TrafficModule& traffic_;
  DecisionsModule& decisions_;
  std::unique_ptr<admin::Traffic> shown_;
  std::unique_ptr<NodeBeat> beat_;  // null: this node is alone
  admin::SideThread side_;          // ends before what its tasks use
};

}  // namespace

std::unique_ptr<Module> make_traffic_routes_module(ServerContext& context, AdminToolsModule& tools,
                                                   const RulesModule& rules, const OperatorsModule& operators,
                                                   const TrafficModule& traffic, DecisionsModule& decisions) {
  return std::make_unique<TrafficRoutesModule>(context, tools, rules, operators, traffic, decisions);
}

}  // namespace weir::server
