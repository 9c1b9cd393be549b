// A limiter with quota rules, on a ledger in a real database.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ledger/gate/ledger_gate.h"
#include "tests/ledger/ledger_fixture.h"
#include "tests/support/temporary_folder.h"
#include "weir/limiter.h"

namespace weir::ledger::tests {

class QuotaEngine : public LedgerFixture {
 protected:
  void SetUp() override {
    LedgerFixture::SetUp();
    GateOptions options;
    options.node = "n1";
    options.folder = folder_.path() / "usage";
    options.patience = 30s;
    gate_ = std::make_shared<LedgerGate>(*ledger_, clock_, options);
    ASSERT_TRUE(gate_->start().ok());
    await([this] { return gate_->counts().usable; });
  }
  void TearDown() override {
    limiter_.reset();
    gate_.reset();
    LedgerFixture::TearDown();
  }
  template <typename Condition>
  void await(Condition condition) {
    for (int i = 0; i < 5'000 && !condition(); ++i) {
      clock_.advance(1ms);
      std::this_thread::sleep_for(1ms);
    }
    EXPECT_TRUE(condition());
  }

  static Rule quota(const std::string& id, std::int64_t limit, Enforcement mode,
                    std::vector<std::string> per = {"tenant"}) {
    Rule rule;
    rule.id = id;
    rule.per = std::move(per);
    rule.kind = ChargeKind::quota;
    rule.allowance.limit = limit;
    rule.quota.period = PeriodUnit::month;
    rule.quota.enforcement = mode;
    return rule;
  }
  static Rule rate(std::int64_t limit) {
    Rule rule;
    rule.id = "rate";
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = std::chrono::hours(24 * 365)};
    return rule;
  }
  static Rule slots(std::int64_t limit) {
    Rule rule;
    rule.id = "slots";
    rule.per = {"tenant"};
    rule.kind = ChargeKind::lease;
    rule.allowance.limit = limit;
    rule.lease = 30s;
    return rule;
  }
  void use(std::vector<Rule> rules, std::shared_ptr<Store> store = nullptr) {
    Rules all;
    all.rules = std::move(rules);
    LimiterOptions options;
    options.store = std::move(store);
    options.clock = std::shared_ptr<Clock>(&clock_, [](Clock*) {});
    options.quotas = gate_;
    options.hash_key = {1, 2, 3};  // another limiter knows its ids
    auto made = Limiter::create(all, options);
    ASSERT_TRUE(made.ok()) << made.failure().message;
    limiter_ = std::move(made).value();
  }
  Decision check(std::int64_t cost = 1, std::string_view user = "u") {
    const std::array<Attribute, 2> attributes = {Attribute{"tenant", "acme"}, Attribute{"user", user}};
    return limiter_->check(Request(attributes, Cost{cost}));
  }
  Account of(const std::string& rule, const std::string& subject = "tenant=acme") {
    return account(AccountKey{rule, subject, "2026-03"});
  }

  rules::TemporaryFolder folder_;
  std::shared_ptr<LedgerGate> gate_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace weir::ledger::tests
