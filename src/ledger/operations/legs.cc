#include "ledger/operations/legs.h"

#include <set>

namespace weir::ledger {
namespace {

Failure invalid(std::string message) { return {Code::invalid_argument, std::move(message)}; }

}  // namespace

Status check_name(std::string_view what, std::string_view text, std::size_t most) {
  if (text.size() > most) {
    return invalid(std::string(what) + " has " + std::to_string(text.size()) + " bytes; expected at most " +
                   std::to_string(most));
  }
  if (text.find('\0') != std::string_view::npos) return invalid(std::string(what) + " contains a zero byte");
  return success();
}

Status check_amount(std::int64_t amount, std::int64_t least) {
  if (amount >= least && amount <= kMaxUnits) return success();
  return invalid("an amount of " + std::to_string(amount) + " units; expected " + std::to_string(least) + " to " +
                 std::to_string(kMaxUnits));
}

Status check_terms(const Terms& terms) {
  if (terms.key.rule.empty() || terms.key.period.empty()) return invalid("an account needs a rule and a period");
  for (const auto& [what, text] :
       {std::pair("the rule", &terms.key.rule), std::pair("the subject", &terms.key.subject),
        std::pair("the period", &terms.key.period), std::pair("the tenant", &terms.tenant)}) {
    if (Status checked = check_name(what, *text, kMaxKeyBytes); !checked.ok()) return checked;
  }
  if (terms.ends <= terms.begins) return invalid("a period that ends before it begins");
  if (terms.limit < 0 || terms.limit > kMaxUnits) return invalid("a limit of " + std::to_string(terms.limit));
  if (terms.grace < 0 || terms.grace > kMaxUnits) return invalid("a grace of " + std::to_string(terms.grace));
  if (terms.since <= TimePoint{}) return invalid("a limit without the time of its decision");
  if (terms.thresholds.size() > kMaxThresholds) return invalid("more than 16 thresholds");
  return success();
}

Status check_legs(const std::vector<Leg>& legs) {
  if (legs.empty() || legs.size() > kMaxLegs) {
    return invalid(std::to_string(legs.size()) + " accounts; expected 1 to " + std::to_string(kMaxLegs));
  }
  std::set<AccountKey> seen;
  for (const Leg& leg : legs) {
    if (Status checked = check_terms(leg.terms); !checked.ok()) return checked;
    if (!seen.insert(leg.terms.key).second) return invalid("the same account twice in one operation");
  }
  return success();
}

Status check_common(const Operation& operation) {
  if (operation.id.empty()) return invalid("an operation without an id");
  if (Status checked = check_name("the operation's id", operation.id, kMaxIdBytes); !checked.ok()) return checked;
  if (Status checked = check_name("the actor", operation.actor, kMaxIdBytes); !checked.ok()) return checked;
  if (Status checked = check_name("the reason", operation.reason, kMaxReasonBytes); !checked.ok()) return checked;
  if (!operation.once) return success();
  if (operation.once->key.empty()) return invalid("an empty key");
  return check_name("the key", operation.once->key, kMaxKeyBytes);
}

Answer closed_answer(const AccountKey& key, std::size_t leg) {
  Answer answer;
  answer.verdict = Verdict::closed;
  answer.leg = static_cast<std::int64_t>(leg);
  answer.message = "the period " + key.period + " of " + key.rule + " is closed; correct it in the open period";
  return answer;
}

std::optional<Answer> refuse_closed(Books& books, const Terms& terms, std::size_t leg) {
  const Account* const account = books.find(terms.key);
  if (account != nullptr && !account->closed(books.now())) return std::nullopt;
  return closed_answer(terms.key, leg);
}

Answer denied_answer(const Account& account, std::int64_t wanted, std::size_t leg) {
  Answer answer;
  answer.verdict = Verdict::denied;
  answer.leg = static_cast<std::int64_t>(leg);
  answer.message = account.key.rule + " has " + std::to_string(Posting::takeable(account)) + " units left in " +
                   account.key.period + ", and " + std::to_string(wanted) + " were asked for";
  answer.accounts = {account};
  return answer;
}

Answer overflow_answer(const Account& account, std::size_t leg) {
  Answer answer = denied_answer(account, 0, leg);
  answer.message = account.key.rule + " in " + account.key.period + " has reached the largest number that is counted";
  return answer;
}

Answer not_found(std::string message) {
  Answer answer;
  answer.verdict = Verdict::not_found;
  answer.message = std::move(message);
  return answer;
}

Status LegsOperation::check() const {
  if (Status checked = check_common(*this); !checked.ok()) return checked;
  if (Status checked = check_legs(legs); !checked.ok()) return checked;
  for (const Leg& leg : legs) {
    if (Status checked = check_amount(leg.amount, 0); !checked.ok()) return checked;
  }
  return success();
}

void LegsOperation::declare(Needs& needs) const {
  for (const Leg& leg : legs) needs.add(leg.terms);
}

void show_account(Books& books, const AccountKey& key, Answer& answer) {
  answer.accounts.clear();
  if (const Account* account = books.find(key)) answer.accounts.push_back(*account);
}

// After a denial, the account that it was about.
void LegsOperation::show(Books& books, Answer& answer) const {
  answer.accounts.clear();
  const auto denied = static_cast<std::size_t>(answer.leg);
  for (std::size_t i = 0; i < legs.size(); ++i) {
    const Account* account = books.find(legs[i].terms.key);
    if (account == nullptr || (answer.verdict == Verdict::denied && i != denied)) continue;
    answer.accounts.push_back(*account);
  }
}

std::vector<Account*> LegsOperation::open_all(Books& books, Posting& posting, std::optional<Answer>& closed) const {
  std::vector<Account*> accounts;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    closed = refuse_closed(books, legs[i].terms, i);
    if (closed) return {};
    accounts.push_back(&posting.open(legs[i].terms));
  }
  return accounts;
}

Answer LegsOperation::done_answer(const Posting& posting, const std::vector<Account*>& accounts) {
  Answer answer;
  answer.overage = posting.overage();
  answer.grace = posting.grace();
  for (const Account* account : accounts) answer.accounts.push_back(*account);
  return answer;
}

}  // namespace weir::ledger
