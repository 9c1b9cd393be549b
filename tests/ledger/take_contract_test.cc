#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

class TakeContract : public LedgerFixture {};
INSTANTIATE_TEST_SUITE_P(Both, TakeContract, kBothDatabases, dialect_name);

TEST_P(TakeContract, AdmitsExactlyTheLimit) {
  const Terms terms = monthly(10);
  EXPECT_EQ(take(terms, 4).verdict, Verdict::done);
  EXPECT_EQ(take(terms, 6).verdict, Verdict::done);
  const Answer denied = take(terms, 1);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.message, "exports-month has 0 units left in 2026-03, and 1 were asked for");
  EXPECT_EQ(balance(account(terms)), "0 0 10 0");
  EXPECT_EQ(take(terms, 0).verdict, Verdict::done) << "a look costs nothing";
  EXPECT_EQ(entries(), 3) << "the allowance and two takes";
}

TEST_P(TakeContract, EachSubjectAndEachPeriodHasAnAccountOfItsOwn) {
  EXPECT_EQ(take(monthly(1), 1).verdict, Verdict::done);
  EXPECT_EQ(take(monthly(1), 1).verdict, Verdict::denied);
  EXPECT_EQ(take(monthly(1, "tenant=other"), 1).verdict, Verdict::done);
  EXPECT_EQ(take(next_month(monthly(1)), 1).verdict, Verdict::done);
}

TEST_P(TakeContract, SeveralAccountsAreChargedAllOrNone) {
  const Terms tenant = monthly(100, "tenant=acme", "tenant-month"), team = monthly(5, "team=a", "team-month"),
              user = monthly(3, "user=u", "user-month");
  Take all;
  all.legs = {{tenant, 3}, {team, 3}, {user, 3}};
  EXPECT_EQ(run(all).verdict, Verdict::done);
  const Answer denied = run(all);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(denied.leg, 1);
  all.legs[2].amount = 1;
  all.legs[1].amount = 2;
  EXPECT_EQ(run(all).leg, 2);
  EXPECT_EQ(balance(account(tenant)), "97 0 3 0");
  EXPECT_EQ(balance(account(team)), "2 0 3 0");
  EXPECT_EQ(balance(account(user)), "0 0 3 0");
}

TEST_P(TakeContract, GraceIsAdmittedAndTold) {
  Terms terms = monthly(10);
  terms.grace = 2;
  EXPECT_EQ(take(terms, 9).grace, 0);
  const Answer beyond = take(terms, 2);
  EXPECT_EQ(beyond.verdict, Verdict::done);
  EXPECT_EQ(beyond.grace, 1);
  EXPECT_EQ(beyond.overage, 0);
  EXPECT_EQ(take(terms, 2).verdict, Verdict::denied);
  EXPECT_EQ(take(terms, 1).grace, 1);
  EXPECT_EQ(account(terms).grace_used, 2);
}

TEST_P(TakeContract, OverageIsAdmittedWithoutBoundAndRecorded) {
  Terms terms = monthly(10);
  terms.grace = 1;
  terms.record_overage = true;
  EXPECT_EQ(take(terms, 8).overage, 0);
  const Answer beyond = take(terms, 100);
  EXPECT_EQ(beyond.verdict, Verdict::done);
  EXPECT_EQ(beyond.grace, 1);
  EXPECT_EQ(beyond.overage, 97);
  EXPECT_EQ(account(terms).overage, 97);
  EXPECT_EQ(balance(account(terms)), "0 0 108 0");
}

TEST_P(TakeContract, UsageIsAlwaysRecorded) {
  const Terms terms = monthly(10);
  ReportUsage usage;
  usage.legs = {{terms, 25}};
  usage.effective = kStart + 10min;
  const Answer answer = run(usage);
  EXPECT_EQ(answer.verdict, Verdict::done);
  EXPECT_EQ(answer.overage, 15);
  EXPECT_EQ(take(terms, 1).verdict, Verdict::denied) << "the rule itself refuses overage";
}

TEST_P(TakeContract, ARefundReversesAtMostWhatWasUsedAndOverageFirst) {
  Terms terms = monthly(10);
  terms.grace = 2;
  terms.record_overage = true;
  take(terms, 15);  // 10 of the limit, 2 of grace, 3 of overage
  Refund refund;
  refund.legs = {{terms, 4}};
  EXPECT_EQ(run(refund).returned, 4);
  EXPECT_EQ(account(terms).overage, 0);
  EXPECT_EQ(account(terms).grace_used, 1);
  EXPECT_EQ(balance(account(terms)), "0 0 11 0");
  refund.legs = {{terms, 100}};
  EXPECT_EQ(run(refund).returned, 11);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
}

