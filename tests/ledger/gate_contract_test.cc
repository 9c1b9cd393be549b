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

  void start(const std::string& node = "n1", GateOptions options = {}) {
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

// Keeps usage batches out of the ledger for as long as it lives.
class Outage {
 public:
  explicit Outage(const database::tests::Backend& backend) : database_(backend.open()) {
    std::promise<void> begun;
    holder_ = std::thread([this, &begun] {
      const database::Outcome outcome = database_->run(database::Access::write, [&](database::Session& session) {
        // SQLite's one writer is this one.
        Status locked = session.dialect() == database::Dialect::sqlite
                            ? success()
                            : session.run_script("LOCK TABLE ledger_usage_batch IN ACCESS EXCLUSIVE MODE");
        begun.set_value();
        over_.get_future().wait();
        return locked;
      });
      EXPECT_TRUE(succeeded(outcome));
    });
    begun.get_future().wait();
  }
  ~Outage() { end(); }
  void end() {
    if (!holder_.joinable()) return;
    over_.set_value();
    holder_.join();
  }

 private:
  std::unique_ptr<database::Database> database_;
  std::promise<void> over_;
  std::thread holder_;
};

TEST_P(GateContract, AtItsBoundTheUsageLogStopsGrowingAndNothingIsLostOrBilledTwice) {
  constexpr std::size_t kBound = 6'000;
  constexpr std::uint64_t kAccounts = 20;
  gate_.reset();
  GateOptions options;
  options.max_log_bytes = kBound;
  options.slice_ttl = 1h;
  start("n1", options);
  const Quota quota = monthly_quota();
  QuotaCharge held = charge(quota, 1000, 1, 1'000);
  ASSERT_TRUE(take(held));
  await([&] { return of(1'000).used == 1; });
  Outage outage(backend_);
  // A policy admits units without the ledger, group after group, until the log is full, and goes on.
  std::int64_t admitted = 0;
  const auto admit = [&] {
    for (std::uint64_t subject = 1; subject <= kAccounts; ++subject) {
      const QuotaCharge each = charge(quota, 1'000'000, 1, subject);
      gate_->admitted_without(each);
    }
    ++admitted;
  };
  const auto is_full = [&] { return gate_->counts().trouble.find("is full") != std::string::npos; };
  await([&] {
    if (!is_full()) admit();
    return is_full();
  });
  EXPECT_FALSE(gate_->counts().usable) << "leased quotas admit nothing more";
  for (int i = 0; i < 100; ++i) {
    admit();
    clock_.advance(10ms);
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LE(gate_->counts().log_bytes, kBound + 100 * kAccounts) << "the bound, and the group that reached it";
  outage.end();
  for (std::uint64_t subject = 1; subject <= kAccounts; ++subject) {
    await([&] { return gate_->counts().log_bytes == 0; });
    await([&] { return of(subject).used == admitted; });
  }
  await([&] { return gate_->counts().usable; });
  QuotaCharge again = charge(quota, 1000, 1, 1'000);
  EXPECT_TRUE(take(again));
}

TEST_P(GateContract, AccountsThatAPolicyAdmitsWithoutTheLedgerAreBounded) {
  gate_.reset();
  GateOptions options;
  options.max_slices = 10;
  std::atomic<int> told{0};
  options.report = [&](std::string_view event, const std::string&) { told += event == "quota_usage_lost" ? 1 : 0; };
  start("n1", options);
  const Quota quota = monthly_quota();
  for (std::uint64_t subject = 1; subject <= 12; ++subject) gate_->admitted_without(charge(quota, 100, 3, subject));
  EXPECT_EQ(gate_->counts().unrecorded, 6);
  EXPECT_EQ(told, 2);
  await([&] { return gate_->counts().batches > 0; });
  await([&] { return of(10).used == 3; });
}

TEST_P(GateContract, AReservationThatIsCommittedAfterItsPeriodClosedIsChargedInTheOpenOne) {
  gate_.reset();
  const Quota quota = monthly_quota(Enforcement::strict);
  GateOptions options;
  options.quota_of = [&](std::string_view rule) -> std::optional<Quota> {
    return rule == "exports" ? std::optional<Quota>(quota) : std::nullopt;
  };
  start("n1", options);
  QuotaCharge each = charge(quota, 10, 0);
  each.follows = true;
  WaitedCall reserve;
  reserve.verb = QuotaCall::Verb::reserve;
  reserve.at = clock_.read();
  reserve.id = "0123456789abcdef0123456789abcdef";
  reserve.charges = {&each, 1};
  reserve.amount = 6;
  reserve.ttl = std::chrono::hours(24 * 60);
  gate_->begin(reserve);
  reserve.wait();
  ASSERT_EQ(reserve.granted, 6);
  clock_.advance(kEnd + 25h - clock_.wall());
  WaitedCall commit;
  commit.verb = QuotaCall::Verb::commit;
  commit.at = clock_.read();
  commit.id = reserve.id;
  commit.actual = 4;
  gate_->begin(commit);
  commit.wait();
  EXPECT_EQ(commit.status, Code::ok);
  EXPECT_EQ(commit.state, weir::ReservationState::committed);
  EXPECT_EQ(commit.uncharged, 0);
  EXPECT_EQ(balance(of()), "10 0 0 0") << "the closed period is not billed any more";
  EXPECT_EQ(balance(account(AccountKey{"exports", "tenant=1", "2026-04"})), "6 0 4 0");
  // The limit of the rule replaces the one that was carried over.
  QuotaCharge raised = charge(quota, 20, 1);
  EXPECT_TRUE(take(raised));
  EXPECT_EQ(balance(account(AccountKey{"exports", "tenant=1", "2026-04"})), "15 0 5 0");
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
