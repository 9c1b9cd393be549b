// What people change in accounts, keys that make an operation idempotent, and retention.
#include "ledger/account_change.h"
#include "ledger/books.h"
#include "ledger/retention.h"
#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

using ::testing::HasSubstr;

class ChangeContract : public LedgerFixture {
 protected:
  Answer change(const Terms& terms, AccountChange change) {
    if (change.actor.empty()) change.actor = "ada";
    if (change.reason.empty()) change.reason = "test";
    const Result<Answer> answer = ledger_->run(make_change(account(terms), change, clock_.wall()));
    EXPECT_TRUE(succeeded(answer));
    return answer.ok() ? answer.value() : Answer();
  }
  Take keyed(const Terms& terms, std::int64_t amount, const std::string& id) {
    Take take;
    take.id = id;
    take.legs = {{terms, amount}};
    take.once = Once{"take k1", std::to_string(amount), clock_.wall() + 24h};
    return take;
  }
  Result<Pruned> pruned(std::int64_t exported, bool dry_run = false) {
    return prune(*database_, {clock_.wall() - 24h * 100, exported, dry_run}, clock_.wall(), {});
  }
  std::int64_t last_entry() { return 1'000'000; }
};
INSTANTIATE_TEST_SUITE_P(Both, ChangeContract, kBothDatabases, dialect_name);

TEST_P(ChangeContract, AGrantWithAKeyIsMadeOnce) {
  const Terms terms = monthly(10);
  take(terms, 1);
  const AccountChange grant{.amount = 5, .key = "invoice-7"};
  EXPECT_EQ(change(terms, grant).granted, 5);
  const Answer again = change(terms, grant);
  EXPECT_TRUE(again.replayed);
  ASSERT_EQ(again.accounts.size(), 1U);
  EXPECT_EQ(again.accounts.front().granted, 5);
  EXPECT_EQ(change(terms, {.amount = 6, .key = "invoice-7"}).verdict, Verdict::conflict);
  EXPECT_EQ(balance(account(terms)), "14 0 1 0");
}

TEST_P(ChangeContract, AGrantWithoutATimeEndsWithThePeriod) {
  const Terms terms = monthly(10);
  take(terms, 10);
  change(terms, {.amount = 5});
  clock_.set(kEnd + 1h);
  EXPECT_EQ(take(next_month(terms), 11).verdict, Verdict::denied);
}

TEST_P(ChangeContract, WhatMustBeWrittenWithAChangeIsWrittenOrNothingIs) {
  const Terms terms = monthly(10);
  take(terms, 4);
  std::unique_ptr<Operation> adjust =
      make_change(account(terms), {.kind = AccountChange::Kind::adjust, .amount = -2, .actor = "a", .reason = "r"}, {});
  adjust->also = [](database::Session&, const Books& books, const Answer& answer) -> Status {
    EXPECT_EQ(books.accounts.begin()->second.read->used, 4);
    EXPECT_EQ(answer.accounts.front().used, 2);
    return Failure{Code::internal, "the audit trail is full"};
  };
  const Result<Answer> failed = ledger_->run(std::move(adjust));
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.failure().message, "the audit trail is full");
  EXPECT_EQ(balance(account(terms)), "6 0 4 0");
}

TEST_P(ChangeContract, AnOperationIsReversedInTheAccountThatIsNamedOnce) {
  const Terms terms = monthly(10), other = monthly(10, "tenant=other");
  Take used;
  used.id = "export-1";
  used.legs = {{terms, 4}};
  run(used);
  take(other, 1);
  const AccountChange reverse{.kind = AccountChange::Kind::reverse, .operation = "export-1"};
  EXPECT_EQ(change(other, reverse).verdict, Verdict::not_found) << "another account's operation";
  EXPECT_EQ(change(terms, reverse).returned, 4);
  EXPECT_EQ(change(terms, reverse).verdict, Verdict::gone);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
}

