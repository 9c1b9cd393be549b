// Leases and reservations under quota rules: what they take and hold in the ledger agrees with what the store has.
#include <array>
#include <memory>
#include <string>
#include <utility>

#include "stores/memory/memory_store.h"
#include "tests/ledger/quota_engine_fixture.h"
#include "weir/leases.h"
#include "weir/reservations.h"

namespace weir::ledger::tests {
namespace {

class QuotaHolds : public QuotaEngine {
 protected:
  LeaseAnswer acquire(std::string_view id) {
    return limiter_->leases()->acquire({.request = Request(attributes_), .id = id});
  }
  ReservationLimiter& budget() { return *limiter_->reservations(); }
  ReservationAnswer reserve(std::int64_t amount, bool partial = false, bool dry_run = false) {
    return budget().reserve(
        {.request = Request(attributes_), .amount = amount, .partial = partial, .dry_run = dry_run});
  }
  ReservationAnswer extend(const ReservationAnswer& made, std::int64_t add, bool partial = false, Duration ttl = {}) {
    return budget().ask({.verb = ReservationQuestion::Verb::extend,
                         .amount = add,
                         .ttl = ttl,
                         .partial = partial,
                         .handle = made.handle});
  }

  const std::array<Attribute, 1> attributes_ = {Attribute{"tenant", "acme"}};
};

TEST_P(QuotaHolds, ALeaseThatIsAcquiredAgainWithItsIdIsBilledOnce) {
  for (const Enforcement mode : {Enforcement::strict, Enforcement::leased}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 5, mode), slots(20)});
    const LeaseAnswer first = acquire("job-1");
    ASSERT_TRUE(first.created) << first.message;
    for (int i = 0; i < 3; ++i) {
      const LeaseAnswer again = acquire("job-1");
      EXPECT_TRUE(again.decision.allowed);
      EXPECT_FALSE(again.created);
      EXPECT_EQ(again.fencing_token, first.fencing_token);
    }
    await([&] { return of(id).used == 1; });
    for (int i = 2; i <= 5; ++i) EXPECT_TRUE(acquire("job-" + std::to_string(i)).created);
    EXPECT_EQ(acquire("job-6").decision.reason, Reason::quota_exceeded);
    const LeaseAnswer used_up = acquire("job-1");
    EXPECT_TRUE(used_up.decision.allowed) << "it asks for nothing of the quota";
    EXPECT_EQ(used_up.fencing_token, first.fencing_token);
    EXPECT_EQ(limiter_->leases()->release(first.handle).fault, HoldFault::none);
    EXPECT_EQ(acquire("job-1").fault, HoldFault::gone);
    await([&] { return of(id).used == 5; });
    EXPECT_EQ(balance(of(id)), "0 0 5 0");
  }
}

// Another node acquires with the same id after this one has looked for it, and before this one's take.
class RacingStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    if (call.hold != nullptr && call.action == Action::take && race) {
      race = false;
      HoldStep other = *call.hold;
      HoldStep* const own = std::exchange(call.hold, &other);
      EXPECT_TRUE(memory.begin(call));
      call.hold = own;
    }
    return memory.begin(call);
  }
  bool immediate() const override { return true; }
  std::string_view name() const override { return "racing"; }

  bool race = true;
  memory::MemoryStore memory;
};

TEST_P(QuotaHolds, OfTwoNodesThatAcquireWithOneIdAtTheSameTimeOneIsBilled) {
  for (const Enforcement mode : {Enforcement::strict, Enforcement::leased}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 5, mode), slots(20)}, std::make_shared<RacingStore>());
    const LeaseAnswer second = acquire("job-1");
    EXPECT_TRUE(second.decision.allowed);
    EXPECT_FALSE(second.created);
    EXPECT_TRUE(acquire("job-2").created);
    await([&] { return of(id).used == 1 && of(id).held == 0; });
  }
}

TEST_P(QuotaHolds, APartialReservationHoldsAsMuchOfTheQuotaAsTheOtherRulesGrant) {
  Rule expiring = quota("q", 50, Enforcement::strict);
  expiring.on_expiry = ExpiryPolicy::commit;
  use({expiring, quota("leased", 45, Enforcement::leased), rate(12)});
  const ReservationAnswer made = reserve(40, true);
  ASSERT_TRUE(made.decision.allowed) << made.message;
  EXPECT_EQ(made.granted, 12);
  EXPECT_EQ(budget().get(made.handle).granted, 12);
  EXPECT_EQ(balance(of("q")), "38 12 0 0");
  EXPECT_EQ(balance(of("leased")), "33 12 0 0");
  EXPECT_EQ(made.decision.rules[0].remaining, 38);
  const ReservationAnswer settled = budget().commit(made.handle, 7);
  EXPECT_EQ(settled.returned, 5);
  EXPECT_EQ(balance(of("q")), "43 0 7 0");
  EXPECT_EQ(reserve(6, true).granted, 5);
  EXPECT_EQ(reserve(6, true).decision.reason, Reason::limit_exceeded);
  await([&] { return of("q").held == 5; });
}

