#include "ledger/books.h"

#include <algorithm>

namespace weir::ledger {
namespace {

template <typename Map, typename Key>
auto* row_in(Map& rows, const Key& key) {
  const auto found = rows.find(key);
  return found == rows.end() ? nullptr : &found->second.now;
}

// By priority, then expiry, then age. The last word is the id's, so that every node agrees.
bool used_before(const Grant* a, const Grant* b) {
  return std::tie(a->priority, a->expires, a->created, a->id) < std::tie(b->priority, b->expires, b->created, b->id);
}

}  // namespace

Account* Books::find(const AccountKey& key) {
  const auto id = ids.find(key);
  return id == ids.end() ? nullptr : find(id->second);
}

Account* Books::find(std::int64_t id) { return row_in(accounts, id); }
Reservation* Books::find_reservation(const std::string& id) { return row_in(reservations, id); }
Node* Books::find_node(const std::string& name) { return row_in(nodes, name); }
Remembered* Books::find_remembered(const std::string& key) { return row_in(remembered, key); }

Slice* Books::find_slice(std::int64_t account, const std::string& node, std::int64_t epoch) {
  return row_in(slices, SliceKey(account, node, epoch));
}

Slice& Books::slice(std::int64_t account, const std::string& node, std::int64_t epoch) {
  const SliceKey key(account, node, epoch);
  const auto [found, added] = slices.try_emplace(key);
  if (added) found->second.now = {account, node, epoch, 0, 0, {}};
  return found->second.now;
}

std::vector<Grant*> Books::grants_in(const Account& account) {
  std::vector<Grant*> found;
  for (auto& [id, grant] : grants) {
    if (grant.now.account == account.id) found.push_back(&grant.now);
  }
  std::sort(found.begin(), found.end(), used_before);
  return found;
}

std::vector<Grant*> Books::grants_before(const Account& account) {
  std::vector<Grant*> found;
  for (auto& [id, grant] : grants) {
    if (grant.now.rule != account.key.rule || grant.now.subject != account.key.subject) continue;
    const Account* in = find(grant.now.account);
    if (in != nullptr && in->begins < account.begins) found.push_back(&grant.now);
  }
  std::sort(found.begin(), found.end(), used_before);
  return found;
}

}  // namespace weir::ledger
