#include "ledger/account_change.h"

#include <random>

#include "base/ascii.h"
#include "ledger/operations/grants.h"
#include "ledger/operations/reservations.h"
#include "ledger/operations/take.h"

namespace weir::ledger {
namespace {

// How long a key is remembered: longer than anyone repeats an invoice's top-up.
constexpr Duration kKeyLives = std::chrono::hours(24 * 400);

std::string unique_id(std::string_view what) {
  std::random_device random;
  std::string digits(16, '0');
  base::write_hex(digits.data(), (std::uint64_t{random()} << 32U) | random());
  return std::string(what) + " " + digits;
}

std::string asked(const Account& account, const AccountChange& change) {
  return std::string(change_name(change.kind)) + ' ' + std::to_string(account.id) + ' ' +
         std::to_string(change.amount) + ' ' + std::to_string(change.priority) + ' ' + change.operation;
}

}  // namespace

std::string_view change_name(AccountChange::Kind kind) {
  switch (kind) {
    case AccountChange::Kind::grant:
      return "grant";
    case AccountChange::Kind::adjust:
      return "adjust";
    case AccountChange::Kind::reverse:
      return "reverse";
    case AccountChange::Kind::release:
      return "release";
  }
  return "";
}

std::string key_of_id(std::string_view id) { return "id " + std::string(id); }

Terms terms_of(const Account& account) {
  return {.key = account.key,
          .tenant = account.tenant,
          .begins = account.begins,
          .ends = account.ends,
          .limit = account.limit,
          .since = account.limit_since,
          .grace = account.grace,
          .record_overage = account.record_overage,
          .thresholds = account.thresholds};
}

std::unique_ptr<Operation> make_change(const Account& account, const AccountChange& change, TimePoint now) {
  std::unique_ptr<Operation> made;
  if (change.kind == AccountChange::Kind::grant) {
    auto grant = std::make_unique<GrantUnits>();
    grant->terms = terms_of(account);
    grant->amount = change.amount;
    grant->priority = change.priority;
    grant->expires = change.expires == TimePoint{} ? account.ends : change.expires;
    made = std::move(grant);
  } else if (change.kind == AccountChange::Kind::adjust) {
    auto adjust = std::make_unique<Adjust>();
    adjust->terms = terms_of(account);
    adjust->amount = change.amount;
    made = std::move(adjust);
  } else if (change.kind == AccountChange::Kind::release) {
    auto release = std::make_unique<ReleaseReservation>();
    release->reservation = change.operation;
    release->of_account = account.id;
    made = std::move(release);
  } else {
    auto reverse = std::make_unique<Reverse>();
    reverse->operation = change.operation;
    reverse->of_account = account.id;
    made = std::move(reverse);
  }
  made->id = unique_id(change_name(change.kind));
  made->actor = change.actor;
  made->reason = change.reason;
  if (!change.key.empty()) made->once = Once{"change " + change.key, asked(account, change), now + kKeyLives};
  return made;
}

}  // namespace weir::ledger
