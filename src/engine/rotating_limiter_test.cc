// Rotation of the hash key: what was used before still counts, and nothing is counted apart.
#include "engine/rotating_limiter.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/support/together.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// A memory store that answers at once or claims to answer later.
class PlainStore final : public Store {
 public:
  explicit PlainStore(bool immediate) : immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    if (answers-- > 0) return memory_.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return immediate_; }
  std::string_view name() const override { return "store"; }

  int answers = std::numeric_limits<int>::max();  // so many calls are answered; then it fails

 private:
  const bool immediate_;
  memory::MemoryStore memory_;
};

Rule rule_of(std::string id, std::string per, std::int64_t limit) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {std::move(per)};
  rule.allowance = {.algorithm = Algorithm::sliding_log, .limit = limit, .window = 1h};
  return rule;
}

// True: the store answers before begin() returns.
class Rotation : public ::testing::TestWithParam<bool> {
 protected:
  Rotation() {
    EXPECT_TRUE(book_->replace({.rules = {rule_of("tenant", "tenant", 3), rule_of("key", "api_key", 2)}}).ok());
  }
  std::unique_ptr<Engine> engine(std::uint8_t key) {
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {key};
    return std::make_unique<Engine>(book_, options, fallback_);
  }
  static bool admits(Limiter& limiter, std::string_view tenant) {
    bool allowed = false;
    limiter.check({{"tenant", tenant}}, [&](const Decision& decision) { allowed = decision.allowed; });
    return allowed;
  }

  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<PlainStore> store_ = std::make_shared<PlainStore>(GetParam());
  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
  std::unique_ptr<Engine> before_ = engine(1);
  std::unique_ptr<Engine> after_ = engine(2);
  RotatingLimiter during_{*before_, *after_};
};

TEST_P(Rotation, WhatWasUsedBeforeStillCounts) {
  EXPECT_TRUE(admits(*before_, "acme"));
  EXPECT_TRUE(admits(*before_, "acme"));
  EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_FALSE(admits(during_, "acme"));
  EXPECT_FALSE(during_.check({{"tenant", "acme"}}).allowed);
}

TEST_P(Rotation, NodesThatHaveNotBegunItShareTheLimit) {
  EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_TRUE(admits(*before_, "acme"));
  EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_FALSE(admits(*before_, "acme"));
  EXPECT_FALSE(admits(during_, "acme"));
}

// The end of a rotation loses nothing when the longest window has passed.
TEST_P(Rotation, AfterAWindowThePreviousKeyCanGo) {
  EXPECT_TRUE(admits(*before_, "acme"));
  clock_->advance(1h);
  EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_TRUE(admits(*after_, "acme"));
  EXPECT_FALSE(admits(*after_, "acme"));
}

TEST_P(Rotation, ADenialIsChargedUnderNeitherKey) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(*before_, "acme"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(admits(during_, "acme"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(*after_, "acme")) << "nothing was charged here";
}

// As when the store has lost the previous bucket only.
TEST_P(Rotation, BothKeysMustAdmitAndARefusalOfTheCurrentOneGivesBack) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(*after_, "acme"));
  EXPECT_FALSE(admits(during_, "acme"));
  EXPECT_FALSE(during_.check({{"tenant", "acme"}}).allowed);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(*before_, "acme")) << "it was given back";
}

