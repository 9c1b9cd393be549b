#include "server/expiry_audit.h"

#include <memory>

#include "admin/operator_state.h"
#include "admin/token_routes.h"
#include "control/audit_trail.h"
#include "control/expiries.h"
#include "control/record_tables.h"
#include "control/tokens.h"

namespace weir::server {
namespace {

control::AuditEntry expiry_entry(TimePoint now, const std::string& node, std::string_view action, std::string object,
                                 std::string before) {
  control::AuditEntry entry;
  entry.at = now;
  entry.actor = "weir";
  entry.action = std::string(action);
  entry.object = std::move(object);
  entry.before = std::move(before);
  entry.reason = "its time has passed";
  entry.node = node;
  return entry;
}

}  // namespace

void ExpiryAudit::look(TimePoint now, const std::function<bool(TimePoint after)>& due) {
  if (!due(from_micros(looked_us_.load())) || running_.exchange(true)) return;
  const auto more = std::make_shared<bool>(false);
  const Status queued = database_.submit({.access = database::Access::write,
                                          .work = [this, now, more](database::Session& session) -> Status {
                                            Result<bool> written = write_entries(session, now);
                                            if (!written.ok()) return written.failure();
                                            *more = written.value();
                                            return success();
                                          },
                                          .done =
                                              [this, now, more](const database::Outcome& outcome) {
                                                if (outcome.ok() && !*more) looked_us_.store(micros(now));
                                                running_.store(false);
                                              }});
  if (!queued.ok()) running_.store(false);
}

Result<bool> ExpiryAudit::write_entries(database::Session& session, TimePoint now) const {
  if (Status begun = control::begin_expiries(session); !begun.ok()) return begun.failure();
  const Result<std::vector<std::string>> tokens = control::expired_tokens(session, now, kMostAtOnce);
  if (!tokens.ok()) return tokens.failure();
  for (const std::string& id : tokens.value()) {
    const auto token = control::find_token(session, id);
    if (!token.ok()) return token.failure();
    if (!token.value()) continue;
    const Status appended = control::append(session, expiry_entry(now, node_, control::kTokenExpired, "token/" + id,
                                                                  admin::describe_token(*token.value())));
    if (!appended.ok()) return appended.failure();
  }
  const Result<std::vector<std::string>> keys = control::expired_keys(session, now, kMostAtOnce);
  if (!keys.ok()) return keys.failure();
  for (const std::string& id : keys.value()) {
    const auto key = control::find_record<control::KeyRecord>(session, id);
    if (!key.ok()) return key.failure();
    if (!key.value()) continue;
    const Status appended = control::append(
        session, expiry_entry(now, node_, control::kKeyExpired, "key/" + id, admin::describe(*key.value())));
    if (!appended.ok()) return appended.failure();
  }
  return tokens.value().size() == kMostAtOnce || keys.value().size() == kMostAtOnce;
}

}  // namespace weir::server
