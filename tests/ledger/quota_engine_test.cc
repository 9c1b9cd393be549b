// Quota rules in a limiter, on a ledger: one decision with the other rules, all or none.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <utility>

#include "tests/ledger/quota_engine_fixture.h"
#include "weir/prepared_check.h"
#include "weir/reservations.h"
#include "weir/usage.h"

namespace weir::ledger::tests {
namespace {

TEST_P(QuotaEngine, AdmitsExactlyTheLimitAndSaysWhyAndUntilWhenItDenies) {
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 20, mode), rate(1000)});
    int admitted = 0;
    for (int i = 0; i < 30; ++i) admitted += check().allowed ? 1 : 0;
    EXPECT_EQ(admitted, 20);
    const Decision denied = check();
    EXPECT_EQ(denied.reason, Reason::quota_exceeded);
    ASSERT_NE(denied.decisive(), nullptr);
    EXPECT_EQ(denied.decisive()->rule, id);
    EXPECT_EQ(denied.decisive()->remaining, 0);
    EXPECT_EQ(denied.retry_after, kEnd - denied.at);
    EXPECT_EQ(check(21).reason, Reason::cost_too_large);
    await([&] { return of(id).used == 20; });
    EXPECT_EQ(balance(of(id)), "0 0 20 0");
  }
}

// A store that other nodes share: it admits everything, and answers a call again that it has answered before.
class SharedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    call.replayed = call.once && !answered_.insert({call.once.id.high, call.once.id.low}).second;
    if (!call.replayed && call.action == Action::take) ++charged;
    for (ChargeOutcome& outcome : call.outcomes) outcome = {.admitted = true, .remaining = 1};
    return true;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "shared"; }

  int charged = 0;

 private:
  std::set<std::pair<std::uint64_t, std::uint64_t>> answered_;
};

TEST_P(QuotaEngine, ARequestThatTheStoreHasAnsweredBeforeTakesNoMoreOfALeasedQuota) {
  const auto store = std::make_shared<SharedStore>();
  use({quota("leased", 100, Enforcement::leased), rate(1000)}, store);
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  Request request(attributes, Cost{5});
  request.once = {{1, 2}, std::chrono::hours(1)};
  EXPECT_TRUE(limiter_->check(request).allowed);
  const Decision again = limiter_->check(request);
  EXPECT_TRUE(again.allowed);
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(store->charged, 1);
  await([&] { return of("leased").used == 5 && of("leased").held == 0; });
  EXPECT_EQ(balance(of("leased")), "95 0 5 0");
}

TEST_P(QuotaEngine, LeavesTheStoreAloneIfTheQuotaDeniesAndTheQuotaIfTheStoreDoes) {
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 3, mode), rate(1000)});
    for (int i = 0; i < 10; ++i) check();
    std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
    Request look(attributes);
    look.peek = true;
    EXPECT_EQ(limiter_->check(look).rules[1].remaining, 997) << id;
    use({quota(id + "-2", 10, mode), rate(4)});
    int admitted = 0;
    for (int i = 0; i < 10; ++i) admitted += check().allowed ? 1 : 0;
    EXPECT_EQ(admitted, 4);
    await([&] { return of(id + "-2").used == 4 && of(id + "-2").held == 0; });
    EXPECT_EQ(balance(of(id + "-2")), "6 0 4 0") << id;
  }
}

TEST_P(QuotaEngine, AShadowQuotaGoesOnCountingBeyondItsLimit) {
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    Rule shadow = quota(id, 5, mode);
    shadow.mode = Mode::shadow;
    use({shadow, quota("all-" + id, 100, mode)});
    for (int i = 0; i < 8; ++i) {
      const Decision decision = check();
      EXPECT_TRUE(decision.allowed);
      EXPECT_EQ(decision.rules[0].allowed, i < 5) << i;
    }
    await([&] { return of(id).used == 8 && of(id).held == 0; });
    EXPECT_EQ(of(id).overage, 3);
    const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
    const ReservationAnswer held = limiter_->reservations()->reserve({.request = Request(attributes), .amount = 10});
    EXPECT_TRUE(held.decision.allowed);
    EXPECT_EQ(of(id).held, 10);
    await([&] { return of("all-" + id).used == 8; });
    EXPECT_GE(of("all-" + id).held, 10) << "what is enforced is held beside it";
    EXPECT_EQ(limiter_->reservations()->commit(held.handle, 10).state, weir::ReservationState::committed);
    EXPECT_EQ(of(id).used, 18);
  }
}

