#include "server/quota_retention.h"

#include "control/audit_trail.h"
#include "ledger/retention.h"

namespace weir::server {
namespace {

constexpr Duration kBetweenPasses = std::chrono::hours(1);
constexpr std::size_t kAccountsAtOnce = 200;

control::AuditEntry retention_entry(TimePoint now, const std::string& node, const ledger::Pruned& pruned,
                                    std::int64_t exported) {
  control::AuditEntry entry;
  entry.at = now;
  entry.actor = "weir";
  entry.action = "quota.prune";
  entry.object = "ledger";
  entry.after = "{\"accounts\":" + std::to_string(pruned.accounts) + ",\"entries\":" + std::to_string(pruned.entries) +
                ",\"exported\":" + std::to_string(exported) + "}";
  entry.reason = "quota.keep";
  entry.node = node;
  return entry;
}

}  // namespace

Result<std::int64_t> QuotaRetention::exported() const {
  std::int64_t cursor = 0;
  const database::Outcome outcome = database_.run(database::Access::read, [&](database::Session& session) -> Status {
    const Result<std::int64_t> noted = ledger::exported_up_to(session);
    if (!noted.ok()) return noted.failure();
    cursor = noted.value();
    return success();
  });
  if (!outcome.ok()) return outcome.status.failure();
  return cursor;
}

Status QuotaRetention::go_on(TimePoint now) {
  const Result<std::int64_t> cursor = exported();
  if (!cursor.ok()) return cursor.failure();
  const ledger::Retention retention{
      .before = now - keep_, .exported = cursor.value(), .dry_run = false, .after = after_, .most = kAccountsAtOnce};
  const Result<ledger::Pruned> pruned =
      ledger::prune(database_, retention, now, [&](database::Session& session, const ledger::Pruned& sums) -> Status {
        if (sums.accounts == 0) return success();
        return control::append(session, retention_entry(now, node_, sums, cursor.value()));
      });
  if (!pruned.ok()) return pruned.failure();
  removed_entries_ += pruned.value().entries;
  unexported_ += pruned.value().unexported;
  after_ = pruned.value().more ? pruned.value().after : 0;
  if (pruned.value().more) return success();
  next_pass_ = now + kBetweenPasses;
  waiting_.store(std::exchange(unexported_, 0));
  if (waiting_.load() > 0) {
    log_.warn("quota_not_exported", "accounts are older than quota.keep and have entries that were not exported",
              {{"accounts", std::to_string(waiting_.load())}});
  }
  return success();
}

void QuotaRetention::remove_some(TimePoint now) {
  if (keep_ == Duration::zero() || now < next_pass_) return;
  if (Status done = go_on(now); !done.ok()) {
    log_.warn("quota_retention_failed", done.failure().message);
    next_pass_ = now + std::chrono::minutes(1);
  }
}

void QuotaRetention::add_facts(observe::Facts& facts) const {
  using Kind = observe::FactMetric::Kind;
  facts.more.push_back({"weir_quota_pruned_entries_total",
                        "Entries of the ledger that were older than quota.keep and were removed.",
                        Kind::counter,
                        static_cast<double>(removed_entries_.load()),
                        {}});
  facts.more.push_back({"weir_quota_unexported_accounts",
                        "Accounts that are older than quota.keep but are kept because they were not exported.",
                        Kind::gauge,
                        static_cast<double>(waiting_.load()),
                        {}});
}

}  // namespace weir::server
