#include "ledger/operations/grants.h"

namespace weir::ledger {

Status GrantUnits::check() const {
  if (Status checked = check_common(*this); !checked.ok()) return checked;
  if (Status checked = check_terms(terms); !checked.ok()) return checked;
  if (actor.empty() || reason.empty()) return Failure{Code::invalid_argument, "a grant needs an actor and a reason"};
  return check_amount(amount, 1);
}

Answer GrantUnits::apply(Books& books, Posting& posting) {
  if (std::optional<Answer> closed = refuse_closed(books, terms, 0)) return *closed;
  Account& account = posting.open(terms);
  if (expires <= books.now()) {
    Answer refused = denied_answer(account, amount, 0);
    refused.message = "a grant that has expired already";
    return refused;
  }
  if (!Posting::can_draw(account, amount, Posting::Beyond::record)) return overflow_answer(account, 0);
  posting.grant(account, {.id = id,
                          .rule = terms.key.rule,
                          .subject = terms.key.subject,
                          .account = account.id,
                          .amount = amount,
                          .arrived = amount,
                          .left = amount,
                          .priority = priority,
                          .expires = expires,
                          .created = books.now(),
                          .actor = actor,
                          .reason = reason});
  Answer answer;
  answer.granted = amount;
  answer.expires = expires;
  answer.accounts = {account};
  return answer;
}

}  // namespace weir::ledger