TEST_P(ChangeContract, ATakeWithAKeyIsReplayedWithTheAccountsAsTheyAre) {
  const Terms terms = monthly(10);
  EXPECT_FALSE(run(keyed(terms, 4, "a")).replayed);
  const Answer again = run(keyed(terms, 4, "b"));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.verdict, Verdict::done);
  ASSERT_EQ(again.accounts.size(), 1U);
  EXPECT_EQ(again.accounts.front().used, 4);
  EXPECT_EQ(run(keyed(terms, 5, "c")).verdict, Verdict::conflict);
  EXPECT_EQ(balance(account(terms)), "6 0 4 0");
}

TEST_P(ChangeContract, ATakeWhoseCallerWasRefusedIsUndoneAndItsKeyDecidedAgain) {
  const Terms terms = monthly(10);
  const Take first = keyed(terms, 4, "a");
  const Answer answer = run(first);
  auto undo = first.undo(answer);
  ASSERT_NE(undo, nullptr);
  EXPECT_EQ(ledger_->run(std::move(undo)).value().returned, 4);
  EXPECT_FALSE(run(keyed(terms, 4, "b")).replayed);
  EXPECT_EQ(balance(account(terms)), "6 0 4 0");
}

TEST_P(ChangeContract, ATakeThatALaterCallReliesOnIsNotUndone) {
  const Terms terms = monthly(10);
  const Take first = keyed(terms, 4, "a");
  const Answer answer = run(first);
  EXPECT_TRUE(run(keyed(terms, 4, "b")).replayed);
  EXPECT_EQ(ledger_->run(first.undo(answer)).value().verdict, Verdict::gone);
  EXPECT_EQ(balance(account(terms)), "6 0 4 0");
}

TEST_P(ChangeContract, AShadowLegThatHasTooLittleHoldsNothingBackAndGoesOnCounting) {
  const Terms enforced = monthly(10), shadow = monthly(2, "tenant=acme", "shadow");
  Take both;
  both.legs = {{enforced, 3, true}, {shadow, 3, false}};
  const Answer answer = run(both);
  EXPECT_EQ(answer.verdict, Verdict::done);
  EXPECT_EQ(answer.granted, 3);
  EXPECT_THAT(answer.skipped, ::testing::ElementsAre(1U));
  EXPECT_EQ(balance(account(enforced)), "7 0 3 0");
  EXPECT_EQ(balance(account(shadow)), "0 0 3 0");
  EXPECT_EQ(account(shadow).overage, 1);
}

TEST_P(ChangeContract, AReservationHoldsTheAmountAndFixedCosts) {
  const Terms tokens = monthly(100, "tenant=acme", "tokens"), calls = monthly(10, "tenant=acme", "calls");
  Reserve reserve;
  reserve.reservation = "r1";
  reserve.legs = {tokens, calls};
  reserve.fixed = {0, 1};
  reserve.amount = 40;
  EXPECT_EQ(run(reserve).granted, 40);
  EXPECT_EQ(balance(account(tokens)), "60 40 0 0");
  EXPECT_EQ(balance(account(calls)), "9 1 0 0");
  ExtendReservation extend;
  extend.reservation = "r1";
  extend.add = 10;
  run(extend);
  EXPECT_EQ(balance(account(calls)), "9 1 0 0") << "a fixed cost does not grow";
  CommitReservation commit;
  commit.reservation = "r1";
  commit.actual = 30;
  run(commit);
  EXPECT_EQ(balance(account(tokens)), "70 0 30 0");
  EXPECT_EQ(balance(account(calls)), "9 0 1 0");
  reserve.reservation = "r2";
  run(reserve);
  ReleaseReservation release;
  release.reservation = "r2";
  run(release);
  EXPECT_EQ(balance(account(calls)), "9 0 1 0");
}