TEST_P(QuotaHolds, AnExtensionAddsTheSameUnderEveryRuleOrNothing) {
  use({quota("q", 50, Enforcement::strict), rate(1000)});
  const ReservationAnswer made = reserve(10);
  EXPECT_EQ(extend(made, 5).granted, 15);
  const ReservationAnswer rest = extend(made, 100, true);
  EXPECT_TRUE(rest.decision.allowed);
  EXPECT_EQ(rest.granted, 50);
  EXPECT_EQ(balance(of("q")), "0 50 0 0");
  EXPECT_EQ(rest.decision.rules[0].remaining, 950) << "of the bucket";
  for (const bool partial : {true, false}) {
    const ReservationAnswer denied = extend(made, 1, partial, std::chrono::hours(1));
    EXPECT_FALSE(denied.decision.allowed);
    EXPECT_EQ(denied.decision.reason, Reason::quota_exceeded);
    EXPECT_EQ(denied.decision.decisive()->rule, "q");
    EXPECT_GT(denied.decision.retry_after, Duration::zero());
    EXPECT_EQ(denied.granted, 50);
    EXPECT_EQ(denied.expires, made.expires);
  }
  const ReservationAnswer settled = budget().release(made.handle);
  EXPECT_EQ(settled.returned, 50) << "the bucket has not taken more than the quota";
  EXPECT_EQ(balance(of("q")), "50 0 0 0");
}

TEST_P(QuotaHolds, AnExtensionThatABucketCutsOrDeniesIsNotHeldInTheLedgerEither) {
  use({quota("q", 500, Enforcement::strict), rate(30)});
  const ReservationAnswer made = reserve(10);
  const ReservationAnswer denied = extend(made, 25, false, std::chrono::hours(1));
  EXPECT_EQ(denied.decision.reason, Reason::limit_exceeded);
  EXPECT_EQ(denied.granted, 10);
  EXPECT_EQ(balance(of("q")), "490 10 0 0");
  EXPECT_EQ(budget().get(made.handle).expires, made.expires);
  const ReservationAnswer cut = extend(made, 100, true);
  EXPECT_TRUE(cut.decision.allowed);
  EXPECT_EQ(cut.granted, 30);
  EXPECT_EQ(budget().get(made.handle).granted, 30);
  EXPECT_EQ(balance(of("q")), "470 30 0 0");
  EXPECT_EQ(budget().commit(made.handle, 30).state, weir::ReservationState::committed);
  EXPECT_EQ(balance(of("q")), "470 0 30 0");
}

TEST_P(QuotaHolds, ADryRunOfAPartSaysWhatTheCallWouldGrant) {
  for (const Enforcement mode : {Enforcement::strict, Enforcement::leased}) {
    const std::string id = mode == Enforcement::leased ? "leased" : "strict";
    use({quota(id, 50, mode)});
    const ReservationAnswer looked = reserve(100, true, true);
    EXPECT_TRUE(looked.decision.allowed);
    EXPECT_EQ(looked.granted, 50);
    const ReservationAnswer made = reserve(100, true);
    EXPECT_EQ(made.granted, 50);
    EXPECT_EQ(reserve(100, true, true).decision.reason, Reason::quota_exceeded);
    EXPECT_EQ(reserve(100, true).decision.reason, Reason::quota_exceeded);
    EXPECT_EQ(reserve(100, false, true).decision.reason, Reason::cost_too_large);
  }
}

TEST_P(QuotaHolds, AReservationThatOnlyTheLedgerRemembersIsNotANewOne) {
  use({quota("q", 50, Enforcement::strict)});
  const auto named = [&] { return budget().reserve({.request = Request(attributes_), .amount = 10, .id = "job-1"}); };
  const ReservationAnswer made = named();
  EXPECT_TRUE(made.created);
  use({quota("q", 50, Enforcement::strict)});  // with an empty store
  clock_.advance(5s);
  const ReservationAnswer again = named();
  EXPECT_TRUE(again.decision.allowed) << again.message;
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.granted, 10);
  EXPECT_EQ(again.expires, made.expires);
  EXPECT_EQ(balance(of("q")), "40 10 0 0");
}

TEST_P(QuotaHolds, ARepeatedCommitOrReleaseReplaysTheFirstAnswer) {
  Rule generous = quota("generous", 30, Enforcement::strict);
  generous.quota.record_overage = true;
  use({quota("q", 30, Enforcement::strict), generous});
  const auto same = [](const ReservationAnswer& first, const ReservationAnswer& again) {
    EXPECT_FALSE(first.replayed);
    EXPECT_TRUE(again.replayed);
    EXPECT_EQ(again.state, first.state);
    EXPECT_EQ(again.granted, first.granted);
    EXPECT_EQ(again.actual, first.actual);
    EXPECT_EQ(again.returned, first.returned);
    EXPECT_EQ(again.debt, first.debt);
    EXPECT_EQ(again.uncharged, first.uncharged);
  };
  const ReservationAnswer released = reserve(10);
  const ReservationAnswer given_back = budget().release(released.handle);
  EXPECT_EQ(given_back.returned, 10);
  same(given_back, budget().release(released.handle));
  const ReservationAnswer less = reserve(10);
  const ReservationAnswer returned = budget().commit(less.handle, 7);
  EXPECT_EQ(returned.returned, 3);
  same(returned, budget().commit(less.handle, 7));
  const ReservationAnswer more = reserve(10);
  const ReservationAnswer beyond = budget().commit(more.handle, 40);
  EXPECT_EQ(beyond.uncharged, 17);
  EXPECT_EQ(beyond.debt, 17) << "of the quota that records it";
  same(beyond, budget().commit(more.handle, 40));
  const ReservationAnswer none = budget().release(more.handle);
  EXPECT_EQ(none.fault, HoldFault::closed);
}

INSTANTIATE_TEST_SUITE_P(Both, QuotaHolds, kBothDatabases, dialect_name);

}  // namespace
}  // namespace weir::ledger::tests
