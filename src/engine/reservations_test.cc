// Reservations through the engine: which rules follow the amount, handles, who closes, and what happens without the
// store.
#include "weir/reservations.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/engine.h"
#include "engine/rotating_limiter.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule tokens_rule(std::int64_t limit = 100) {
  Rule rule;
  rule.id = "tokens-per-minute";
  rule.match = {{"action", {"completion"}}};
  rule.per = {"user"};
  rule.cost.kind = CostModel::Kind::attribute;
  rule.cost.attribute = "tokens";
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = 60s};
  return rule;
}

Rule calls_rule(std::int64_t limit = 10) {
  Rule rule;
  rule.id = "calls";
  rule.per = {"user"};
  rule.cost.kind = CostModel::Kind::fixed;
  rule.cost.units = 1;
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 60s};
  return rule;
}

Rule active_rule(std::int64_t limit = 1) {
  Rule rule;
  rule.id = "active";
  rule.per = {"user"};
  rule.kind = ChargeKind::lease;
  rule.allowance.limit = limit;
  rule.lease = 30s;
  return rule;
}

// Answers `unavailable` while it is away.
class AwayStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (!away) return memory.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "away"; }
  bool away = false;
  memory::MemoryStore memory;
};

class ReservationsTest : public testing::Test {
 protected:
  void load(const std::vector<Rule>& rules) {
    book_ = std::make_shared<rules::RuleBook>();
    Rules all;
    all.rules = rules;
    const Status loaded = book_->replace(all);
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    engine_ = make({1, 2, 3});
  }
  std::unique_ptr<Engine> make(HashKey key) {
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = key;
    return std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>());
  }
  ReservationQuestion question(std::int64_t amount) {
    ReservationQuestion question;
    question.request = Request(attributes_);
    question.amount = amount;
    return question;
  }
  ReservationAnswer reserve(std::int64_t amount) { return holds().reserve(question(amount)); }
  ReservationLimiter& holds() { return *engine_->reservations(); }
  std::int64_t left(std::size_t rule = 0) {
    Request look(attributes_, {0});
    look.peek = true;
    return engine_->check(look).rules[rule].remaining;
  }

  const std::array<Attribute, 2> attributes_{Attribute{"user", "u1"}, Attribute{"action", "completion"}};
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<AwayStore> store_ = std::make_shared<AwayStore>();
  std::shared_ptr<rules::RuleBook> book_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(ReservationsTest, ReservesTheAmountAndSettlesTheActual) {
  load({tokens_rule(), calls_rule(), active_rule()});
  const ReservationAnswer made = reserve(60);
  ASSERT_EQ(made.fault, HoldFault::none) << made.message;
  EXPECT_TRUE(made.decision.allowed);
  EXPECT_TRUE(made.created);
  EXPECT_EQ(made.granted, 60);
  EXPECT_EQ(made.state, ReservationState::open);
  EXPECT_EQ(made.expires, clock_->now() + 60s);
  EXPECT_EQ(made.id.size(), 32U);
  EXPECT_TRUE(made.fencing_token);
  EXPECT_EQ(made.decision.rules[0].remaining, 40);
  EXPECT_EQ(made.decision.rules[0].cost, 60);
  EXPECT_EQ(made.decision.rules[1].remaining, 9) << "a fixed cost is its own";
  EXPECT_EQ(made.decision.rules[2].remaining, 0) << "and a concurrency rule gives one slot";
  EXPECT_EQ(reserve(10).decision.reason, Reason::concurrency_exceeded);

  const ReservationAnswer settled = holds().commit(made.handle, 25);
  ASSERT_EQ(settled.fault, HoldFault::none) << settled.message;
  EXPECT_EQ(settled.state, ReservationState::committed);
  EXPECT_EQ(settled.actual, 25);
  EXPECT_EQ(settled.returned, 35);
  EXPECT_EQ(settled.decision.rules[0].remaining, 75);
  EXPECT_FALSE(settled.replayed);
  EXPECT_EQ(left(0), 75);
  EXPECT_EQ(left(1), 9);
  EXPECT_EQ(left(2), 1);
}

