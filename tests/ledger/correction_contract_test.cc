// Grants, adjustments, reversals, and keys that repeat their answer.
#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

class CorrectionContract : public LedgerFixture {
 protected:
  Answer grant(const std::string& id, const Terms& terms, std::int64_t amount, std::int64_t priority,
               TimePoint expires) {
    GrantUnits operation;
    operation.id = id;
    operation.terms = terms;
    operation.amount = amount;
    operation.priority = priority;
    operation.expires = expires;
    operation.actor = "ada";
    operation.reason = "bought";
    return run(operation);
  }
  Answer adjust(const Terms& terms, std::int64_t amount, const std::string& corrects = "") {
    Adjust operation;
    operation.terms = terms;
    operation.amount = amount;
    operation.corrects = corrects;
    operation.actor = "ada";
    operation.reason = "double import";
    return run(operation);
  }
  Answer refund(const Terms& terms, std::int64_t amount) {
    Refund operation;
    operation.legs = {{terms, amount}};
    return run(operation);
  }
  // What is left of each grant, by id.
  std::map<std::string, std::int64_t> left(const Terms& terms) {
    std::map<std::string, std::int64_t> found;
    EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
      auto grants = read_grants(session, terms.key.rule, terms.key.subject);
      if (!grants.ok()) return grants.failure();
      for (const Grant& each : grants.value()) found[each.id] = each.left;
      return success();
    })));
    return found;
  }
  using Left = std::map<std::string, std::int64_t>;
};
INSTANTIATE_TEST_SUITE_P(Both, CorrectionContract, kBothDatabases, dialect_name);

TEST_P(CorrectionContract, GrantsAreUsedAfterTheAllowanceByPriorityThenExpiryThenAge) {
  const Terms terms = monthly(10);
  grant("late", terms, 5, 1, kEnd + 48h);
  clock_.advance(1s);
  grant("early", terms, 5, 1, kEnd + 24h);
  clock_.advance(1s);
  grant("first", terms, 5, 0, kEnd + 72h);
  clock_.advance(1s);
  grant("younger", terms, 5, 1, kEnd + 48h);
  take(terms, 10);
  EXPECT_EQ(left(terms), (Left{{"early", 5}, {"first", 5}, {"late", 5}, {"younger", 5}}));
  take(terms, 7);
  EXPECT_EQ(left(terms), (Left{{"early", 3}, {"first", 0}, {"late", 5}, {"younger", 5}}));
  take(terms, 9);
  EXPECT_EQ(left(terms), (Left{{"early", 0}, {"first", 0}, {"late", 0}, {"younger", 4}}));
  refund(terms, 3);
  EXPECT_EQ(left(terms), (Left{{"early", 0}, {"first", 0}, {"late", 2}, {"younger", 5}})) << "the last is first";
  EXPECT_EQ(take(terms, 7).verdict, Verdict::done);
  EXPECT_EQ(take(terms, 1).verdict, Verdict::denied);
}

TEST_P(CorrectionContract, WhatIsLeftOfAGrantMovesToTheNextPeriodUntilItExpires) {
  const Terms march = monthly(10), april = next_month(march), may = [&] {
    Terms terms = next_month(march);
    terms.key.period = "2026-05";
    terms.begins = april.ends;
    terms.ends = april.ends + std::chrono::hours(24 * 31);
    return terms;
  }();
  grant("topup", march, 20, 0, april.ends - 1h);
  take(march, 15);
  EXPECT_EQ(balance(account(march)), "15 0 15 0");
  clock_.set(kEnd + 1h);
  EXPECT_EQ(take(april, 12).verdict, Verdict::done);
  EXPECT_EQ(balance(account(march)), "0 0 15 0");
  EXPECT_EQ(balance(account(april)), "13 0 12 0");
  EXPECT_EQ(left(march), (Left{{"topup", 13}}));
  refund(april, 12);
  EXPECT_EQ(left(march), (Left{{"topup", 15}})) << "what was used of it in March does not come back";
  clock_.set(april.ends - 1h);
  EXPECT_EQ(take(april, 11).verdict, Verdict::denied) << "expired";
  EXPECT_EQ(balance(account(april)), "10 0 0 15");
  clock_.set(april.ends + 1h);
  take(may, 1);
  EXPECT_EQ(balance(account(may)), "9 0 1 0");
}

