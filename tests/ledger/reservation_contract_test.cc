#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

class ReservationContract : public LedgerFixture {
 protected:
  Answer reserve(const std::string& id, const std::vector<Terms>& legs, std::int64_t amount, bool partial = false) {
    Reserve operation;
    operation.reservation = id;
    operation.legs = legs;
    operation.amount = amount;
    operation.partial = partial;
    return run(operation);
  }
  Answer commit(const std::string& id, std::int64_t actual, const std::vector<Terms>& open = {}) {
    CommitReservation operation;
    operation.reservation = id;
    operation.actual = actual;
    operation.open_terms = open;
    return run(operation);
  }
  Answer release(const std::string& id) {
    ReleaseReservation operation;
    operation.reservation = id;
    return run(operation);
  }
  Answer extend(const std::string& id, Duration ttl, std::int64_t add) {
    ExtendReservation operation;
    operation.reservation = id;
    operation.ttl = ttl;
    operation.add = add;
    return run(operation);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, ReservationContract, kBothDatabases, dialect_name);

TEST_P(ReservationContract, LessThanWasHeldReturnsTheRest) {
  const Terms terms = monthly(10);
  const Answer reserved = reserve("r1", {terms}, 6);
  EXPECT_EQ(reserved.granted, 6);
  EXPECT_EQ(reserved.expires, clock_.wall() + 60s);
  EXPECT_EQ(balance(account(terms)), "4 6 0 0");
  EXPECT_EQ(reserve("r2", {terms}, 5).verdict, Verdict::denied);
  const Answer committed = commit("r1", 2);
  EXPECT_EQ(committed.verdict, Verdict::done);
  EXPECT_EQ(committed.returned, 4);
  EXPECT_EQ(balance(account(terms)), "8 0 2 0");
}

TEST_P(ReservationContract, MoreThanWasHeldIsChargedAsFarAsTheRuleAllows) {
  Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  const Answer committed = commit("r1", 13);
  EXPECT_EQ(committed.uncharged, 3);
  EXPECT_EQ(balance(account(terms)), "0 0 10 0");
  Terms recording = monthly(10, "tenant=other");
  recording.record_overage = true;
  reserve("r2", {recording}, 6);
  EXPECT_EQ(commit("r2", 13).overage, 3);
  EXPECT_EQ(account(recording).used, 13);
}

TEST_P(ReservationContract, ClosesOnceAndRepeatsTheAnswer) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  EXPECT_FALSE(commit("r1", 4).replayed);
  EXPECT_TRUE(commit("r1", 4).replayed);
  EXPECT_EQ(commit("r1", 5).verdict, Verdict::gone);
  EXPECT_EQ(release("r1").message, "the reservation has been committed");
  EXPECT_EQ(extend("r1", 10s, 1).verdict, Verdict::gone);
  EXPECT_EQ(reserve("r1", {terms}, 1).verdict, Verdict::gone) << "a closed reservation never opens again";
  reserve("r2", {terms}, 3);
  EXPECT_EQ(release("r2").returned, 3);
  EXPECT_TRUE(release("r2").replayed);
  EXPECT_EQ(commit("r2", 1).verdict, Verdict::gone);
  EXPECT_EQ(commit("r3", 1).verdict, Verdict::not_found);
  EXPECT_EQ(balance(account(terms)), "6 0 4 0");
}

TEST_P(ReservationContract, CommittingNothingReturnsEverything) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  EXPECT_EQ(commit("r1", 0).returned, 6);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
}

TEST_P(ReservationContract, TheSameIdGivesTheSameReservation) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  const Answer again = reserve("r1", {terms}, 4);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(again.granted, 6);
  EXPECT_EQ(account(terms).held, 6);
}