TEST_F(ReservationsTest, TheExampleOfTheReturnThatWouldAdmitTooMuch) {
  load({tokens_rule()});
  const ReservationAnswer made = reserve(100);
  clock_->advance(60s);
  EXPECT_EQ(holds().extend(made.handle, 60s).fault, HoldFault::gone) << "its time is over";
  ReservationQuestion longer = question(100);
  longer.ttl = 300s;
  const ReservationAnswer again = holds().reserve(longer);
  ASSERT_TRUE(again.decision.allowed);
  clock_->advance(60s);
  EXPECT_TRUE(engine_->check(Request(attributes_, {100})).allowed);
  EXPECT_EQ(holds().commit(again.handle, 0).returned, 0);
  EXPECT_FALSE(engine_->check(Request(attributes_, {1})).allowed);
}

TEST_F(ReservationsTest, IsClosedOnceAndTheOtherCloserIsTold) {
  load({tokens_rule()});
  const std::string handle = reserve(60).handle;
  EXPECT_EQ(holds().commit(handle, 10).returned, 50);
  const ReservationAnswer replay = holds().commit(handle, 99);
  EXPECT_EQ(replay.fault, HoldFault::none);
  EXPECT_TRUE(replay.replayed);
  EXPECT_EQ(replay.actual, 10);
  EXPECT_EQ(replay.returned, 50);
  const ReservationAnswer late = holds().release(handle);
  EXPECT_EQ(late.fault, HoldFault::closed);
  EXPECT_EQ(late.state, ReservationState::committed);
  EXPECT_NE(late.message.find("committed"), std::string::npos);
  EXPECT_EQ(holds().extend(handle, 5s).fault, HoldFault::closed);
  EXPECT_EQ(holds().get(handle).state, ReservationState::committed);
  EXPECT_EQ(left(), 90);
}

TEST_F(ReservationsTest, AnExpiredOneCostsNothingAndCommittingItSaysWhatToDo) {
  load({tokens_rule()});
  const std::string handle = reserve(60).handle;
  clock_->advance(60s);
  const ReservationAnswer shown = holds().get(handle);
  EXPECT_EQ(shown.state, ReservationState::expired);
  EXPECT_EQ(shown.granted, 60);
  EXPECT_EQ(shown.returned, 60);
  const ReservationAnswer late = holds().commit(handle, 10);
  EXPECT_EQ(late.fault, HoldFault::gone);
  EXPECT_NE(late.message.find("as usage (POST /v1/usage)"), std::string::npos);
  EXPECT_EQ(left(), 100);
  clock_->advance(60s);
  EXPECT_EQ(holds().get(handle).fault, HoldFault::gone);
}

TEST_F(ReservationsTest, MoreThanTheOverdraftIsReportedAndCounted) {
  Rule rule = tokens_rule();
  rule.overdraft = 50;
  load({rule});
  const std::string handle = reserve(100).handle;
  const ReservationAnswer settled = holds().commit(handle, 180);
  EXPECT_EQ(settled.debt, 50);
  EXPECT_EQ(settled.uncharged, 30);
  EXPECT_EQ(engine_->uncharged_units(), 30U);
  holds().commit(handle, 180);
  EXPECT_EQ(engine_->uncharged_units(), 30U) << "a replay counts nothing";
  EXPECT_GT(engine_->check(Request(attributes_, {1})).retry_after, 30s);
}

TEST_F(ReservationsTest, ARuleCanChargeWhatWasNeverSettled) {
  Rule rule = tokens_rule();
  rule.on_expiry = ExpiryPolicy::commit;
  rule.allowance.window = 3'600s;
  load({rule});
  reserve(60);
  clock_->advance(60s);
  EXPECT_LT(left(), 45);
}

TEST_F(ReservationsTest, GrowsInTimeAndAmountWhileTheWorkGoesOn) {
  load({tokens_rule(), calls_rule()});
  const std::string handle = reserve(40).handle;
  const ReservationAnswer grown = holds().extend(handle, 120s, 30);
  ASSERT_EQ(grown.fault, HoldFault::none) << grown.message;
  EXPECT_TRUE(grown.decision.allowed);
  EXPECT_EQ(grown.granted, 70);
  EXPECT_EQ(grown.expires, clock_->now() + 120s);
  const ReservationAnswer denied = holds().extend(handle, 0s, 31);
  EXPECT_EQ(denied.fault, HoldFault::none);
  EXPECT_FALSE(denied.decision.allowed);
  EXPECT_EQ(denied.decision.reason, Reason::limit_exceeded);
  EXPECT_EQ(denied.decision.decisive()->rule, "tokens-per-minute");
  EXPECT_GT(denied.decision.retry_after, 0s);
  EXPECT_EQ(left(1), 9) << "a cost of its own is charged once";
  EXPECT_EQ(holds().commit(handle, 70).returned, 0);
}

