#include "ledger/posting.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace weir::ledger {

void Posting::post(Account& account, EntryKind kind, std::int64_t amount, const std::string& about) {
  if (amount == 0) return;
  account.move(kind, amount);
  entries_.push_back(books_.entries.size());
  books_.entries.push_back({.account = account.id,
                            .version = account.version,
                            .operation = operation_.id,
                            .reach = 1,
                            .kind = kind,
                            .amount = amount,
                            .about = about,
                            .actor = operation_.actor,
                            .reason = operation_.reason,
                            .effective = operation_.effective == TimePoint{} ? books_.now() : operation_.effective,
                            .recorded = books_.now()});
}

void Posting::finish() {
  std::set<std::int64_t> accounts;
  for (const std::size_t i : entries_) accounts.insert(books_.entries[i].account);
  for (const std::size_t i : entries_) books_.entries[i].reach = static_cast<std::int64_t>(accounts.size());
}

Account& Posting::open(const Terms& terms) {
  Account* account = books_.find(terms.key);
  assert(account != nullptr);
  const bool is_new = account->version == 0 && account->limit_since == TimePoint{};
  follow(*account, terms);
  if (is_new) carry_into(*account);
  refresh(*account);
  return *account;
}

void Posting::follow(Account& account, const Terms& terms) {
  const bool is_new = account.version == 0 && account.limit_since == TimePoint{};
  if (!is_new && terms.since <= account.limit_since) return;
  account.limit_since = terms.since;
  account.grace = terms.grace;
  account.record_overage = terms.record_overage;
  account.thresholds = terms.thresholds;
  account.limit = terms.limit;
  const std::string about = std::to_string(terms.limit);
  if (is_new) {
    post(account, EntryKind::allowance, terms.limit, about);
  } else if (terms.limit > account.allowance()) {
    post(account, EntryKind::raise, terms.limit - account.allowance(), about);
  } else {
    // What was already taken of the allowance stays taken.
    const std::int64_t left = account.available - account.granted_left;
    post(account, EntryKind::lower, std::min(account.allowance() - terms.limit, left), about);
  }
}

void Posting::carry_into(Account& account) {
  for (Grant* grant : books_.grants_before(account)) {
    if (grant->left == 0 || !grant->live(books_.now())) continue;
    Account* from = books_.find(grant->account);
    post(*from, EntryKind::carry_out, grant->left, grant->id);
    post(account, EntryKind::carry_in, grant->left, grant->id);
    grant->account = account.id;
    grant->arrived = grant->left;
  }
}

void Posting::refresh(Account& account) {
  if (account.granted_left == 0) return;
  for (Grant* grant : books_.grants_in(account)) {
    if (grant->left == 0 || grant->live(books_.now())) continue;
    post(account, EntryKind::grant_expiry, grant->left, grant->id);
    grant->left = 0;
  }
}

void Posting::grant(Account& account, const Grant& grant) {
  books_.grants[grant.id] = {grant, std::nullopt};
  post(account, EntryKind::grant, grant.amount, grant.id);
}

bool Posting::can_draw(const Account& account, std::int64_t amount, Beyond beyond) {
  if (amount <= takeable(account)) return true;
  return beyond == Beyond::record && account.issued <= kMaxIssued - amount;
}

void Posting::draw(Account& account, EntryKind kind, std::int64_t amount, Beyond beyond, const std::string& about) {
  assert(can_draw(account, amount, beyond));
  if (amount > account.available) {
    const std::int64_t of_grace = std::min(amount - account.available, account.grace_left());
    post(account, EntryKind::grace, of_grace, std::to_string(account.grace));
    grace_ += of_grace;
  }
  if (amount > account.available) {
    overage_ += amount - account.available;
    post(account, EntryKind::overage, amount - account.available);
  }
  post(account, kind, amount, about);
  burn_grants(account);
}

// The allowance is used first: grants are touched when less is available than is left of them.
void Posting::burn_grants(Account& account) {
  std::int64_t to_burn = account.granted_left - std::min(account.granted_left, account.available);
  if (to_burn == 0) return;
  account.granted_left -= to_burn;
  for (Grant* grant : books_.grants_in(account)) {
    const std::int64_t burnt = std::min(to_burn, grant->left);
    grant->left -= burnt;
    to_burn -= burnt;
  }
  assert(to_burn == 0);
}

std::int64_t Posting::restore_grants(Account& account, std::int64_t amount) {
  std::int64_t restored = 0;
  std::vector<Grant*> grants = books_.grants_in(account);
  for (auto grant = grants.rbegin(); grant != grants.rend(); ++grant) {
    if (!(*grant)->live(books_.now())) continue;
    const std::int64_t some = std::min(amount - restored, (*grant)->arrived - (*grant)->left);
    (*grant)->left += some;
    restored += some;
  }
  account.granted_left += restored;
  return restored;
}

void Posting::give_back(Account& account, EntryKind kind, std::int64_t amount, const std::string& about) {
  if (amount == 0) return;
  post(account, kind, amount, about);
  const std::int64_t of_overage = std::min(amount, account.overage);
  post(account, EntryKind::unoverage, of_overage);
  amount -= of_overage;
  const std::int64_t of_grace = std::min(amount, account.grace_used);
  post(account, EntryKind::ungrace, of_grace);
  amount -= of_grace;
  amount -= restore_grants(account, amount);
  const std::int64_t beyond_limit = std::max<std::int64_t>(account.allowance() - account.limit, 0);
  post(account, EntryKind::withdrawal, std::min(amount, beyond_limit));
}

}  // namespace weir::ledger
