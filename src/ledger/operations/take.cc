#include "ledger/operations/take.h"

#include <algorithm>
#include <limits>
#include <map>

#include "ledger/rows.h"

namespace weir::ledger {

Answer Take::apply(Books& books, Posting& posting) {
  std::optional<Answer> closed;
  const std::vector<Account*> accounts = open_all(books, posting, closed);
  if (closed) return *closed;
  std::vector<bool> fits(legs.size());
  for (std::size_t i = 0; i < legs.size(); ++i) {
    fits[i] = Posting::can_draw(*accounts[i], legs[i].amount, beyond_of(*accounts[i]));
    if (!fits[i] && legs[i].binding) return denied_answer(*accounts[i], legs[i].amount, i);
  }
  std::int64_t granted = 0;
  std::vector<std::size_t> skipped;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (!fits[i]) {
      skipped.push_back(i);
      if (!Posting::can_draw(*accounts[i], legs[i].amount, Posting::Beyond::record)) continue;
    }
    posting.draw(*accounts[i], EntryKind::take, legs[i].amount,
                 fits[i] ? beyond_of(*accounts[i]) : Posting::Beyond::record);
    if (granted == 0) granted = legs[i].amount;
  }
  Answer answer = done_answer(posting, accounts);
  answer.granted = granted;
  answer.skipped = std::move(skipped);
  return answer;
}

std::unique_ptr<Operation> Take::undo(const Answer& answer) const {
  if (answer.verdict != Verdict::done || answer.replayed) return nullptr;
  auto reverse = std::make_unique<Reverse>();
  reverse->id = "undo " + id;
  reverse->reason = "its caller was told that it failed";
  reverse->operation = id;
  if (once) reverse->key = once->key;
  return reverse;
}

Answer ReportUsage::apply(Books& books, Posting& posting) {
  std::optional<Answer> closed;
  const std::vector<Account*> accounts = open_all(books, posting, closed);
  if (closed) return *closed;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (!Posting::can_draw(*accounts[i], legs[i].amount, Posting::Beyond::record)) {
      return overflow_answer(*accounts[i], i);
    }
  }
  for (std::size_t i = 0; i < legs.size(); ++i) {
    posting.draw(*accounts[i], EntryKind::usage, legs[i].amount, Posting::Beyond::record);
  }
  Answer answer = done_answer(posting, accounts);
  answer.granted = legs.front().amount;
  return answer;
}

Answer Refund::apply(Books& books, Posting& posting) {
  std::optional<Answer> closed;
  const std::vector<Account*> accounts = open_all(books, posting, closed);
  if (closed) return *closed;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < legs.size(); ++i) {
    const std::int64_t some = std::min(legs[i].amount, accounts[i]->used);
    posting.give_back(*accounts[i], EntryKind::refund, some);
    least = std::min(least, some);
  }
  Answer answer = done_answer(posting, accounts);
  answer.returned = least;
  return answer;
}

Status Adjust::check() const {
  if (Status checked = check_common(*this); !checked.ok()) return checked;
  if (Status checked = check_terms(terms); !checked.ok()) return checked;
  if (amount == 0) return Failure{Code::invalid_argument, "an adjustment of 0 units"};
  if (Status checked = check_amount(std::abs(amount), 1); !checked.ok()) return checked;
  if (actor.empty() || reason.empty())
    return Failure{Code::invalid_argument, "an adjustment needs an actor and a reason"};
  return check_name("the corrected period", corrects, kMaxIdBytes);
}

Answer Adjust::apply(Books& books, Posting& posting) {
  if (std::optional<Answer> closed = refuse_closed(books, terms, 0)) return *closed;
  Account& account = posting.open(terms);
  Answer answer;
  if (amount > 0) {
    if (!Posting::can_draw(account, amount, Posting::Beyond::record)) return overflow_answer(account, 0);
    posting.draw(account, EntryKind::charge, amount, Posting::Beyond::record, corrects);
    answer.granted = amount;
  } else {
    answer.returned = std::min(-amount, account.used);
    posting.give_back(account, EntryKind::credit, answer.returned, corrects);
  }
  answer.overage = posting.overage();
  answer.accounts = {account};
  return answer;
}

Status Reverse::check() const {
  if (Status checked = check_common(*this); !checked.ok()) return checked;
  if (operation.empty()) return Failure{Code::invalid_argument, "no operation is named that is to be reversed"};
  return check_name("the operation that is to be reversed", operation, kMaxIdBytes);
}

Answer Reverse::apply(Books& books, Posting& posting) {
  // What it moved into `used`, by account.
  std::map<std::int64_t, std::int64_t> used;
  for (const Entry& entry : books.earlier[operation]) {
    if (movement_of(entry.kind).to == Bucket::used) used[entry.account] += entry.amount;
  }
  if (used.empty() || (of_account != 0 && !used.contains(of_account)))
    return not_found("no operation \"" + operation + "\" that used anything");
  Answer answer;
  if (books.reversed[operation]) {
    answer.verdict = Verdict::gone;
    answer.message = "the operation \"" + operation + "\" has been reversed before";
    return answer;
  }
  Remembered* const remembered = key.empty() ? nullptr : books.find_remembered(key);
  const bool is_its = remembered != nullptr && remembered->operation == operation;
  if (is_its && was_replayed(remembered->answer)) {
    answer.verdict = Verdict::gone;
    answer.message = "the answer of \"" + operation + "\" was repeated to a later call, which relies on it";
    return answer;
  }
  for (const auto& [account_id, amount] : used) {
    if (Account* account = books.find(account_id); account->closed(books.now())) return closed_answer(account->key, 0);
  }
  for (const auto& [account_id, amount] : used) {
    Account& account = *books.find(account_id);
    posting.refresh(account);
    const std::int64_t some = std::min(amount, account.used);
    posting.give_back(account, EntryKind::reversal, some, operation);
    answer.returned += some;
    answer.accounts.push_back(account);
  }
  books.reversed[operation] = true;
  if (is_its) remembered->keep_until = books.now();
  return answer;
}

}  // namespace weir::ledger