TEST_F(ReservationsTest, PartialAndDryRun) {
  load({tokens_rule()});
  ReservationQuestion asked = question(150);
  EXPECT_EQ(holds().reserve(asked).decision.reason, Reason::cost_too_large);
  asked.partial = true;
  asked.dry_run = true;
  const ReservationAnswer would = holds().reserve(asked);
  EXPECT_TRUE(would.decision.allowed);
  EXPECT_EQ(would.granted, 100);
  EXPECT_TRUE(would.handle.empty());
  EXPECT_EQ(left(), 100);
  asked.dry_run = false;
  EXPECT_EQ(holds().reserve(asked).granted, 100);
  EXPECT_FALSE(holds().reserve(asked).decision.allowed);
}

TEST_F(ReservationsTest, AnIdOfTheClientMakesItIdempotent) {
  load({tokens_rule()});
  ReservationQuestion asked = question(30);
  asked.id = "job-7";
  asked.caller = "worker";
  const ReservationAnswer first = holds().reserve(asked);
  asked.amount = 50;
  const ReservationAnswer other = holds().reserve(asked);
  EXPECT_EQ(other.fault, HoldFault::other_body);
  EXPECT_NE(other.message.find("another amount"), std::string::npos);
  asked.amount = 30;
  const ReservationAnswer again = holds().reserve(asked);
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.granted, 30);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(left(), 70);
  EXPECT_EQ(holds().commit(again.handle, 10).returned, 20);
  const ReservationAnswer gone = holds().reserve(asked);
  EXPECT_EQ(gone.fault, HoldFault::gone);
  EXPECT_NE(gone.message.find("committed"), std::string::npos);
  asked.caller = "other";
  EXPECT_TRUE(holds().reserve(asked).created);
}

TEST_F(ReservationsTest, BadInputChangesNothing) {
  load({tokens_rule()});
  ReservationQuestion asked = question(-1);
  EXPECT_EQ(holds().reserve(asked).fault, HoldFault::invalid);
  asked.amount = std::int64_t{1} << 62;
  EXPECT_EQ(holds().reserve(asked).fault, HoldFault::invalid);
  asked.amount = 1;
  asked.ttl = 1ms;
  EXPECT_EQ(holds().reserve(asked).fault, HoldFault::invalid);
  asked.ttl = 25h;
  EXPECT_EQ(holds().reserve(asked).fault, HoldFault::invalid);
  asked.ttl = 0s;
  asked.amount.reset();
  EXPECT_NE(holds().reserve(asked).message.find("estimate"), std::string::npos);
  EXPECT_EQ(holds().commit("x", 1).fault, HoldFault::forged);
  EXPECT_EQ(holds().commit(engine_->leases()->acquire({.request = Request(attributes_)}).handle, 1).fault,
            HoldFault::forged)
      << "nor is a lease a reservation";
  EXPECT_EQ(engine_->forged_handles(), 2U);
  const std::string handle = reserve(10).handle;
  EXPECT_EQ(holds().commit(handle, -1).fault, HoldFault::invalid);
  EXPECT_EQ(holds().get(handle).state, ReservationState::open);
}

TEST_F(ReservationsTest, AnEstimateIsLearnedFromWhatWasSettled) {
  Rule rule = tokens_rule(1'000);
  rule.estimate = Estimate{.by = "action", .quantile = 95, .initial = 200, .most = 50};
  load({rule, calls_rule(100)});
  ReservationQuestion asked;
  asked.request = Request(attributes_);
  const auto settle = [&](std::int64_t actual) {
    const ReservationAnswer made = holds().reserve(asked);
    EXPECT_EQ(holds().commit(made.handle, actual).state, ReservationState::committed);
    clock_->advance(60s);
    return made.estimated;
  };
  EXPECT_EQ(settle(10), 200) << "nothing is learned yet";
  EXPECT_EQ(settle(10), 10);
  for (int i = 0; i < 20; ++i) settle(12);
  EXPECT_EQ(settle(10), 12);
  for (int i = 0; i < 100; ++i) settle(900);
  EXPECT_EQ(settle(900), 500) << "never more than half of the limit";
  const std::array<Attribute, 3> others{Attribute{"user", "u2"}, Attribute{"action", "completion"},
                                        Attribute{"action", "other"}};
  asked.request = Request(others);
  EXPECT_EQ(settle(1), 200) << "another value is learned apart";
  asked.amount = 60;
  const ReservationAnswer told = holds().reserve(asked);
  EXPECT_EQ(told.estimated, 0);
}

TEST_F(ReservationsTest, HowWrongEstimatesAreIsCounted) {
  Rule rule = tokens_rule();
  rule.estimate = Estimate{.by = "", .quantile = 95, .initial = 40, .most = 100};
  load({rule});
  ReservationQuestion asked;
  asked.request = Request(attributes_);
  holds().commit(holds().reserve(asked).handle, 25);
  const auto errors = engine_->estimates().errors();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].rule, "tokens-per-minute");
  EXPECT_EQ(errors[0].settled, 1U);
  EXPECT_EQ(errors[0].over, 15U);
  holds().commit(reserve(50).handle, 1);
  EXPECT_EQ(engine_->estimates().errors()[0].settled, 1U) << "an amount is no estimate";
}