TEST_P(ChangeContract, EntriesOfOldPeriodsGoAfterTheyWereExported) {
  const Terms old = monthly(10);
  take(old, 4);
  clock_.set(kEnd + 24h * 90);
  const Terms open = [&] {
    Terms terms = monthly(10);
    terms.key.period = "2026-06";
    terms.begins = kEnd + 24h * 60;
    terms.ends = kEnd + 24h * 95;
    return terms;
  }();
  take(open, 3);
  EXPECT_EQ(pruned(last_entry()).value().accounts, 0) << "not old enough";
  clock_.set(kEnd + 24h * 101);
  EXPECT_EQ(pruned(0).value().unexported, 1);
  EXPECT_EQ(pruned(last_entry(), true).value().entries, 2) << "only counted";
  EXPECT_EQ(entries(), 4);
  const Result<Pruned> done = pruned(last_entry());
  ASSERT_TRUE(succeeded(done));
  EXPECT_EQ(done.value().accounts, 1);
  EXPECT_EQ(done.value().entries, 2);
  EXPECT_EQ(entries(), 2);
  EXPECT_EQ(account(open).used, 3);
  EXPECT_EQ(prune(*database_, {clock_.wall(), 0, false}, clock_.wall(), {}).failure().code, Code::invalid_argument);
}

TEST_P(ChangeContract, HowFarEntriesWereExportedIsNotedAndOnlyGrows) {
  take(monthly(10), 4);
  const std::int64_t last = 2;  // the allowance and the take
  std::int64_t noted = -1;
  const auto note = [&](std::int64_t cursor) {
    return database_->run(database::Access::write, [&](database::Session& session) -> Status {
      if (Status done = note_exported(session, cursor, "ada", clock_.wall()); !done.ok()) return done;
      const Result<std::int64_t> read = exported_up_to(session);
      if (!read.ok()) return read.failure();
      noted = read.value();
      return success();
    });
  };
  EXPECT_TRUE(succeeded(note(0)));
  EXPECT_EQ(noted, 0);
  EXPECT_TRUE(succeeded(note(last)));
  EXPECT_EQ(noted, last);
  EXPECT_TRUE(succeeded(note(1)));
  EXPECT_EQ(noted, last) << "what is kept elsewhere stays so";
  EXPECT_EQ(note(last + 1).status.failure().code, Code::invalid_argument) << "no export can have printed it";
}

TEST_P(ChangeContract, RetentionGoesOnWhereItStopped) {
  for (int i = 0; i < 120; ++i) take(monthly(10, "tenant=" + std::to_string(i)), 1);
  clock_.set(kEnd + 24h * 101);
  Retention retention{.before = clock_.wall() - 24h * 100, .exported = last_entry(), .most = 50};
  std::int64_t removed = 0;
  int calls = 0;
  for (bool more = true; more && calls < 10; ++calls) {
    const Result<Pruned> some = prune(*database_, retention, clock_.wall(), {});
    ASSERT_TRUE(succeeded(some));
    EXPECT_LE(some.value().accounts, 50);
    removed += some.value().accounts;
    retention.after = some.value().after;
    more = some.value().more;
  }
  EXPECT_EQ(removed, 120);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(entries(), 0);
}

TEST_P(ChangeContract, WhatIsHeldOrGrantedIsNotRemoved) {
  const Terms held = monthly(10), granted = monthly(10, "tenant=granted");
  TakeSlice slice;
  slice.terms = held;
  slice.node = "n1";
  OpenEpoch open;
  open.node = "n1";
  slice.epoch = run(open).epoch;
  slice.want = 5;
  run(slice);
  take(granted, 1);
  change(granted, {.amount = 5, .expires = kEnd + 24h * 1000});
  clock_.set(kEnd + 24h * 400);
  EXPECT_EQ(pruned(last_entry()).value().accounts, 0);
}

TEST_P(ChangeContract, TheDatabaseItselfKeepsEntriesOfAccountsThatAreNotArchived) {
  take(monthly(10), 4);
  const auto tried = [&](const char* sql) {
    return database_->run(database::Access::write, [&](database::Session& session) { return session.run_script(sql); });
  };
  EXPECT_FALSE(tried("DELETE FROM ledger_entry").ok());
  EXPECT_FALSE(
      tried("INSERT INTO ledger_archive SELECT id, rule, subject, period, tenant, begins_at, ends_at, 0, 0, 0, 0, "
            "0, 0, 0, 0, ends_at FROM ledger_account")
          .ok())
      << "its period is not closed";
  EXPECT_EQ(entries(), 2);
}

}  // namespace
}  // namespace weir::ledger::tests
