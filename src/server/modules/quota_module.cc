#include "server/modules/quota_module.h"

#include <algorithm>
#include <fstream>
#include <random>

#include "admin/account_routes.h"
#include "base/ascii.h"
#include "base/bounded_file.h"
#include "server/gate_route.h"
#include "server/quota_routes.h"
#include "server/redis_settings.h"

namespace weir::server {
namespace {

// How often reservations and slices whose time has passed are closed.
constexpr auto kQuotaSweepPeriod = std::chrono::seconds(1);
// After so many sweeps remembered answers whose time has passed are forgotten.
constexpr int kForgetEvery = 600;
constexpr std::size_t kMostSwept = 1'000;
constexpr std::size_t kMaxNodeId = 128;
// How often the gate looks whether records of tenants have changed.
constexpr Duration kTenantPeriod = std::chrono::milliseconds(250);

const Rule* first_quota(const Rules& rules) {
  const auto found = std::find_if(rules.rules.begin(), rules.rules.end(), [](const Rule& rule) {
    return rule.kind == ChargeKind::quota && rule.mode != Mode::off;
  });
  return found == rules.rules.end() ? nullptr : &*found;
}

}  // namespace

std::optional<control::TenantRecord> QuotaModule::Zones::find(const std::string& tenant) const {
  const auto records = operators_.tenants().current();
  const control::TenantRecord* const found = records->find(tenant);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::string QuotaModule::Zones::zone_of(const std::string& tenant) const {
  const std::optional<control::TenantRecord> record = find(tenant);
  return record ? record->zone : std::string();
}

ledger::TenantDirectory::Plans QuotaModule::Zones::plans_of(const std::string& tenant) const {
  Plans plans;
  const std::optional<control::TenantRecord> record = find(tenant);
  if (!record) return plans;
  for (const control::PlanStep& step : record->steps) plans.steps.push_back({step.plan, step.from});
  if (plans.steps.empty()) plans.steps.push_back({record->plan, TimePoint{}});
  plans.written = record->updated;
  return plans;
}

// Slices in memory have the limits of the plans that were known when they were taken.
void QuotaModule::follow_tenants() {
  const auto now = operators_.tenants().current();
  if (tenants_seen_.lock() == now) return;
  tenants_seen_ = now;
  gate_->tenants_changed();
}

// Rules that this server cannot keep are refused where they are loaded, at the start and later.
Status QuotaModule::accept(const Rules& rules) const {
  const Rule* const quota = first_quota(rules);
  if (quota == nullptr) return success();
  const std::string where = "rule " + quota->id + ": algorithm: ";
  if (databases_.database() == nullptr) {
    return Failure{Code::failed_precondition,
                   where +
                       "quota needs a database, and this server has none; set data_dir and database, as in "
                       "database: sqlite:weir.db"};
  }
  const bool sqlite = databases_.database()->dialect() == database::Dialect::sqlite;
  if (sqlite && uses_redis(context_.config) && !context_.config.single_node) {
    return Failure{Code::failed_precondition,
                   where +
                       "quota with a Redis store, which several nodes share, and SQLite, which they do not: each "
                       "node would give out the whole quota; expected database: postgres://…, or single_node: true "
                       "if this is the only node"};
  }
  return success();
}

// Stays the same for a data_dir: the usage log in it belongs to this node.
Result<std::string> QuotaModule::node_id() const {
  const std::filesystem::path path = databases_.data_dir() / "node-id";
  if (const Result<std::string> kept = base::read_bounded_file(path, kMaxNodeId); kept.ok()) {
    std::string id = kept.value();
    while (!id.empty() && (id.back() == '\n' || id.back() == ' ')) id.pop_back();
    if (!id.empty()) return id;
  }
  std::random_device random;
  std::string id(16, '0');
  base::write_hex(id.data(), (std::uint64_t{random()} << 32U) | random());
  std::ofstream file(path);
  file << id << '\n';
  file.flush();
  if (!file) return Failure{Code::unavailable, path.string() + ": cannot be written"};
  return id;
}

std::optional<Quota> QuotaModule::quota_of(std::string_view rule) const {
  const std::shared_ptr<const rules::RuleSet> set = rules_.book()->current();
  for (const rules::CompiledRule& each : set->rules()) {
    if (each.source.id == rule && each.source.kind == ChargeKind::quota) return each.source.quota;
  }
  return std::nullopt;
}

Status QuotaModule::open() {
  rules_.book()->accept_only([this](const Rules& rules) { return accept(rules); });
  if (databases_.database() == nullptr) return success();
  Result<std::string> node = node_id();
  if (!node.ok()) return node.failure();
  node_ = std::move(node).value();
  ledger_ = std::make_unique<ledger::Ledger>(*databases_.database(), *context_.clock);
  ledger::GateOptions options;
  options.node = node_;
  options.folder = databases_.data_dir() / "usage";
  options.slice_ttl = context_.config.quota_slice_ttl;
  options.margin = std::min<Duration>(options.slice_ttl / 5, std::chrono::seconds(2));
  options.group_period = context_.config.quota_log_every;
  options.patience = context_.config.quota_timeout;
  options.max_log_bytes = static_cast<std::size_t>(context_.config.quota_max_log_bytes);
  options.tenants = &zones_;
  options.quota_of = [this](std::string_view rule) { return quota_of(rule); };
  options.report = [this](std::string_view event, const std::string& message) { context_.log.warn(event, message); };
  gate_ = std::make_unique<ledger::LedgerGate>(*ledger_, *context_.clock, std::move(options));
  for (std::size_t i = 0; i < context_.loops->size(); ++i) {
    of_loops_.push_back(std::make_shared<LoopQuotaGate>(
        *gate_, [this, i](std::function<void()> task) { context_.loops->post(i, std::move(task)); }, loops_over_));
  }
  notices_ = std::make_unique<QuotaNotices>(*databases_.database(), context_, node_);
  if (Status checked = notices_->open(); !checked.ok()) return checked;
  retention_ =
      std::make_unique<QuotaRetention>(*databases_.database(), context_.log, context_.config.quota_keep, node_);
  databases_.when_ready([this] { begin(); });
  return success();
}

// The tables exist.
void QuotaModule::begin() {
  if (Status started = gate_->start(); !started.ok()) {
    context_.log.error("quota_log_unusable", started.failure().message);
    return;
  }
  started_.store(true);
  sweeper_ = std::thread([this] { sweep_forever(); });
}

Status QuotaModule::start() {
  if (gate_ == nullptr) return success();
  context_.add_routes("http", [this](http::Router& router, std::size_t) {
    add_quota_routes(router, *databases_.database(), *context_.clock, identity_.make_sent("http"));
  });
  tools_.add_routes([this](admin::Api& api) {
    admin::add_account_routes(api, *ledger_);
    add_gate_route(api, *gate_, node_);
  });
  context_.add_task(kTenantPeriod, [this] { follow_tenants(); });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  context_.add_health([this](HealthDetails& details) { add_health(details); });
  return success();
}

void QuotaModule::stop() {
  loops_over_.store(true, std::memory_order_release);
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (sweeper_.joinable()) sweeper_.join();
  if (gate_ != nullptr) gate_->stop();
  ledger_.reset();  // what still waits for it fails, and is answered
}

std::shared_ptr<QuotaGate> QuotaModule::gate(std::size_t loop) const {
  return of_loops_.empty() ? nullptr : of_loops_[loop];
}

void QuotaModule::sweep_forever() {
  for (int count = 1;; ++count) {
    {
      std::unique_lock lock(mutex_);
      if (wake_.wait_for(lock, kQuotaSweepPeriod, [this] { return stopped_; })) return;
    }
    const Result<ledger::Ledger::Swept> swept = ledger_->sweep(
        kMostSwept, [this](const ledger::Account& closed, TimePoint now) { return gate_->open_terms(closed, now); });
    if (swept.ok()) {
      swept_units_ += swept.value().expired_units;
      swept_reservations_ += swept.value().reservations;
      if (swept.value().expired_units > 0) {
        context_.log.warn("quota_expired", "slices of a node that does not answer have expired",
                          {{"units", std::to_string(swept.value().expired_units)}});
      }
    }
    notices_->deliver();
    retention_->remove_some(context_.clock->wall());
    if (count % kForgetEvery == 0) static_cast<void>(ledger_->forget_answers());
  }
}

void QuotaModule::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  const ledger::LedgerGate::Counts counts = gate_->counts();
  const auto add = [&](std::string_view name, std::string_view help, Kind kind, double value) {
    facts.more.push_back({name, help, kind, value, {}});
  };
  const auto number = [](auto value) { return static_cast<double>(value); };
  add("weir_quota_usable", "1 if leased quotas can be taken, 0 if the ledger or the usage log does not work.",
      Kind::gauge, counts.usable ? 1 : 0);
  add("weir_quota_accounts", "Accounts that this node has a slice of, or has recently asked for.", Kind::gauge,
      number(counts.slices));
  add("weir_quota_waiting_decisions", "Decisions that wait for a slice.", Kind::gauge, number(counts.waiting));
  add("weir_quota_returned_units_total", "Units of slices that this node gave back.", Kind::counter,
      number(counts.returned));
  add("weir_quota_expired_units_total",
      "Units of slices that no one reported in time; they count against their limit and are not billed.", Kind::counter,
      number(counts.expired + swept_units_.load()));
  add("weir_quota_replayed_units_total", "Units that an earlier run of this node had logged but not sent.",
      Kind::counter, number(counts.replayed));
  add("weir_quota_usage_batches_total", "Usage batches that the ledger has recorded.", Kind::counter,
      number(counts.batches));
  add("weir_quota_usage_log_failures_total", "Groups of usage that could not be written to the usage log at once.",
      Kind::counter, number(counts.log_failures));
  add("weir_quota_usage_log_bytes", "Bytes of the usage log that the ledger does not have yet.", Kind::gauge,
      number(counts.log_bytes));
  add("weir_quota_unrecorded_units_total",
      "Units that a failure policy admitted without the ledger and that could not be kept; they are not billed.",
      Kind::counter, number(counts.unrecorded));
  add("weir_quota_lapses_total", "Times that the ledger was unavailable for longer than slices live.", Kind::counter,
      number(counts.lapses));
  const ledger::Committer::Counts ledger = ledger_->counts();
  add("weir_ledger_operations_total", "Changes of the ledger.", Kind::counter, number(ledger.operations));
  add("weir_ledger_transactions_total", "Database transactions that these changes shared.", Kind::counter,
      number(ledger.groups));
  notices_->add_facts(facts);
  retention_->add_facts(facts);
}

void QuotaModule::add_health(HealthDetails& details) const {
  const ledger::LedgerGate::Counts counts = gate_->counts();
  std::string members = std::string("\"usable\":") + (counts.usable ? "true" : "false");
  members += ",\"epoch\":" + std::to_string(counts.epoch);
  if (details.for_operators() && !counts.trouble.empty()) members += error_member(counts.trouble);
  details.add_section("quota", members);
}

}  // namespace weir::server