TEST_F(ReservationsTest, ListsTheOpenOnesOfASubject) {
  load({tokens_rule(), calls_rule()});
  const std::string handle = reserve(40).handle;
  holds().extend(handle, 0s, 10);
  ReservationQuestion asked;
  asked.verb = ReservationQuestion::Verb::list;
  asked.request = Request(attributes_);
  const ReservationAnswer listed = holds().ask(asked);
  ASSERT_EQ(listed.list.size(), 2U);
  EXPECT_EQ(listed.list[0].rule, "tokens-per-minute");
  EXPECT_EQ(listed.list[0].units, 50);
  EXPECT_EQ(listed.list[1].units, 1);
  EXPECT_EQ(listed.list[0].id, listed.list[1].id);
  holds().release(handle);
  EXPECT_TRUE(holds().ask(asked).list.empty());
}

TEST_F(ReservationsTest, CallsAreCountedByHowTheyEnded) {
  load({tokens_rule(), active_rule()});
  using Call = HoldCounts::Call;
  using Result = HoldCounts::Result;
  const auto counted = [&](Call call, Result result) { return engine_->hold_counts().total(call, result); };
  const std::string handle = reserve(40).handle;
  EXPECT_FALSE(reserve(10).decision.allowed);
  holds().extend(handle, 90s);
  holds().commit(handle, 25);
  holds().release(handle);
  holds().get(handle);
  EXPECT_EQ(counted(Call::reserve, Result::done), 1U);
  EXPECT_EQ(counted(Call::reserve, Result::denied), 1U);
  EXPECT_EQ(counted(Call::extend, Result::done), 1U);
  EXPECT_EQ(counted(Call::commit, Result::done), 1U);
  EXPECT_EQ(counted(Call::release, Result::refused), 1U) << "it was committed";
  store_->away = true;
  holds().commit(handle, 25);
  EXPECT_EQ(counted(Call::commit, Result::unavailable), 1U);
  const LeaseAnswer lease = engine_->leases()->acquire({.request = Request(attributes_)});
  EXPECT_EQ(counted(Call::acquire, Result::done), 1U);
  EXPECT_EQ(counted(Call::release_lease, Result::done), 0U);
}

TEST_F(ReservationsTest, TheHandleOfAListEndsItInEveryRule) {
  load({tokens_rule(), calls_rule(), active_rule()});
  const std::string own = reserve(40).handle;
  ReservationQuestion asked;
  asked.verb = ReservationQuestion::Verb::list;
  asked.request = Request(attributes_);
  const ReservationAnswer listed = holds().ask(asked);
  ASSERT_EQ(listed.list.size(), 2U);
  EXPECT_EQ(listed.list[0].handle, listed.list[1].handle) << "one reservation, one handle";
  const ReservationAnswer released = holds().release(listed.list[0].handle);
  EXPECT_EQ(released.fault, HoldFault::none) << released.message;
  EXPECT_EQ(released.returned, 40);
  EXPECT_EQ(left(0), 100);
  EXPECT_EQ(left(1), 10);
  EXPECT_EQ(left(2), 1) << "the slot is free too";
  EXPECT_EQ(holds().commit(own, 40).fault, HoldFault::closed) << "its holder is told";
  EXPECT_TRUE(holds().release(listed.list[0].handle).replayed);
}