TEST_P(TakeContract, ALimitThatIsRaisedOrLoweredCountsWhatWasUsed) {
  Terms terms = monthly(1000);
  take(terms, 500);
  terms.limit = 100;
  terms.since += 1h;
  EXPECT_EQ(take(terms, 1).verdict, Verdict::denied);
  EXPECT_EQ(balance(account(terms)), "0 0 500 0") << "what was used stays used";
  terms.limit = 600;
  terms.since += 1h;
  EXPECT_EQ(take(terms, 100).verdict, Verdict::done);
  EXPECT_EQ(take(terms, 1).verdict, Verdict::denied);
  EXPECT_EQ(account(terms).issued, 600);
}

TEST_P(TakeContract, WhatIsGivenBackAfterALoweringStaysWithinTheLimit) {
  Terms terms = monthly(1000);
  take(terms, 500);
  terms.limit = 100;
  terms.since += 1h;
  Refund refund;
  refund.legs = {{terms, 450}};
  EXPECT_EQ(run(refund).returned, 450);
  EXPECT_EQ(balance(account(terms)), "50 0 50 0");
}

TEST_P(TakeContract, ANodeWithOlderRulesDoesNotUndoNewerOnes) {
  Terms older = monthly(10), newer = monthly(20);
  newer.since += 1h;
  take(newer, 15);
  EXPECT_EQ(take(older, 5).verdict, Verdict::done);
  EXPECT_EQ(take(older, 1).verdict, Verdict::denied);
  EXPECT_EQ(account(older).limit, 20);
}

TEST_P(TakeContract, APeriodClosesADayAfterItsEnd) {
  const Terms terms = monthly(10);
  clock_.set(kEnd + 24h - 1us);
  EXPECT_EQ(take(terms, 1).verdict, Verdict::done);
  clock_.set(kEnd + 24h);
  const Answer closed = take(terms, 1);
  EXPECT_EQ(closed.verdict, Verdict::closed);
  EXPECT_EQ(closed.message, "the period 2026-03 of exports-month is closed; correct it in the open period");
  ReportUsage usage;
  usage.legs = {{terms, 1}};
  usage.effective = kEnd - 1h;
  EXPECT_EQ(run(usage).verdict, Verdict::closed);
  Refund refund;
  refund.legs = {{terms, 1}};
  EXPECT_EQ(run(refund).verdict, Verdict::closed);
  EXPECT_EQ(account(terms).used, 1);
}

TEST_P(TakeContract, ThresholdsAreNoticedOnceEach) {
  Terms terms = monthly(100);
  terms.thresholds = {50, 80, 100};
  take(terms, 85);
  Refund refund;
  refund.legs = {{terms, 80}};
  run(refund);
  take(terms, 80);
  take(terms, 15);
  std::vector<std::int64_t> noticed;
  const auto mark_all = [&] {
    EXPECT_TRUE(succeeded(database_->run(database::Access::write, [&](database::Session& session) -> Status {
      noticed.clear();
      auto pending = pending_notices(session, "n1", clock_.wall());
      if (!pending.ok()) return pending.failure();
      for (const PendingNotice& each : pending.value()) {
        EXPECT_EQ(each.account.key.rule, terms.key.rule);
        noticed.push_back(each.notice.threshold);
        auto marked = mark_delivered(session, each.notice, clock_.wall());
        if (!marked.ok()) return marked.failure();
        EXPECT_TRUE(marked.value());
        EXPECT_FALSE(mark_delivered(session, each.notice, clock_.wall()).value());
      }
      return success();
    })));
  };
  mark_all();
  EXPECT_EQ(noticed, (std::vector<std::int64_t>{50, 80, 100}));
  mark_all();
  EXPECT_TRUE(noticed.empty());
  take(next_month(terms), 60);
  mark_all();
  EXPECT_EQ(noticed, std::vector<std::int64_t>{50}) << "each period has its own";
}

