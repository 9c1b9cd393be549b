#include "server/modules/operators_module.h"

#include <algorithm>
#include <utility>

#include "control/audit_trail.h"
#include "control/change_log.h"

namespace weir::server {
namespace {

using control::BlockRecord;
using control::KeyRecord;
using control::OverrideRecord;
using control::TenantRecord;

constexpr Duration kExpiryPeriod = std::chrono::seconds(1);
constexpr Duration kPlanPeriod = std::chrono::milliseconds(250);
constexpr Duration kUsePeriod = std::chrono::seconds(2);
constexpr std::size_t kMostUsesAtOnce = 10'000;

rules::RuntimeOverride runtime_override(const OverrideRecord& record) {
  rules::RuntimeOverride made;
  made.rules = record.rules;
  made.change.when = record.when;
  made.change.change = record.change;
  made.change.mode = record.mode;
  made.change.emergency = record.emergency;
  made.change.until = record.until;
  made.change.reason = record.reason;
  made.change.use = record.use;
  return made;
}

// The newest first: of two that apply, the later one was meant to.
std::vector<const OverrideRecord*> newest_first(const control::RecordList<OverrideRecord>& records) {
  std::vector<const OverrideRecord*> order;
  for (const OverrideRecord& record : records) order.push_back(&record);
  std::stable_sort(order.begin(), order.end(),
                   [](const OverrideRecord* a, const OverrideRecord* b) { return a->created > b->created; });
  return order;
}

Block block_of_record(const BlockRecord& record) {
  Block block;
  block.when = record.when;
  block.until = record.until;
  block.reason = record.reason;
  block.use = record.use;
  return block;
}

template <typename Record>
bool has_expired(const control::RecordList<Record>& records, TimePoint now) {
  return std::any_of(records.begin(), records.end(), [now](const Record& record) {
    const std::optional<TimePoint> until = record.until;
    return until && *until <= now;
  });
}

}  // namespace

OperatorsModule::OperatorsModule(ServerContext& context, AdminToolsModule& tools, RulesModule& rules,
                                 IdentityModule& identity)
    : context_(context),
      tools_(tools),
      book_(rules.book()),
      identity_(identity),
      overrides_([this](const auto& records, auto) { return take_overrides(*records); }),
      blocks_([this](const auto& records, auto changed) { return take_blocks(*records, changed); }),
      tenants_([this](const auto& records, auto) { return take_tenants(*records); }),
      keys_([this](const auto& records, auto) {
        live_keys_->set(records, secret_.hasher());
        return success();
      }),
      state_{book_, overrides_, blocks_, tenants_, keys_} {}

Status OperatorsModule::open() {
  identity_.use_keys(live_keys_);
  control::ChangeWatch* const watch = tools_.watch();
  if (watch == nullptr) return success();
  watch->add(std::string(control::kKeySecretTopic), secret_);  // before the keys, which need it
  watch->add(std::string(control::Table<OverrideRecord>::kTopic), overrides_);
  watch->add(std::string(control::Table<BlockRecord>::kTopic), blocks_);
  watch->add(std::string(control::Table<TenantRecord>::kTopic), tenants_);
  watch->add(std::string(control::Table<KeyRecord>::kTopic), keys_);
  return success();
}

Status OperatorsModule::start() {
  tools_.add_routes([this](admin::Api& api) {
    admin::add_override_routes(api, state_);
    admin::add_block_routes(api, state_);
    admin::add_tenant_routes(api);
    admin::add_key_routes(api, state_);
  });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  if (tools_.watch() == nullptr) return success();
  context_.add_task(kPlanPeriod, [this] { begin_plans(); });
  expiries_ = std::make_unique<ExpiryAudit>(*tools_.databases().database(), tools_.node());
  context_.add_task(kExpiryPeriod, [this] {
    remove_expired();
    audit_expiries();
  });
  context_.add_task(kUsePeriod, [this] { tell_uses(); });
  return success();
}

Status OperatorsModule::take_overrides(const control::RecordList<OverrideRecord>& records) {
  std::vector<rules::RuntimeOverride> made;
  for (const OverrideRecord* record : newest_first(records)) made.push_back(runtime_override(*record));
  return book_->set_overrides(std::move(made), context_.clock->wall());
}

Status OperatorsModule::take_blocks(const control::RecordList<BlockRecord>& records,
                                    std::span<const std::string> changed) {
  if (!changed.empty() && book_->takes_block_changes(changed.size())) {
    std::map<std::string, std::optional<Block>> changes;
    for (const std::string& key : changed) {
      const BlockRecord* const record = records.find(key);
      changes[key] = record == nullptr ? std::nullopt : std::optional(block_of_record(*record));
    }
    return book_->change_blocks(std::move(changes));
  }
  std::vector<Block> made;
  made.reserve(records.size());
  for (const BlockRecord& record : records) made.push_back(block_of_record(record));
  return book_->set_blocks(std::move(made));
}

Status OperatorsModule::take_tenants(const control::RecordList<TenantRecord>& records) {
  auto plans = std::make_shared<rules::PlanTable>();
  const TimePoint now = context_.clock->wall();
  TimePoint next = TimePoint::max();
  for (const TenantRecord& record : records) {
    if (const std::string& plan = record.plan_at(now); !plan.empty()) plans->set(record.tenant, plan);
    for (const control::PlanStep& step : record.steps) {
      if (step.from > now) next = std::min(next, step.from);
    }
  }
  next_plan_.store(next);
  book_->set_plans(std::move(plans));
  return success();
}

// A plan that was to begin later begins.
void OperatorsModule::begin_plans() {
  if (context_.clock->wall() < next_plan_.load()) return;
  static_cast<void>(take_tenants(*tenants_.current()));
}

template <typename Record>
Status OperatorsModule::audit_expired(database::Session& session, TimePoint now) {
  const Result<std::vector<Record>> expired = control::take_expired<Record>(session, now);
  if (!expired.ok()) return expired.failure();
  std::vector<std::string> keys;
  for (const Record& record : expired.value()) {
    keys.push_back(record.key());
    control::AuditEntry entry;
    entry.at = now;
    entry.actor = "weir";
    entry.action = std::string(admin::kThing<Record>) + ".expire";
    entry.object = admin::object_of(record);
    entry.before = admin::describe(record);
    entry.reason = "its time has passed";
    entry.node = tools_.node();
    if (Status appended = control::append(session, entry); !appended.ok()) return appended;
  }
  if (keys.empty()) return success();
  // Which records, only where nodes would read them one by one.
  if (keys.size() > control::ChangeWatch::kMostRecords) keys.clear();
  return control::note_change(session, control::Table<Record>::kTopic, keys);
}

// Decisions no longer use an expired record; this removes it from the lists, once for all nodes.
void OperatorsModule::remove_expired() {
  const TimePoint now = context_.clock->wall();
  const auto overrides = overrides_.current();
  const auto blocks = blocks_.current();
  if (!has_expired(*overrides, now) && !has_expired(*blocks, now)) return;
  if (expiring_.exchange(true)) return;
  const Status queued =
      tools_.databases().database()->submit({.access = database::Access::write,
                                             .work = [this, now](database::Session& session) -> Status {
                                               Status done = audit_expired<OverrideRecord>(session, now);
                                               if (done.ok()) done = audit_expired<BlockRecord>(session, now);
                                               return done;
                                             },
                                             .done = [this](const database::Outcome&) { expiring_.store(false); }});
  if (!queued.ok()) expiring_.store(false);
}

void OperatorsModule::audit_expiries() {
  if (!tools_.databases().is_ready()) return;
  const TimePoint now = context_.clock->wall();
  expiries_->look(now, [&](TimePoint after) {
    if (tools_.tokens().has_expired(after, now)) return true;
    const auto keys = keys_.current();
    return std::any_of(keys->begin(), keys->end(), [&](const KeyRecord& key) {
      return !key.revoked && key.expires && *key.expires > after && *key.expires <= now;
    });
  });
}

template <typename Record>
std::vector<OperatorsModule::Use> OperatorsModule::new_uses(const control::Kept<Record>& kept,
                                                            std::map<std::string, Told>& told) {
  std::vector<Use> uses;
  const auto records = kept.current();
  for (const Record& record : *records) {
    const std::optional<TimePoint> last = record.use->last_used();
    if (!last || uses.size() == kMostUsesAtOnce) continue;
    Told& before = told[record.key()];
    const std::uint64_t count = record.use->uses();
    if (before.last == last && before.uses == count) continue;
    uses.push_back({record.key(), *last, static_cast<std::int64_t>(count - before.uses)});
    before = {last, count};
  }
  // Of records that are gone.
  if (told.size() > records->size() + kMostUsesAtOnce) told.clear();
  return uses;
}

// Whether it is written does not matter much, so a failure is not repeated.
void OperatorsModule::tell_uses() {
  if (!tools_.databases().is_ready()) return;
  const auto overrides = std::make_shared<const std::vector<Use>>(new_uses(overrides_, told_overrides_));
  const auto blocks = std::make_shared<const std::vector<Use>>(new_uses(blocks_, told_blocks_));
  const auto keys = std::make_shared<const std::vector<Use>>(new_uses(keys_, told_keys_));
  if (overrides->empty() && blocks->empty() && keys->empty()) return;
  static_cast<void>(tools_.databases().database()->submit(
      {.access = database::Access::write,
       .work = [overrides, blocks, keys](database::Session& session) -> Status {
         Status done = success();
         for (const Use& use : *overrides) {
           if (done.ok()) done = control::add_use<OverrideRecord>(session, use.key, use.last, use.uses);
         }
         for (const Use& use : *blocks) {
           if (done.ok()) done = control::add_use<BlockRecord>(session, use.key, use.last, use.uses);
         }
         for (const Use& use : *keys) {
           if (done.ok()) done = control::add_use<KeyRecord>(session, use.key, use.last, use.uses);
         }
         return done;
       },
       .done = [](const database::Outcome&) {}}));
}

void OperatorsModule::add_facts(observe::Facts& facts) const {
  constexpr std::string_view kName = "weir_control_records";
  constexpr std::string_view kHelp = "What operators have set and this node knows: overrides, blocks, tenants, keys.";
  const auto add = [&](const char* kind, std::size_t count) {
    facts.more.push_back(
        {kName, kHelp, observe::FactMetric::Kind::gauge, static_cast<double>(count), {{"kind", kind}}});
  };
  add("override", overrides_.current()->size());
  add("block", blocks_.current()->size());
  add("tenant", tenants_.current()->size());
  add("key", keys_.current()->size());
  facts.more.push_back({"weir_override_misfits",
                        "Overrides set at run time that do not fit a rule that they name, or name no existing rule.",
                        observe::FactMetric::Kind::gauge,
                        static_cast<double>(book_->misfits().size()),
                        {}});
}

}  // namespace weir::server