TEST_F(ReservationsTest, WhatOthersHoldOfASharedBucketHasNoHandle) {
  Rule everyone = calls_rule(1'000);
  everyone.id = "everyone";
  everyone.per.clear();
  load({tokens_rule(), everyone});
  const std::string own{std::string_view(reserve(40).id)};
  const std::array<Attribute, 2> others{Attribute{"user", "u2"}, Attribute{"action", "completion"}};
  ReservationQuestion theirs = question(10);
  theirs.request = Request(others);
  const std::string other{std::string_view(holds().reserve(theirs).id)};
  ReservationQuestion asked;
  asked.verb = ReservationQuestion::Verb::list;
  asked.request = Request(attributes_);
  const ReservationAnswer listed = holds().ask(asked);
  ASSERT_EQ(listed.list.size(), 3U);
  for (const ListedReservation& each : listed.list) EXPECT_EQ(each.handle.empty(), each.id == other) << each.rule;
  EXPECT_EQ(listed.list[0].id, own);
}

TEST_F(ReservationsTest, TheHandleOfAListHasTheSamePartsAsItsOwn) {
  load({calls_rule(), tokens_rule()});
  reserve(40);
  ReservationQuestion asked;
  asked.verb = ReservationQuestion::Verb::list;
  asked.request = Request(attributes_);
  const ReservationAnswer settled = holds().commit(holds().ask(asked).list[0].handle, 25);
  EXPECT_EQ(settled.fault, HoldFault::none) << settled.message;
  EXPECT_EQ(settled.returned, 15);
  EXPECT_EQ(left(0), 9) << "a fixed cost stays";
  EXPECT_EQ(left(1), 75) << "the other follows the amount";
}

TEST_F(ReservationsTest, WithoutTheStoreThePolicyAnswers) {
  Rule rule = tokens_rule();
  rule.on_store_failure = FailurePolicy::allow;
  load({rule});
  store_->away = true;
  const ReservationAnswer made = reserve(40);
  EXPECT_TRUE(made.decision.allowed);
  EXPECT_TRUE(made.decision.degraded);
  EXPECT_EQ(made.granted, 40);
  EXPECT_EQ(holds().commit(made.handle, 10).fault, HoldFault::unavailable);
  store_->away = false;
  EXPECT_EQ(holds().commit(made.handle, 10).fault, HoldFault::gone);
}

TEST_F(ReservationsTest, WithoutTheStoreALocalShareIsCountedInFull) {
  Rule rule = tokens_rule();
  rule.on_store_failure = FailurePolicy::local;
  load({rule});
  store_->away = true;
  EXPECT_TRUE(reserve(40).decision.allowed);
  EXPECT_FALSE(reserve(40).decision.allowed) << "half of the limit on this node";
}

TEST_F(ReservationsTest, AnyNodeWithTheSameKeyCanSettle) {
  load({tokens_rule()});
  const std::string handle = reserve(40).handle;
  book_ = std::make_shared<rules::RuleBook>();  // has never seen the rule
  EXPECT_EQ(make({1, 2, 4})->reservations()->commit(handle, 5).fault, HoldFault::forged);
  EXPECT_EQ(make({1, 2, 3})->reservations()->commit(handle, 5).returned, 35);
  EXPECT_EQ(left(), 95);
}

TEST_F(ReservationsTest, IsTakenUnderBothKeysWhileTheyAreRotated) {
  load({tokens_rule()});
  const auto after = make({9, 9, 9});
  RotatingLimiter both(*engine_, *after);
  const auto look = [&](Engine& engine) {
    Request peek(attributes_, {0});
    peek.peek = true;
    return engine.check(peek).rules[0].remaining;
  };
  const std::string handle = both.reservations()->reserve(question(60)).handle;
  EXPECT_EQ(look(*engine_), 40);
  EXPECT_EQ(look(*after), 40);
  EXPECT_EQ(both.reservations()->extend(handle, 90s, 10).granted, 70);
  EXPECT_EQ(both.reservations()->commit(handle, 20).returned, 50);
  EXPECT_EQ(look(*engine_), 80);
  EXPECT_EQ(look(*after), 80);
  EXPECT_TRUE(after->check(Request(attributes_, {80})).allowed);
  EXPECT_FALSE(both.reservations()->reserve(question(10)).decision.allowed);
  EXPECT_EQ(look(*engine_), 80) << "what only the previous key gave is given back";
}

}  // namespace
}  // namespace weir::engine