TEST_P(TakeContract, OneNodeTellsOfAThresholdAndAnotherOnlyIfItIsSilent) {
  Terms terms = monthly(100);
  terms.thresholds = {50};
  take(terms, 60);
  const TimePoint now = clock_.wall();
  const auto pending_for = [&](const std::string& node, TimePoint at) {
    std::vector<PendingNotice> found;
    EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
      auto pending = pending_notices(session, node, at);
      if (!pending.ok()) return pending.failure();
      found = pending.value();
      return success();
    })));
    return found;
  };
  const auto claims = [&](const Notice& notice, const std::string& node, TimePoint at) {
    bool mine = false;
    EXPECT_TRUE(succeeded(database_->run(database::Access::write, [&](database::Session& session) -> Status {
      auto claimed = claim_notice(session, notice, node, at, at + 1min);
      if (!claimed.ok()) return claimed.failure();
      mine = claimed.value();
      return success();
    })));
    return mine;
  };
  ASSERT_EQ(pending_for("n1", now).size(), 1U);
  ASSERT_EQ(pending_for("n2", now).size(), 1U) << "both have read it before one of them claims it";
  const Notice notice = pending_for("n1", now).front().notice;
  EXPECT_TRUE(claims(notice, "n1", now));
  EXPECT_FALSE(claims(notice, "n2", now));
  EXPECT_TRUE(pending_for("n2", now).empty());
  EXPECT_EQ(pending_for("n1", now).size(), 1U) << "it tries again";
  EXPECT_TRUE(claims(notice, "n1", now + 30s));
  EXPECT_FALSE(claims(notice, "n2", now + 90s - 1us));
  EXPECT_EQ(pending_for("n2", now + 90s).size(), 1U);
  EXPECT_TRUE(claims(notice, "n2", now + 90s));
  EXPECT_FALSE(claims(notice, "n1", now + 91s));
}

TEST_P(TakeContract, WhatIsRefusedInAClosedPeriodOpensNoAccount) {
  const Terms terms = monthly(10);
  clock_.set(kEnd + 24h);
  EXPECT_EQ(take(terms, 1).verdict, Verdict::closed);
  ReportUsage usage;
  usage.legs = {{terms, 1}};
  usage.effective = kEnd - 1h;
  EXPECT_EQ(run(usage).verdict, Verdict::closed);
  Adjust adjust;
  adjust.terms = terms;
  adjust.amount = 1;
  adjust.actor = adjust.reason = "support";
  EXPECT_EQ(run(adjust).verdict, Verdict::closed);
  GrantUnits grant;
  grant.terms = terms;
  grant.amount = 1;
  grant.expires = clock_.wall() + 1h;
  grant.actor = grant.reason = "support";
  EXPECT_EQ(run(grant).verdict, Verdict::closed);
  EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
    auto found = list_accounts(session, {});
    if (!found.ok()) return found.failure();
    EXPECT_TRUE(found.value().empty());
    return success();
  })));
}

TEST_P(TakeContract, AThresholdThatIsSetLaterIsNoticedWhenItIsAlreadyReached) {
  Terms terms = monthly(100);
  take(terms, 60);
  terms.thresholds = {50};
  terms.since += 1h;
  take(terms, 1);
  EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
    auto pending = pending_notices(session, "n1", clock_.wall());
    if (!pending.ok()) return pending.failure();
    EXPECT_EQ(pending.value().size(), 1U);
    return success();
  })));
}

TEST_P(TakeContract, RefusesWhatNoLedgerCouldDo) {
  Take operation;
  operation.legs = {{monthly(10), -1}};
  EXPECT_EQ(refused(operation).message, "an amount of -1 units; expected 0 to 1000000000000");
  operation.legs = {{monthly(10), kMaxUnits + 1}};
  EXPECT_EQ(refused(operation).code, Code::invalid_argument);
  operation.legs = {};
  EXPECT_EQ(refused(operation).message, "0 accounts; expected 1 to 64");
  operation.legs = {{monthly(10), 1}, {monthly(10), 1}};
  EXPECT_EQ(refused(operation).message, "the same account twice in one operation");
  operation.legs = {{monthly(10, std::string(2000, 'x')), 1}};
  EXPECT_EQ(refused(operation).message, "the subject has 2000 bytes; expected at most 1024");
  operation.legs = {{monthly(10, std::string("a\0b", 3)), 1}};
  EXPECT_EQ(refused(operation).message, "the subject contains a zero byte");
  EXPECT_EQ(entries(), 0);
}

TEST_P(TakeContract, AnAccountThatCannotCountFurtherRefuses) {
  Terms terms = monthly(kMaxUnits);
  terms.record_overage = true;
  // As if an account had been used for very long.
  take(terms, kMaxUnits);
  ReportUsage usage;
  usage.legs = {{terms, kMaxUnits}};
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(usage).verdict, Verdict::done);
  Account full = account(terms);
  full.issued = kMaxIssued;
  EXPECT_FALSE(Posting::can_draw(full, 1, Posting::Beyond::record));
}

}  // namespace
}  // namespace weir::ledger::tests
