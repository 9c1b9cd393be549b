#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

class SliceContract : public LedgerFixture {
 protected:
  std::int64_t open_epoch(const std::string& node) {
    OpenEpoch operation;
    operation.node = node;
    return run(operation).epoch;
  }
  Answer slice(const Terms& terms, const std::string& node, std::int64_t epoch, std::int64_t want,
               std::int64_t least = 1) {
    TakeSlice operation;
    operation.terms = terms;
    operation.node = node;
    operation.epoch = epoch;
    operation.want = want;
    operation.least = least;
    return run(operation);
  }
  Answer give_back(const Terms& terms, const std::string& node, std::int64_t epoch, std::int64_t amount) {
    ReturnSlice operation;
    operation.account = terms.key;
    operation.node = node;
    operation.epoch = epoch;
    operation.amount = amount;
    return run(operation);
  }
  Answer report(const Terms& terms, const std::string& node, std::int64_t epoch, std::int64_t seq, std::int64_t spent,
                std::int64_t without = 0) {
    UsageBatch batch;
    batch.node = node;
    batch.epoch = epoch;
    batch.seq = seq;
    batch.records = {{terms.key, spent, without}};
    batch.name_itself();
    return run(batch);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, SliceContract, kBothDatabases, dialect_name);

TEST_P(SliceContract, EachStartOfANodeIsANewEpochAndOldOnesTakeNothing) {
  const Terms terms = monthly(1000);
  EXPECT_EQ(open_epoch("a"), 1);
  EXPECT_EQ(open_epoch("b"), 1);
  EXPECT_EQ(slice(terms, "a", 1, 10).verdict, Verdict::done);
  EXPECT_EQ(open_epoch("a"), 2);
  const Answer stale = slice(terms, "a", 1, 10);
  EXPECT_EQ(stale.verdict, Verdict::stale);
  EXPECT_EQ(stale.epoch, 2);
  EXPECT_EQ(stale.message, "node a is in epoch 2, not 1: another process has taken its place");
  RenewSlices renew;
  renew.node = "a";
  renew.epoch = 1;
  EXPECT_EQ(run(renew).verdict, Verdict::stale);
  EXPECT_EQ(slice(terms, "c", 1, 10).message, "no node \"c\" has opened an epoch");
  EXPECT_EQ(slice(terms, "a", 2, 10).verdict, Verdict::done);
}

TEST_P(SliceContract, ASliceIsHeldBeforeItCanBeSpentAndUsedWhenItIsReported) {
  const Terms terms = monthly(100);
  open_epoch("a");
  EXPECT_EQ(slice(terms, "a", 1, 20).granted, 20);
  EXPECT_EQ(balance(account(terms)), "80 20 0 0");
  EXPECT_EQ(report(terms, "a", 1, 1, 12).granted, 12);
  EXPECT_EQ(balance(account(terms)), "80 8 12 0");
  EXPECT_EQ(give_back(terms, "a", 1, 8).returned, 8);
  EXPECT_EQ(balance(account(terms)), "88 0 12 0");
  EXPECT_EQ(give_back(terms, "a", 1, 8).returned, 0) << "nothing is held any more";
}

TEST_P(SliceContract, ABatchThatComesAgainChangesNothing) {
  const Terms terms = monthly(100);
  open_epoch("a");
  slice(terms, "a", 1, 20);
  EXPECT_FALSE(report(terms, "a", 1, 1, 5).replayed);
  EXPECT_TRUE(report(terms, "a", 1, 1, 5).replayed);
  EXPECT_TRUE(report(terms, "a", 1, 1, 9).replayed);
  EXPECT_FALSE(report(terms, "a", 1, 2, 5).replayed);
  EXPECT_EQ(account(terms).used, 10);
}

TEST_P(SliceContract, SlicesGetSmallerNearTheEndAndWithMoreNodes) {
  const Terms terms = monthly(1000);
  open_epoch("a");
  EXPECT_EQ(slice(terms, "a", 1, 900).granted, 500) << "half of what is left";
  open_epoch("b");
  EXPECT_EQ(slice(terms, "b", 1, 900).granted, 125) << "half of what is left, divided by two nodes";
  std::int64_t total = 625;
  std::int64_t last = 1000;
  while (true) {
    const Answer answer = slice(terms, "b", 1, 900);
    if (answer.verdict == Verdict::denied) break;
    EXPECT_LE(answer.granted, last);
    last = answer.granted;
    total += last;
  }
  EXPECT_EQ(total, 1000) << "all of it, the last units one by one";
  EXPECT_EQ(last, 1);
}

TEST_P(SliceContract, ANodeThatIsSilentNoLongerCountsForTheSize) {
  const Terms terms = monthly(1000);
  open_epoch("a");
  open_epoch("b");
  clock_.advance(3min);
  EXPECT_EQ(slice(terms, "a", 1, 900).granted, 500);
}

TEST_P(SliceContract, ACostThatNoSliceCoversIsTakenWholeOrNotAtAll) {
  const Terms terms = monthly(100);
  open_epoch("a");
  EXPECT_EQ(slice(terms, "a", 1, 90, 90).granted, 90) << "the request needs it, whatever the share";
  const Answer denied = slice(terms, "a", 1, 20, 11);
  EXPECT_EQ(denied.verdict, Verdict::denied);
  EXPECT_EQ(balance(account(terms)), "10 90 0 0");
}

TEST_P(SliceContract, GraceAndOverageAreSlicedToo) {
  Terms terms = monthly(10);
  terms.grace = 2;
  open_epoch("a");
  EXPECT_EQ(slice(terms, "a", 1, 10, 10).grace, 0);
  EXPECT_EQ(slice(terms, "a", 1, 2, 2).grace, 2);
  EXPECT_EQ(slice(terms, "a", 1, 1).verdict, Verdict::denied);
  EXPECT_EQ(give_back(terms, "a", 1, 1).returned, 1);
  EXPECT_EQ(account(terms).grace_used, 1);
  terms.record_overage = true;
  terms.since += 1h;
  EXPECT_EQ(slice(terms, "a", 1, 50, 50).overage, 49);
  EXPECT_EQ(give_back(terms, "a", 1, 62).returned, 61);
  EXPECT_EQ(account(terms).overage, 0);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
}

TEST_P(SliceContract, TheUnreportedRestOfASliceExpiresAfterItsTime) {
  const Terms terms = monthly(100);
  open_epoch("a");
  slice(terms, "a", 1, 20);
  report(terms, "a", 1, 1, 5);
  clock_.advance(30s - 1us);
  EXPECT_EQ(ledger_->sweep().value().expired_units, 0);
  clock_.advance(1us);
  EXPECT_EQ(ledger_->sweep().value().expired_units, 15);
  EXPECT_EQ(ledger_->sweep().value().expired_units, 0);
  EXPECT_EQ(balance(account(terms)), "80 0 5 15") << "never available again";
  EXPECT_EQ(report(terms, "a", 1, 2, 10).overage, 0) << "a late batch is accepted up to what the slice held";
  EXPECT_EQ(balance(account(terms)), "80 0 15 5");
  EXPECT_EQ(give_back(terms, "a", 1, 5).returned, 0);
}

TEST_P(SliceContract, RenewingKeepsEverythingThatANodeHolds) {
  const Terms terms = monthly(100), other = monthly(100, "tenant=other");
  open_epoch("a");
  open_epoch("b");
  slice(terms, "a", 1, 20);
  slice(other, "a", 1, 20);
  slice(other, "b", 1, 10);
  clock_.advance(20s);
  RenewSlices renew;
  renew.node = "a";
  renew.epoch = 1;
  EXPECT_EQ(run(renew).expires, clock_.wall() + 30s);
  clock_.advance(20s);
  EXPECT_EQ(ledger_->sweep().value().expired_units, 10) << "only the other node's";
  clock_.advance(10s);
  EXPECT_EQ(ledger_->sweep().value().expired_units, 40);
}

TEST_P(SliceContract, ANodeThatStartsAgainReplaysItsLogAndThenGivesUpTheRest) {
  const Terms terms = monthly(100);
  open_epoch("a");
  slice(terms, "a", 1, 20);
  EXPECT_EQ(open_epoch("a"), 2);
  EXPECT_EQ(report(terms, "a", 1, 1, 7).granted, 7) << "from its log";
  EXPECT_EQ(ledger_->close_epochs("a", 2).value(), 13);
  EXPECT_EQ(balance(account(terms)), "80 0 7 13");
  EXPECT_EQ(ledger_->close_epochs("a", 2).value(), 0);
}

TEST_P(SliceContract, WhatANodeAdmittedBeyondItsSlicesIsBilledAndRecordedAsOverage) {
  const Terms terms = monthly(10);
  open_epoch("a");
  slice(terms, "a", 1, 10, 10);
  EXPECT_EQ(report(terms, "a", 1, 1, 10, 4).overage, 4) << "admitted while the ledger was away";
  EXPECT_EQ(report(terms, "a", 1, 2, 3).overage, 3) << "more than it held";
  EXPECT_EQ(balance(account(terms)), "0 0 17 0");
  EXPECT_EQ(account(terms).overage, 7);
}

TEST_P(SliceContract, ABatchForAnUnknownAccountIsRefusedWhole) {
  const Terms terms = monthly(100);
  open_epoch("a");
  slice(terms, "a", 1, 10);
  UsageBatch batch;
  batch.node = "a";
  batch.epoch = 1;
  batch.seq = 1;
  batch.records = {{terms.key, 5, 0}, {{"no-such-rule", "x", "2026-03"}, 1, 0}};
  batch.name_itself();
  EXPECT_EQ(run(batch).verdict, Verdict::not_found);
  EXPECT_EQ(account(terms).used, 0);
  batch.records.pop_back();
  EXPECT_EQ(run(batch).verdict, Verdict::done);
}

TEST_P(SliceContract, RefusesImpossibleSlices) {
  TakeSlice operation;
  operation.terms = monthly(10);
  operation.node = "a";
  operation.epoch = 1;
  operation.want = 1;
  operation.least = 2;
  EXPECT_EQ(refused(operation).code, Code::invalid_argument);
  operation.want = 2;
  operation.ttl = 0s;
  EXPECT_EQ(refused(operation).message, "a slice without time to live");
  operation.node = "";
  EXPECT_EQ(refused(operation).message, "a node without a name");
  UsageBatch batch;
  batch.node = "a";
  EXPECT_EQ(refused(batch).message, "epochs and batches are counted from 1");
}

}  // namespace
}  // namespace weir::ledger::tests
