#include "ledger/operations/slices.h"

#include <algorithm>
#include <map>

namespace weir::ledger {
namespace {

Status check_node(const Operation& operation, const std::string& node) {
  if (Status checked = check_common(operation); !checked.ok()) return checked;
  if (node.empty()) return Failure{Code::invalid_argument, "a node without a name"};
  return check_name("the node's name", node, kMaxIdBytes);
}

std::string slice_name(const std::string& node, std::int64_t epoch) { return node + "/" + std::to_string(epoch); }

std::optional<Answer> stale(Books& books, const std::string& node, std::int64_t epoch) {
  const Node* known = books.find_node(node);
  if (known != nullptr && known->epoch == epoch) return std::nullopt;
  Answer answer;
  answer.verdict = Verdict::stale;
  answer.epoch = known == nullptr ? 0 : known->epoch;
  answer.message = known == nullptr ? "no node \"" + node + "\" has opened an epoch"
                                    : "node " + node + " is in epoch " + std::to_string(known->epoch) + ", not " +
                                          std::to_string(epoch) + ": another process has taken its place";
  return answer;
}

}  // namespace

Status OpenEpoch::check() const { return check_node(*this, node); }

Answer OpenEpoch::apply(Books& books, Posting&) {
  const auto [found, added] = books.nodes.try_emplace(node);
  Node& row = found->second.now;
  row.name = node;
  ++row.epoch;
  row.seen = books.now();
  Answer answer;
  answer.epoch = row.epoch;
  return answer;
}

Status TakeSlice::check() const {
  if (Status checked = check_node(*this, node); !checked.ok()) return checked;
  if (Status checked = check_terms(terms); !checked.ok()) return checked;
  if (Status checked = check_amount(least, 1); !checked.ok()) return checked;
  if (ttl <= Duration::zero()) return Failure{Code::invalid_argument, "a slice without time to live"};
  return check_amount(want, least);
}

void TakeSlice::declare(Needs& needs) const {
  needs.add(terms);
  needs.nodes.insert(node);
  needs.slices.emplace(terms.key, node, epoch);
  needs.live_nodes = true;
}

Answer TakeSlice::apply(Books& books, Posting& posting) {
  if (std::optional<Answer> refused = stale(books, node, epoch)) return *refused;
  books.find_node(node)->seen = books.now();
  if (std::optional<Answer> closed = refuse_closed(books, terms, 0)) return *closed;
  Account& account = posting.open(terms);
  if (!Posting::can_draw(account, least, beyond_of(account))) return denied_answer(account, least, 0);
  const std::int64_t share = std::max(least, account.available / (2 * books.live_nodes));
  std::int64_t amount = std::min(want, share);
  if (!Posting::can_draw(account, amount, beyond_of(account))) amount = Posting::takeable(account);
  Slice& slice = books.slice(account.id, node, epoch);
  posting.draw(account, EntryKind::slice, amount, beyond_of(account), slice_name(node, epoch));
  slice.held += amount;
  slice.expires = std::max(slice.expires, books.now() + ttl);
  Answer answer;
  answer.granted = amount;
  answer.overage = posting.overage();
  answer.grace = posting.grace();
  answer.expires = slice.expires;
  answer.accounts = {account};
  return answer;
}

std::unique_ptr<Operation> TakeSlice::undo(const Answer& answer) const {
  if (answer.verdict != Verdict::done) return nullptr;
  auto give_back = std::make_unique<ReturnSlice>();
  give_back->id = "undo " + id;
  give_back->account = terms.key;
  give_back->node = node;
  give_back->epoch = epoch;
  give_back->amount = answer.granted;
  return give_back;
}

Status RenewSlices::check() const { return check_node(*this, node); }

Answer RenewSlices::apply(Books& books, Posting&) {
  if (std::optional<Answer> refused = stale(books, node, epoch)) return *refused;
  books.find_node(node)->seen = books.now();
  Answer answer;
  answer.expires = books.now() + ttl;
  TimePoint& until = books.renewals[{node, epoch}];
  until = std::max(until, answer.expires);
  for (auto& [key, slice] : books.slices) {
    if (slice.now.node != node || slice.now.epoch != epoch || slice.now.held == 0) continue;
    slice.now.expires = std::max(slice.now.expires, answer.expires);
  }
  return answer;
}

Status ReturnSlice::check() const {
  if (Status checked = check_node(*this, node); !checked.ok()) return checked;
  return check_amount(amount, 1);
}

void ReturnSlice::declare(Needs& needs) const {
  needs.add(account);
  needs.slices.emplace(account, node, epoch);
}

Answer ReturnSlice::apply(Books& books, Posting& posting) {
  Answer answer;
  Account* of = books.find(account);
  Slice* slice = of == nullptr ? nullptr : books.find_slice(of->id, node, epoch);
  if (slice == nullptr || slice->held == 0) return answer;
  posting.refresh(*of);
  answer.returned = std::min(amount, slice->held);
  slice->held -= answer.returned;
  posting.give_back(*of, EntryKind::slice_return, answer.returned, slice_name(node, epoch));
  answer.accounts = {*of};
  return answer;
}

void UsageBatch::name_itself() { id = "batch " + slice_name(node, epoch) + "/" + std::to_string(seq); }

Status UsageBatch::check() const {
  if (Status checked = check_node(*this, node); !checked.ok()) return checked;
  if (epoch < 1 || seq < 1) return Failure{Code::invalid_argument, "epochs and batches are counted from 1"};
  if (records.size() > kMaxRecords) {
    return Failure{Code::invalid_argument, std::to_string(records.size()) + " records in a batch; expected at most " +
                                               std::to_string(kMaxRecords)};
  }
  for (const Record& record : records) {
    if (Status checked = check_amount(record.spent, 0); !checked.ok()) return checked;
    if (Status checked = check_amount(record.without, 0); !checked.ok()) return checked;
    if (!record.terms) continue;
    if (Status checked = check_terms(*record.terms); !checked.ok()) return checked;
    if (record.terms->key != record.account) return Failure{Code::invalid_argument, "terms of another account"};
  }
  return success();
}

void UsageBatch::declare(Needs& needs) const {
  needs.batches.emplace(node, epoch, seq);
  for (const Record& record : records) {
    if (record.terms) {
      needs.add_late(*record.terms);
    } else {
      needs.add(record.account);
    }
    needs.slices.emplace(record.account, node, epoch);
  }
}

Answer UsageBatch::apply(Books& books, Posting& posting) {
  Answer answer;
  if (books.has_batch({node, epoch, seq})) {
    answer.replayed = true;
    return answer;
  }
  std::map<AccountKey, Record> sums;
  for (const Record& record : records) {
    if (books.find(record.account) == nullptr) {
      return not_found("no account of " + record.account.rule + " in " + record.account.period + " for its subject");
    }
    if (record.terms && !books.find(record.account)->closed(books.now())) posting.open(*record.terms);
    Record& sum = sums[record.account];
    sum.spent += record.spent;
    sum.without += record.without;
  }
  for (const auto& [key, sum] : sums) {
    const Account& account = *books.find(key);
    if (!Posting::can_draw(account, sum.spent + sum.without, Posting::Beyond::record))
      return overflow_answer(account, 0);
  }
  const std::string about = slice_name(node, epoch);
  for (const auto& [key, sum] : sums) {
    Account& account = *books.find(key);
    posting.refresh(account);
    Slice* slice = books.find_slice(account.id, node, epoch);
    const std::int64_t of_held = slice == nullptr ? 0 : std::min(sum.spent, slice->held);
    const std::int64_t of_expired = slice == nullptr ? 0 : std::min(sum.spent - of_held, slice->expired);
    if (slice != nullptr) {
      slice->held -= of_held;
      slice->expired -= of_expired;
    }
    posting.post(account, EntryKind::slice_use, of_held, about);
    posting.post(account, EntryKind::slice_late_use, of_expired, about);
    posting.draw(account, EntryKind::usage, sum.spent - of_held - of_expired + sum.without, Posting::Beyond::record,
                 about);
    answer.granted += sum.spent + sum.without;
  }
  books.batches[{node, epoch, seq}] = true;
  answer.overage = posting.overage();
  return answer;
}

void ExpireSlices::declare(Needs& needs) const {
  for (const Books::SliceKey& key : slices) {
    needs.account_ids.insert(std::get<0>(key));
    needs.slice_ids.insert(key);
  }
}

Answer ExpireSlices::apply(Books& books, Posting& posting) {
  Answer answer;
  for (const auto& [account_id, node, epoch] : slices) {
    Slice* slice = books.find_slice(account_id, node, epoch);
    if (slice == nullptr || slice->held == 0 || (!now_in_any_case && books.now() < slice->expires)) continue;
    posting.post(*books.find(account_id), EntryKind::slice_expiry, slice->held, slice_name(node, epoch));
    answer.granted += slice->held;
    slice->expired += slice->held;
    slice->held = 0;
  }
  return answer;
}

}  // namespace weir::ledger