TEST_P(ReservationContract, AnIdOfAClientIsRefusedWithAnotherAmount) {
  const Terms terms = monthly(10);
  const auto compare = [&](std::int64_t amount) {
    Reserve operation;
    operation.reservation = "r1";
    operation.legs = {terms};
    operation.amount = amount;
    operation.compares = true;
    return run(operation);
  };
  EXPECT_EQ(compare(6).granted, 6);
  EXPECT_EQ(compare(4).verdict, Verdict::conflict);
  EXPECT_EQ(account(terms).held, 6);
  EXPECT_TRUE(compare(6).replayed);
  extend("r1", 0s, 1);
  EXPECT_TRUE(compare(6).replayed) << "it holds more than it was made with";
  EXPECT_EQ(commit("r1", 7).verdict, Verdict::done);
  EXPECT_EQ(compare(6).verdict, Verdict::gone);
}

TEST_P(ReservationContract, PartialHoldsWhatFitsEverywhere) {
  const Terms tenant = monthly(100, "tenant=acme", "tenant-month"), user = monthly(7, "user=u", "user-month");
  EXPECT_EQ(reserve("r1", {tenant, user}, 20).verdict, Verdict::denied);
  EXPECT_EQ(reserve("r1", {tenant, user}, 20, true).granted, 7);
  EXPECT_EQ(balance(account(tenant)), "93 7 0 0");
  EXPECT_EQ(reserve("r2", {tenant, user}, 20, true).verdict, Verdict::denied) << "at least 1";
  EXPECT_EQ(commit("r1", 3).returned, 4);
  EXPECT_EQ(balance(account(tenant)), "97 0 3 0");
  EXPECT_EQ(balance(account(user)), "4 0 3 0");
}

TEST_P(ReservationContract, AnExpiredReservationCostsNothingAndCannotBeCommitted) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  clock_.advance(60s);
  const Answer late = commit("r1", 4);
  EXPECT_EQ(late.verdict, Verdict::gone);
  EXPECT_EQ(late.message, "the reservation's time had passed before; report what was used as usage");
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
  reserve("r2", {terms}, 6);
  clock_.advance(60s);
  EXPECT_EQ(ledger_->sweep().value().reservations, 1);
  EXPECT_EQ(ledger_->sweep().value().reservations, 0);
  EXPECT_EQ(release("r2").verdict, Verdict::gone);
  EXPECT_EQ(balance(account(terms)), "10 0 0 0");
}

TEST_P(ReservationContract, ARuleMayCommitWhatExpires) {
  const Terms terms = monthly(10);
  Reserve operation;
  operation.reservation = "r1";
  operation.legs = {terms};
  operation.amount = 6;
  operation.commit_on_expiry = true;
  run(operation);
  clock_.advance(60s);
  EXPECT_EQ(ledger_->sweep().value().reservations, 1);
  EXPECT_EQ(balance(account(terms)), "4 0 6 0");
}

TEST_P(ReservationContract, ExtendingAddsTimeAndUnits) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  clock_.advance(50s);
  const Answer extended = extend("r1", 60s, 3);
  EXPECT_EQ(extended.granted, 9);
  EXPECT_EQ(extended.expires, clock_.wall() + 60s);
  EXPECT_EQ(extend("r1", 0s, 2).verdict, Verdict::denied);
  EXPECT_EQ(account(terms).held, 9);
  clock_.advance(50s);
  EXPECT_EQ(commit("r1", 9).returned, 0);
  EXPECT_EQ(balance(account(terms)), "1 0 9 0");
}

TEST_P(ReservationContract, IsSettledInItsOwnPeriodUntilThatIsClosed) {
  const Terms march = monthly(10), april = next_month(march);
  const auto reserve_long = [&](const std::string& id) {
    Reserve operation;
    operation.reservation = id;
    operation.legs = {march};
    operation.amount = 5;
    operation.ttl = std::chrono::hours(24 * 60);
    run(operation);
  };
  reserve_long("r1");
  reserve_long("r2");
  clock_.set(kEnd + 1h);
  EXPECT_EQ(commit("r1", 3, {april}).verdict, Verdict::done);
  EXPECT_EQ(account(march).used, 3);
  clock_.set(kEnd + 25h);
  EXPECT_EQ(commit("r2", 3, {april}).verdict, Verdict::done);
  EXPECT_EQ(balance(account(march)), "7 0 3 0") << "closed";
  EXPECT_EQ(balance(account(april)), "7 0 3 0") << "an adjustment in the open period";
}