TEST_P(Rotation, RefundsAndResetsReachBoth) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(during_, "acme"));
  during_.refund({{"tenant", "acme"}});
  EXPECT_TRUE(admits(during_, "acme"));
  during_.refund({{"tenant", "acme"}}, [](const Decision& decision) { EXPECT_TRUE(decision.allowed); });
  EXPECT_TRUE(admits(during_, "acme"));
  during_.reset({{"tenant", "acme"}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(admits(during_, "acme"));
  EXPECT_FALSE(admits(*after_, "acme"));
}

TEST_P(Rotation, SeveralAtOnceAreChargedUnderBothKeysOrNeither) {
  const Attribute acme[] = {{"tenant", "acme"}};
  const Attribute key[] = {{"api_key", "k"}};
  const std::vector<Request> both = {Request(acme), Request(key)};
  AllowanceSpec spec;
  spec.limit = 10;
  spec.window = 1h;
  const Allowance allowance = make_allowance(spec).value();
  const std::string_view subject[] = {"x"};
  const std::vector<AdHocCharge> charges = {{.space = "test", .subject = subject, .allowance = &allowance, .cost = {}}};
  const auto ask = [&] {
    std::string verdict;
    check_together(during_, both, charges,
                   [&](std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes) {
                     for (const Decision& decision : decisions) verdict += decision.allowed ? 'y' : 'n';
                     verdict += " " + std::to_string(outcomes[0].remaining);
                   });
    return verdict;
  };
  EXPECT_EQ(ask(), "yy 9");
  EXPECT_TRUE(after_->check({{"api_key", "k"}}).allowed) << "the second of two";
  EXPECT_EQ(ask(), "yn 9") << "only the current key denies, so the previous one gives back";
  EXPECT_TRUE(before_->check({{"api_key", "k"}}).allowed);
  EXPECT_EQ(ask(), "yn 9") << "the previous key denies";
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(admits(*before_, "acme")) << "one of three was charged";
  EXPECT_FALSE(admits(*before_, "acme"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(admits(*after_, "acme"));
  EXPECT_FALSE(admits(*after_, "acme"));
}

TEST_P(Rotation, APeekTakesNothing) {
  const Attribute attributes[] = {{"tenant", "acme"}};
  Request peek(attributes);
  peek.peek = true;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(during_.check(peek).allowed);
  during_.check(peek, [](const Decision& decision) { EXPECT_EQ(decision.decisive()->remaining, 3); });
}

// API keys are hashed under the same key before a limiter sees them.
TEST_P(Rotation, AValueThatIsHashedItselfIsTheOldOneForTheOldKey) {
  EXPECT_TRUE(before_->check({{"api_key", "k_old"}}).allowed);
  EXPECT_TRUE(during_.check({{"api_key", "k_new"}, {"api_key@previous", "k_old"}}).allowed);
  EXPECT_FALSE(during_.check({{"api_key", "k_new"}, {"api_key@previous", "k_old"}}).allowed);
  EXPECT_TRUE(after_->check({{"api_key", "k_new"}}).allowed);
  EXPECT_FALSE(after_->check({{"api_key", "k_new"}}).allowed) << "one was charged during the rotation";
}

// A rule with a descriptor is found by what was sent, under both keys.
TEST_P(Rotation, DerivedAttributesDoNotHideADescriptor) {
  Rule rule = rule_of("described", "api_key", 1);
  rule.descriptor = {{"api_key", std::nullopt}};
  ASSERT_TRUE(book_->replace({.rules = {rule}}).ok());
  const Attribute attributes[] = {{"api_key", "k_new"}, {"ip", "10.0.0.1"}, {"api_key@previous", "k_old"}};
  Request request(attributes);
  request.derived = 2;
  EXPECT_TRUE(during_.check(request).allowed);
  EXPECT_FALSE(during_.check(request).allowed);
  EXPECT_FALSE(before_->check({{"api_key", "k_old"}}).allowed);
  EXPECT_FALSE(after_->check({{"api_key", "k_new"}}).allowed);
  EXPECT_TRUE(after_->check({{"api_key", "k_new"}, {"ip", "10.0.0.1"}}).allowed) << "sent, not derived";
}

TEST_P(Rotation, AdHocBucketsRotateToo) {
  const Allowance allowance = make_allowance({.algorithm = Algorithm::gcra, .limit = 2, .window = 1h}).value();
  const std::string_view subject[] = {"user:42"};
  const AdHocCharge charge{.space = "test", .subject = subject, .allowance = &allowance, .cost = {}};
  EXPECT_TRUE(before_->charge(charge).admitted);
  EXPECT_TRUE(during_.charge(charge).admitted);
  during_.charge(charge, [](const ChargeOutcome& outcome) { EXPECT_FALSE(outcome.admitted); });
  EXPECT_TRUE(after_->charge(charge).admitted);
  EXPECT_FALSE(after_->charge(charge).admitted);
}

TEST_P(Rotation, BatchesAreDecidedOneByOne) {
  const Attribute attributes[] = {{"tenant", "acme"}};
  const std::vector<Request> requests(4, Request(attributes));
  std::vector<Decision> decisions(4);
  during_.check_batch(requests, decisions);
  EXPECT_TRUE(decisions[2].allowed);
  EXPECT_FALSE(decisions[3].allowed);
}

// Any mix of nodes before and in the rotation, then one window in it, then after it: never more than the limit in a
// window, and never less than a single limiter would admit.
TEST_P(Rotation, AtNoTimeIsMoreAdmittedThanTheLimitNorLess) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  std::unique_ptr<Engine> reference = engine(9);
  const auto step = [&](std::initializer_list<Limiter*> nodes) {
    clock_->advance(std::chrono::minutes(random() % 20));
    Limiter& node = **(nodes.begin() + random() % nodes.size());
    EXPECT_EQ(admits(node, "acme"), reference->check({{"tenant", "acme"}}).allowed);
  };
  for (int i = 0; i < 60; ++i) step({before_.get()});
  for (int i = 0; i < 60; ++i) step({before_.get(), &during_});
  const TimePoint all_in = clock_->now();
  while (clock_->now() < all_in + 1h) step({&during_});
  for (int i = 0; i < 60; ++i) step({&during_, after_.get()});
}

class LeaseRotationTest : public Rotation {
 protected:
  LeaseRotationTest() {
    Rule active;
    active.id = "active";
    active.per = {"tenant"};
    active.kind = ChargeKind::lease;
    active.allowance.limit = 2;
    active.lease = 30s;
    EXPECT_TRUE(book_->replace({.rules = {active}}).ok());
  }
  static LeaseAnswer acquire(Limiter& limiter, std::string_view id = "") {
    const Attribute attributes[] = {{"tenant", "acme"}};
    LeaseQuestion question;
    question.request = Request(std::span<const Attribute>(attributes));
    question.id = id;
    return limiter.leases()->acquire(question);
  }
  // Units that the limiter's key has free.
  static std::int64_t free(Limiter& limiter) { return limiter.check({{"tenant", "acme"}}).rules[0].remaining; }
};

TEST_P(LeaseRotationTest, ALeaseIsTakenUnderBothKeysAndReleasedUnderBoth) {
  const LeaseAnswer lease = acquire(during_);
  ASSERT_TRUE(lease.decision.allowed);
  EXPECT_TRUE(lease.created);
  EXPECT_TRUE(lease.fencing_token);
  EXPECT_EQ(free(*before_), 1);
  EXPECT_EQ(free(*after_), 1);
  const LeaseAnswer renewed = during_.leases()->renew(lease.handle, 60s);
  EXPECT_EQ(renewed.fault, HoldFault::none);
  clock_->advance(50s);
  EXPECT_EQ(free(*before_), 1);
  EXPECT_EQ(free(*after_), 1);
  EXPECT_EQ(during_.leases()->release(renewed.handle).fault, HoldFault::none);
  EXPECT_EQ(free(*before_), 2);
  EXPECT_EQ(free(*after_), 2);
}

TEST_P(LeaseRotationTest, HandlesFromBeforeAndHandlesFromDuringTheRotationStayGood) {
  const LeaseAnswer old = acquire(*before_);
  const LeaseAnswer both = acquire(during_);
  EXPECT_FALSE(acquire(during_).decision.allowed) << "the previous key decides";
  EXPECT_EQ(during_.leases()->renew(old.handle).fault, HoldFault::none);
  EXPECT_EQ(during_.leases()->release(old.handle).fault, HoldFault::none);
  // When the rotation is over, and on nodes on which it has not begun.
  EXPECT_EQ(after_->leases()->renew(both.handle).fault, HoldFault::none);
  EXPECT_EQ(before_->leases()->renew(both.handle).fault, HoldFault::none);
  EXPECT_EQ(after_->leases()->release(both.handle).fault, HoldFault::none);
  EXPECT_EQ(free(*after_), 2);
}

TEST_P(LeaseRotationTest, WhatOnlyThePreviousKeyGivesIsGivenBack) {
  acquire(*after_);
  acquire(*after_);
  EXPECT_FALSE(acquire(during_).decision.allowed);
  EXPECT_EQ(free(*before_), 2);
}

TEST_P(LeaseRotationTest, AClientsIdHasOneLeaseAndForgedHandlesStayForged) {
  const LeaseAnswer first = acquire(during_, "job");
  const LeaseAnswer again = acquire(during_, "job");
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.fencing_token, first.fencing_token);
  EXPECT_EQ(free(*after_), 1);
  during_.leases()->release(again.handle);
  EXPECT_EQ(acquire(during_, "job").fault, HoldFault::gone);
  EXPECT_EQ(during_.leases()->release("forged.handle").fault, HoldFault::forged);
  EXPECT_EQ(before_->forged_handles(), 1u);
}

// What was done under one key only must be tried again: a caller that is told of success would not.
TEST_P(LeaseRotationTest, ALeaseThatOnlyThePreviousKeyRenewedOrReleasedIsNotSaidToBe) {
  const LeaseAnswer lease = acquire(during_);
  store_->answers = 1;
  EXPECT_EQ(during_.leases()->renew(lease.handle).fault, HoldFault::unavailable);
  store_->answers = 1;
  EXPECT_EQ(during_.leases()->release(lease.handle).fault, HoldFault::unavailable);
  store_->answers = 100;
  EXPECT_EQ(free(*after_), 1) << "still held under the current key";
  EXPECT_EQ(during_.leases()->release(lease.handle).fault, HoldFault::none);
  EXPECT_EQ(free(*after_), 2);
}

INSTANTIATE_TEST_SUITE_P(Stores, LeaseRotationTest, testing::Bool());

INSTANTIATE_TEST_SUITE_P(Stores, Rotation, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "AtOnce" : "Later"; });

}  // namespace
}  // namespace weir::engine