TEST_P(QuotaEngine, ChargesAHierarchyWhollyOrNotAtAll) {
  use({quota("tenant", 10, Enforcement::leased), quota("user", 4, Enforcement::strict, {"tenant", "user"})});
  int admitted = 0;
  for (int i = 0; i < 6; ++i) admitted += check(1, "a").allowed ? 1 : 0;
  EXPECT_EQ(admitted, 4);
  for (int i = 0; i < 6; ++i) admitted += check(1, "b").allowed ? 1 : 0;
  EXPECT_EQ(admitted, 8);
  for (int i = 0; i < 6; ++i) admitted += check(1, "c").allowed ? 1 : 0;
  EXPECT_EQ(admitted, 10);
  await([&] { return of("tenant").used == 10; });
  EXPECT_EQ(of("user", "tenant=acme,user=a").used, 4);
  EXPECT_EQ(of("user", "tenant=acme,user=c").used, 2);
}

TEST_P(QuotaEngine, DecidesBatchesOfQuotasAndPreparedChecks) {
  use({quota("q", 10, Enforcement::leased), rate(1000)});
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  std::vector<Request> requests(8, Request(attributes));
  std::vector<Decision> decisions(8);
  limiter_->check_batch(requests, decisions);
  EXPECT_EQ(std::count_if(decisions.begin(), decisions.end(), [](const Decision& each) { return each.allowed; }), 8);
  const auto prepared = limiter_->prepare({{"tenant", "acme"}});
  EXPECT_TRUE(prepared->check(Cost{1}).allowed);
  EXPECT_TRUE(prepared->check(Cost{1}).allowed);
  EXPECT_FALSE(prepared->check(Cost{1}).allowed);
}

TEST_P(QuotaEngine, IsNotExceededByManyThreads) {
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 500, mode), rate(100'000)});
    std::atomic<int> admitted{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 200; ++i) admitted += check().allowed ? 1 : 0;
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(admitted, 500) << id;
    await([&] { return of(id).used == 500; });
  }
}

TEST_P(QuotaEngine, HoldsQuotaForReservationsAndSettlesIt) {
  use({quota("q", 100, Enforcement::leased), rate(1000)});
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  ReservationLimiter& budget = *limiter_->reservations();
  const ReservationAnswer made = budget.reserve({.request = Request(attributes), .amount = 40});
  ASSERT_TRUE(made.decision.allowed) << made.message;
  EXPECT_EQ(balance(of("q")), "60 40 0 0");
  const ReservationAnswer denied = budget.reserve({.request = Request(attributes), .amount = 61});
  EXPECT_EQ(denied.decision.reason, Reason::quota_exceeded);
  const ReservationAnswer more = budget.extend(made.handle, std::chrono::seconds(90), 10);
  EXPECT_EQ(more.fault, HoldFault::none) << more.message;
  EXPECT_EQ(balance(of("q")), "50 50 0 0");
  const ReservationAnswer settled = budget.commit(made.handle, 25);
  EXPECT_EQ(settled.fault, HoldFault::none) << settled.message;
  EXPECT_EQ(settled.state, weir::ReservationState::committed);
  EXPECT_EQ(settled.returned, 25);
  EXPECT_EQ(balance(of("q")), "75 0 25 0");
  EXPECT_TRUE(budget.commit(made.handle, 25).replayed);
  EXPECT_EQ(budget.release(made.handle).fault, HoldFault::closed);
  const ReservationAnswer part = budget.reserve({.request = Request(attributes), .amount = 500, .partial = true});
  EXPECT_EQ(part.granted, 75);
  EXPECT_EQ(budget.release(part.handle).fault, HoldFault::none);
  EXPECT_EQ(balance(of("q")), "75 0 25 0");
}