TEST_P(CorrectionContract, SlicesAndReservationsUseGrantsToo) {
  const Terms terms = monthly(10);
  grant("topup", terms, 10, 0, kEnd);
  Reserve reserve;
  reserve.reservation = "r1";
  reserve.legs = {terms};
  reserve.amount = 15;
  EXPECT_EQ(run(reserve).verdict, Verdict::done);
  EXPECT_EQ(left(terms), (Left{{"topup", 5}}));
  ReleaseReservation release;
  release.reservation = "r1";
  run(release);
  EXPECT_EQ(left(terms), (Left{{"topup", 10}}));
}

TEST_P(CorrectionContract, AGrantNeedsAnActorAReasonAndAFuture) {
  GrantUnits operation;
  operation.terms = monthly(10);
  operation.amount = 5;
  operation.expires = kEnd;
  EXPECT_EQ(refused(operation).message, "a grant needs an actor and a reason");
  EXPECT_EQ(grant("old", monthly(10), 5, 0, kStart).message, "a grant that has expired already");
}

TEST_P(CorrectionContract, AdjustmentsChargeOrCreditWithAReason) {
  const Terms terms = monthly(10);
  EXPECT_EQ(adjust(terms, 4).granted, 4);
  EXPECT_EQ(adjust(terms, 10, "2026-02").overage, 4);
  EXPECT_EQ(adjust(terms, -20).returned, 14);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
  Adjust unexplained;
  unexplained.terms = terms;
  unexplained.amount = 1;
  EXPECT_EQ(refused(unexplained).message, "an adjustment needs an actor and a reason");
}

TEST_P(CorrectionContract, AnOperationIsReversedOnceInAllItsAccounts) {
  const Terms tenant = monthly(10, "tenant=acme", "tenant-month"), user = monthly(10, "user=u", "user-month");
  Take operation;
  operation.id = "paid";
  operation.legs = {{tenant, 4}, {user, 4}};
  run(operation);
  Reverse reverse;
  reverse.operation = "paid";
  EXPECT_EQ(run(reverse).returned, 8);
  EXPECT_EQ(balance(account(tenant)), "10 0 0 0");
  EXPECT_EQ(run(reverse).verdict, Verdict::gone);
  reverse.operation = "unknown";
  EXPECT_EQ(run(reverse).verdict, Verdict::not_found);
}

TEST_P(CorrectionContract, AKeyRepeatsItsAnswerAndBelongsToOneRequest) {
  const Terms terms = monthly(10);
  Take operation;
  operation.legs = {{terms, 4}};
  operation.once = Once{"acme/k1", "hash-a", clock_.wall() + 24h};
  EXPECT_FALSE(run(operation).replayed);
  const Answer again = run(operation);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.granted, 4);
  operation.once->request = "hash-b";
  EXPECT_EQ(run(operation).verdict, Verdict::conflict);
  EXPECT_EQ(account(terms).used, 4);
  clock_.advance(24h);
  EXPECT_EQ(ledger_->forget_answers().value(), 1);
  EXPECT_FALSE(run(operation).replayed) << "it has been forgotten";
}

TEST_P(CorrectionContract, ADenialIsRepeatedUntilWaitingMayHaveHelped) {
  Terms terms = monthly(1);
  Take operation;
  operation.legs = {{terms, 4}};
  operation.once = Once{"acme/k1", "hash", kEnd + std::chrono::hours(24 * 30)};
  EXPECT_EQ(run(operation).verdict, Verdict::denied);
  terms.limit = 100;
  terms.since += 1h;
  operation.legs = {{terms, 4}};
  EXPECT_EQ(run(operation).verdict, Verdict::denied);
  clock_.set(kEnd);
  EXPECT_EQ(run(operation).verdict, Verdict::done);
}

TEST_P(CorrectionContract, AnOperationWhoseIdWasUsedFailsAloneAndNotItsGroup) {
  const Terms terms = monthly(100);
  Take first;
  first.id = "same";
  first.legs = {{terms, 1}};
  run(first);
  std::vector<std::future<Result<Answer>>> answers;
  for (int i = 0; i < 10; ++i) {
    auto operation = std::make_unique<Take>();
    operation->id = i == 5 ? "same" : "other" + std::to_string(i);
    operation->legs = {{terms, 1}};
    auto promise = std::make_shared<std::promise<Result<Answer>>>();
    answers.push_back(promise->get_future());
    operation->done = [promise](const Result<Answer>& answer) { promise->set_value(answer); };
    ledger_->submit(std::move(operation));
  }
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i].get().ok(), i != 5) << i;
  EXPECT_EQ(account(terms).used, 10);
}

}  // namespace
}  // namespace weir::ledger::tests
