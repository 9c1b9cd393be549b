// A lease whose id a client made, under a quota too: the store is looked at first, so that a repeated call is not
// billed again; and the ledger is told whose quota it is although the request is gone by then.
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tests/support/slow_store.h"
#include "tests/support/waiting_gate.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Notes what it is asked.
class NotingGate final : public WaitingGate {
 public:
  void begin(QuotaCall& call) override {
    for (QuotaCharge& charge : call.charges) {
      asked.push_back(std::string(call.verb == QuotaCall::Verb::peek ? "peek " : "take ") +
                      std::to_string(charge.cost) + " of " + charge.subject + " for " + charge.tenant);
      charge.outcome = {};
      charge.outcome.admitted = true;
    }
    call.complete();
  }

  std::vector<std::string> asked;
};

class NamedLeaseQuota : public ::testing::Test {
 protected:
  NamedLeaseQuota() {
    Rule active;
    active.id = "active";
    active.per = {"tenant"};
    active.kind = ChargeKind::lease;
    active.allowance.limit = 2;
    active.lease = 30s;
    Rule exports;
    exports.id = "exports";
    exports.kind = ChargeKind::quota;
    exports.per = {"tenant"};
    exports.allowance = {.algorithm = {}, .limit = 100, .window = Duration{0}};
    exports.quota.period = PeriodUnit::month;
    auto book = std::make_shared<rules::RuleBook>();
    EXPECT_TRUE(book->replace({.rules = {active, exports}}).ok());
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {1, 2, 3};
    options.quotas = gate_;
    store_->at_once = false;
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  // Asks, and forgets the request before anything is answered.
  void acquire(const std::string& id) {
    std::string tenant = "acme";
    const Attribute attributes[] = {{"tenant", tenant}};
    LeaseQuestion question;
    question.request = Request(attributes);
    question.id = id;
    answer_.reset();
    engine_->leases()->ask(question, [this](const LeaseAnswer& answer) { answer_ = answer; });
    tenant = "gone";
  }
  Action waiting_for() const { return store_->waiting.back()->action; }

  std::shared_ptr<NotingGate> gate_ = std::make_shared<NotingGate>();
  std::shared_ptr<SlowStore> store_ = std::make_shared<SlowStore>();
  std::unique_ptr<Engine> engine_;
  std::optional<LeaseAnswer> answer_;
};

TEST_F(NamedLeaseQuota, ANewLeaseIsLookedForThenBilledThenTaken) {
  acquire("job");
  ASSERT_EQ(store_->waiting.size(), 1U);
  EXPECT_EQ(waiting_for(), Action::peek) << "is there a lease?";
  EXPECT_TRUE(gate_->asked.empty());
  store_->answer();
  EXPECT_EQ(gate_->asked, std::vector<std::string>{"take 1 of tenant=acme for acme"});
  ASSERT_EQ(store_->waiting.size(), 1U);
  EXPECT_EQ(waiting_for(), Action::take);
  store_->answer();
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(answer_->decision.allowed);
  EXPECT_TRUE(answer_->created);
}

TEST_F(NamedLeaseQuota, ARepeatedLeaseIsNotBilledAgain) {
  acquire("job");
  store_->answer();
  store_->answer();
  ASSERT_TRUE(answer_);
  const std::optional<std::uint64_t> token = answer_->fencing_token;
  gate_->asked.clear();
  acquire("job");
  store_->answer();
  EXPECT_EQ(gate_->asked, std::vector<std::string>{"peek 0 of tenant=acme for acme"});
  ASSERT_TRUE(answer_) << "the store is not asked again";
  EXPECT_TRUE(store_->waiting.empty());
  EXPECT_TRUE(answer_->decision.allowed);
  EXPECT_FALSE(answer_->created);
  EXPECT_EQ(answer_->fencing_token, token);
}

TEST_F(NamedLeaseQuota, ALeaseWithoutAnIdIsNotLookedFor) {
  acquire("");
  EXPECT_EQ(gate_->asked, std::vector<std::string>{"take 1 of tenant=acme for acme"});
  ASSERT_EQ(store_->waiting.size(), 1U);
  EXPECT_EQ(waiting_for(), Action::take);
  store_->answer();
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(answer_->created);
}

TEST_F(NamedLeaseQuota, AStoreThatDoesNotAnswerTheLookIsAskedAfterTheGate) {
  acquire("job");
  store_->failure = Code::unavailable;
  store_->answer();
  EXPECT_EQ(gate_->asked, std::vector<std::string>{"take 1 of tenant=acme for acme"});
  store_->failure = Code::ok;
  store_->answer();
  ASSERT_TRUE(answer_);
  EXPECT_TRUE(answer_->created);
}

}  // namespace
}  // namespace weir::engine