TEST_P(ReservationContract, ACommitAfterItsPeriodClosedSaysWhichAccountsNeedTermsAndDoesNothing) {
  const Terms march = monthly(10), april = next_month(march);
  Reserve operation;
  operation.reservation = "r1";
  operation.legs = {march};
  operation.amount = 5;
  operation.ttl = std::chrono::hours(24 * 60);
  run(operation);
  clock_.set(kEnd + 25h);
  const Answer refused = commit("r1", 3);
  EXPECT_EQ(refused.verdict, Verdict::closed);
  ASSERT_EQ(refused.accounts.size(), 1u);
  EXPECT_EQ(refused.accounts[0].key, march.key);
  EXPECT_EQ(balance(account(march)), "5 5 0 0") << "nothing was done";
  EXPECT_EQ(commit("r1", 3, {april}).verdict, Verdict::done);
  EXPECT_EQ(balance(account(march)), "10 0 0 0");
  EXPECT_EQ(balance(account(april)), "7 0 3 0");
}

TEST_P(ReservationContract, WithoutARuleAClosedPeriodIsNotCharged) {
  const Terms march = monthly(10);
  Reserve operation;
  operation.reservation = "r1";
  operation.legs = {march};
  operation.amount = 5;
  operation.ttl = std::chrono::hours(24 * 60);
  run(operation);
  clock_.set(kEnd + 25h);
  CommitReservation last;
  last.reservation = "r1";
  last.actual = 3;
  last.forgo_closed = true;
  EXPECT_EQ(run(last).uncharged, 3);
  EXPECT_EQ(balance(account(march)), "10 0 0 0");
}

TEST_P(ReservationContract, OneThatIsCommittedWhenItExpiresIsChargedInTheOpenPeriodIfItsOwnHasClosed) {
  const Terms march = monthly(10), april = next_month(march);
  for (const char* id : {"r1", "r2"}) {
    Reserve operation;
    operation.reservation = id;
    operation.legs = {march};
    operation.amount = 2;
    operation.commit_on_expiry = true;
    run(operation);
  }
  clock_.set(kEnd + 25h);
  EXPECT_EQ(commit("r1", 1).verdict, Verdict::gone) << "its time has passed";
  EXPECT_EQ(account(march).held, 4) << "it is settled by the sweep, which knows the open period";
  const auto open = [&](const Account& closed, TimePoint) -> std::optional<Terms> {
    EXPECT_EQ(closed.key, march.key);
    return april;
  };
  EXPECT_EQ(ledger_->sweep(100, open).value().reservations, 2);
  EXPECT_EQ(balance(account(march)), "10 0 0 0");
  EXPECT_EQ(balance(account(april)), "6 0 4 0");
  EXPECT_EQ(ledger_->sweep(100, open).value().reservations, 0);
}

TEST_P(ReservationContract, OpenReservationsSurviveARestart) {
  const Terms terms = monthly(10);
  reserve("r1", {terms}, 6);
  ledger_.reset();
  database_ = backend_.open({.writers = 2, .readers = 1});
  ledger_ = std::make_unique<Ledger>(*database_, clock_, LedgerOptions{.database_time = false, .committer = {}});
  EXPECT_EQ(commit("r1", 2).returned, 4);
  std::optional<Reservation> row;
  EXPECT_TRUE(succeeded(database_->run(database::Access::read, [&](database::Session& session) -> Status {
    auto read = read_reservation(session, "r1");
    if (!read.ok()) return read.failure();
    row = read.value();
    return success();
  })));
  EXPECT_EQ(row->state, ReservationState::committed);
  EXPECT_EQ(row->actual, 2);
}

}  // namespace
}  // namespace weir::ledger::tests
