#include "ledger/gate/ledger_gate.h"

#include <future>

#include "tests/ledger/ledger_fixture.h"
#include "tests/support/temporary_folder.h"

namespace weir::ledger::tests {
namespace {

class WaitedCall final : public QuotaCall {
 public:
  void complete() override { done_.set_value(); }
  void wait() { done_.get_future().get(); }

 private:
  std::promise<void> done_;
};

// A gate on the ledger of the fixture, whose clock stands still.
class GateContract : public LedgerFixture {
 protected:
  void SetUp() override {
    LedgerFixture::SetUp();
    start();
  }
  void TearDown() override {
    gate_.reset();
    LedgerFixture::TearDown();
  }

  void start(const std::string& node = "n1") {
    GateOptions options;
    options.node = node;
    options.folder = folder_.path() / "usage";
    options.patience = 30s;
    gate_ = std::make_unique<LedgerGate>(*ledger_, clock_, options);
    ASSERT_TRUE(gate_->start().ok());
    await([this] { return gate_->counts().usable; });
  }
  // Until the gate's thread has done it; the clock goes on meanwhile.
  template <typename Condition>
  void await(Condition condition) {
    for (int i = 0; i < 5'000 && !condition(); ++i) {
      clock_.advance(1ms);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(condition());
  }

  QuotaCharge charge(const Quota& quota, std::int64_t limit, std::int64_t cost, std::uint64_t subject = 1) {
    QuotaCharge made;
    made.rule = "exports";
    made.quota = &quota;
    made.key = {subject, subject};
    made.limit = limit;
    made.cost = cost;
    made.since = kStart;
    made.subject = "tenant=" + std::to_string(subject);
    made.tenant = "acme";
    return made;
  }
  Quota monthly_quota(Enforcement mode = Enforcement::leased) {
    Quota quota;
    quota.period = PeriodUnit::month;
    quota.enforcement = mode;
    return quota;
  }
  // As the engine does: quickly, or waiting for the ledger.
  bool take(QuotaCharge& charge, bool confirm = true) {
    const Reading at = clock_.read();
    QuotaGate::Quick quick = QuotaGate::Quick::wait;
    if (charge.quota->enforcement == Enforcement::leased) quick = gate_->try_take(charge, at);
    if (quick == QuotaGate::Quick::wait) {
      WaitedCall call;
      call.at = at;
      call.id = "take" + std::to_string(++takes_);
      call.charges = {&charge, 1};
      gate_->begin(call);
      call.wait();
    }
    EXPECT_EQ(charge.outcome.status, Code::ok);
    const bool taken = charge.outcome.status == Code::ok && charge.outcome.admitted;
    if (taken && charge.taken != nullptr) confirm ? gate_->confirm(charge) : gate_->put_back(charge);
    return taken;
  }
  Account of(std::uint64_t subject = 1) {
    return account(AccountKey{"exports", "tenant=" + std::to_string(subject), "2026-03"});
  }

  rules::TemporaryFolder folder_;
  std::unique_ptr<LedgerGate> gate_;
  int takes_ = 0;
};

TEST_P(GateContract, AdmitsExactlyTheLimitAndBillsItOnce) {
  for (const Enforcement mode : {Enforcement::leased, Enforcement::strict}) {
    const std::uint64_t subject = mode == Enforcement::leased ? 1 : 2;
    const Quota quota = monthly_quota(mode);
    int admitted = 0;
    for (int i = 0; i < 150; ++i) {
      QuotaCharge each = charge(quota, 100, 1, subject);
      admitted += take(each) ? 1 : 0;
    }
    EXPECT_EQ(admitted, 100);
    await([&] { return of(subject).used == 100; });
    EXPECT_EQ(balance(of(subject)), "0 0 100 0");
  }
}

TEST_P(GateContract, SpendsAtOnceWhatNothingElseDecidesAbout) {
  const Quota quota = monthly_quota();
  QuotaCharge first = charge(quota, 100, 1);  // waits for a slice
  ASSERT_TRUE(take(first));
  int spent = 1;
  for (int i = 0; i < 40; ++i) {
    QuotaCharge each = charge(quota, 100, 1);
    each.alone = true;
    ASSERT_TRUE(take(each));
    ++spent;
  }
  for (const LedgerGate::Holding& holding : gate_->holdings()) EXPECT_EQ(holding.pending, 0);
  await([&] { return of().used == spent; });
}

TEST_P(GateContract, DeniesUntilTheEndOfThePeriodAndThenBeginsAgain) {
  const Quota quota = monthly_quota();
  QuotaCharge first = charge(quota, 1, 1);
  ASSERT_TRUE(take(first));
  QuotaCharge denied = charge(quota, 1, 1);
  ASSERT_FALSE(take(denied));
  EXPECT_EQ(denied.outcome.remaining, 0);
  EXPECT_EQ(denied.outcome.retry_after, kEnd - clock_.wall());
  QuotaCharge large = charge(quota, 1, 2);
  ASSERT_FALSE(take(large));
  EXPECT_TRUE(large.outcome.too_large);
  clock_.advance(kEnd - clock_.wall());
  QuotaCharge next = charge(quota, 1, 1);
  // The ledger was away for longer than slices live, by this clock: a new epoch begins.
  await([&] { return gate_->counts().usable; });
  EXPECT_TRUE(take(next));
}

TEST_P(GateContract, PutsBackWhatTheStoreRefused) {
  const Quota quota = monthly_quota();
  for (int i = 0; i < 20; ++i) {
    QuotaCharge each = charge(quota, 5, 1);
    ASSERT_TRUE(take(each, /*confirm=*/false));
  }
  await([&] { return of().held == 0; });
  EXPECT_EQ(balance(of()), "5 0 0 0");
}

TEST_P(GateContract, ReplaysTheLogOfAProcessThatWasKilledAndExpiresTheRest) {
  const Quota quota = monthly_quota();
  OpenEpoch open;
  open.node = "n2";
  const std::int64_t epoch = run(open).epoch;
  TakeSlice slice;
  slice.terms = monthly(100, "tenant=1", "exports");
  slice.node = "n2";
  slice.epoch = epoch;
  slice.want = 20;
  ASSERT_EQ(run(slice).granted, 20);
  gate_.reset();
  {
    Result<UsageLog> log = UsageLog::open(folder_.path() / "usage", "n2");
    log.value().begin_epoch(epoch);
    UsageBatch::Record record;
    record.account = slice.terms.key;
    record.spent = 15;
    ASSERT_TRUE(log.value().append({record}).ok());
  }
  start("n2");
  EXPECT_EQ(gate_->counts().replayed, 15);
  EXPECT_EQ(gate_->counts().expired, 5);
  EXPECT_EQ(balance(of()), "80 0 15 5");
}

TEST_P(GateContract, GivesBackIdleSlicesAndEverythingWhenItStops) {
  const Quota quota = monthly_quota();
  QuotaCharge each = charge(quota, 1000, 1);
  ASSERT_TRUE(take(each));
  EXPECT_GT(of().held, 0);
  await([&] { return of().held == 0; });
  QuotaCharge again = charge(quota, 1000, 1);
  ASSERT_TRUE(take(again));
  gate_.reset();
  EXPECT_EQ(balance(of()), "998 0 2 0");
}

TEST_P(GateContract, RecordsWhatAPolicyAdmittedWithoutTheLedgerAsOverage) {
  const Quota quota = monthly_quota();
  QuotaCharge each = charge(quota, 3, 10, 9);
  gate_->admitted_without(each);
  await([&] {
    const auto found = database_->run(database::Access::read, [&](database::Session& session) -> Status {
      const auto read = read_account(session, {"exports", "tenant=9", "2026-03"});
      if (!read.ok()) return read.failure();
      if (!read.value()) return Failure{Code::not_found, ""};
      return success();
    });
    return found.ok();
  });
  await([&] { return of(9).used == 10; });
  EXPECT_EQ(of(9).overage, 7);
}

TEST_P(GateContract, FollowsALimitThatWasChanged) {
  const Quota quota = monthly_quota();
  QuotaCharge first = charge(quota, 1, 1);
  ASSERT_TRUE(take(first));
  clock_.advance(2s);
  QuotaCharge raised = charge(quota, 3, 2);
  EXPECT_TRUE(take(raised));
  EXPECT_EQ(of().limit, 3);
}

INSTANTIATE_TEST_SUITE_P(Both, GateContract, kBothDatabases, dialect_name);

}  // namespace
}  // namespace weir::ledger::tests