TEST_P(QuotaEngine, AListedReservationIsEndedInTheLedgerToo) {
  use({quota("q", 100, Enforcement::leased), rate(1000)});
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  ReservationLimiter& budget = *limiter_->reservations();
  const ReservationAnswer made = budget.reserve({.request = Request(attributes), .amount = 40});
  ASSERT_TRUE(made.decision.allowed) << made.message;
  const ReservationQuestion list{.verb = ReservationQuestion::Verb::list, .request = Request(attributes)};
  const ReservationAnswer listed = budget.ask(list);
  ASSERT_EQ(listed.list.size(), 1U);
  const ReservationAnswer ended = budget.release(listed.list[0].handle);
  EXPECT_EQ(ended.fault, HoldFault::none) << ended.message;
  EXPECT_EQ(balance(of("q")), "100 0 0 0");
  EXPECT_TRUE(budget.ask(list).list.empty());
  EXPECT_EQ(budget.commit(made.handle, 40).fault, HoldFault::closed);
}

// Which rules it was made under is not known when it is listed: here it is listed with one attribute more.
TEST_P(QuotaEngine, AListedReservationThatTheLedgerDoesNotKnowIsEndedInTheStore) {
  Rule billed = quota("q", 100, Enforcement::leased);
  billed.match = {{"billed", {"yes"}}};
  use({rate(1000), billed});
  const std::array<Attribute, 2> attributes = {Attribute{"tenant", "acme"}, Attribute{"billed", "yes"}};
  ReservationLimiter& budget = *limiter_->reservations();
  const Request unbilled{std::span<const Attribute>(attributes).first(1)};
  ASSERT_TRUE(budget.reserve({.request = unbilled, .amount = 40}).decision.allowed);
  const ReservationQuestion list{.verb = ReservationQuestion::Verb::list, .request = Request(attributes)};
  const ReservationAnswer listed = budget.ask(list);
  ASSERT_EQ(listed.list.size(), 1U);
  const ReservationAnswer ended = budget.release(listed.list[0].handle);
  EXPECT_EQ(ended.fault, HoldFault::none) << ended.message;
  EXPECT_EQ(ended.returned, 40);
  EXPECT_TRUE(budget.ask(list).list.empty());
}

TEST_P(QuotaEngine, RefundsAtMostWhatWasUsedAndNeverResets) {
  use({quota("q", 10, Enforcement::strict)});
  for (int i = 0; i < 4; ++i) check();
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  limiter_->refund(Request(attributes, Cost{3}));
  EXPECT_EQ(of("q").used, 1);
  limiter_->refund(Request(attributes, Cost{3}));
  EXPECT_EQ(balance(of("q")), "10 0 0 0");
  check();
  limiter_->reset(Request(attributes));
  EXPECT_EQ(of("q").used, 1);
}

TEST_P(QuotaEngine, RecordsUsageThatHasHappenedOnce) {
  use({quota("q", 10, Enforcement::leased), rate(5)});
  auto* const recorder = dynamic_cast<UsageRecorder*>(limiter_.get());
  ASSERT_NE(recorder, nullptr);
  const std::array<Attribute, 1> attributes = {Attribute{"tenant", "acme"}};
  const auto record = [&](std::string_view id) {
    std::promise<UsageAnswer> told;
    recorder->record({.request = Request(attributes), .amount = 12, .id = id},
                     [&](const UsageAnswer& answer) { told.set_value(answer); });
    return told.get_future().get();
  };
  const UsageAnswer first = record("job-1");
  EXPECT_EQ(first.status, Code::ok) << first.message;
  EXPECT_EQ(first.overage, 2);
  EXPECT_FALSE(first.replayed);
  EXPECT_TRUE(record("job-1").replayed);
  EXPECT_EQ(of("q").used, 12);
  EXPECT_FALSE(check().allowed);
}

INSTANTIATE_TEST_SUITE_P(Both, QuotaEngine, kBothDatabases, dialect_name);

}  // namespace
}  // namespace weir::ledger::tests
