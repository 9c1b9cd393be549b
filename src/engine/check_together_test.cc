// Several requests as one decision: charged all or none, whatever the store, and each with its own verdict.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <thread>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "tests/support/together.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule rule_of(std::string id, std::string per, std::int64_t limit) {
  Rule rule;
  rule.id = std::move(id);
  rule.per = {std::move(per)};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  return rule;
}

// A memory store that claims to answer later, or does not answer at all.
class OtherStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    if (fails) {
      call.status = Code::unavailable;
      return true;
    }
    return memory_.begin(call);
  }
  bool immediate() const override { return immediate_now; }
  std::string_view name() const override { return "other"; }

  bool immediate_now = false;
  bool fails = false;
  int calls = 0;

 private:
  memory::MemoryStore memory_;
};

class Counts final : public Observer {
 public:
  void on_decision(const Decision& decision) override { ++(decision.allowed ? allowed : denied); }
  void on_charge(std::string_view, const ChargeOutcome&) override { ++charges; }
  int allowed = 0;
  int denied = 0;
  int charges = 0;
};

struct Answer {
  std::vector<Decision> decisions;
  std::vector<ChargeOutcome> outcomes;

  std::string verdict() const {
    std::string text;
    for (const Decision& decision : decisions) text += decision.allowed ? 'y' : 'n';
    for (const ChargeOutcome& outcome : outcomes) text += outcome.admitted ? 'Y' : 'N';
    return text;
  }
};

// True: the store answers before begin() returns.
class CheckTogether : public ::testing::TestWithParam<bool> {
 protected:
  CheckTogether() { store_->immediate_now = GetParam(); }

  void serve(const std::vector<Rule>& rules, std::shared_ptr<Store> store = nullptr) {
    book_ = std::make_shared<rules::RuleBook>();
    ASSERT_TRUE(book_->replace({.rules = rules}).ok());
    LimiterOptions options;
    options.store = store != nullptr ? store : store_;
    options.clock = clock_;
    options.observers = {counts_};
    options.hash_key = {1};
    engine_ = std::make_unique<Engine>(book_, options, fallback_);
  }
  Answer ask(const std::vector<Request>& requests, const std::vector<AdHocCharge>& charges = {}) {
    Answer answer;
    bool done = false;
    check_together(*engine_, requests, charges,
                   [&](std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes) {
                     EXPECT_FALSE(done);
                     done = true;
                     answer.decisions.assign(decisions.begin(), decisions.end());
                     answer.outcomes.assign(outcomes.begin(), outcomes.end());
                   });
    EXPECT_TRUE(done);
    EXPECT_EQ(answer.decisions.size(), requests.size());
    EXPECT_EQ(answer.outcomes.size(), charges.size());
    return answer;
  }
  std::int64_t left(const std::vector<Attribute>& attributes) {
    Request look(attributes);
    look.peek = true;
    const Decision decision = engine_->check(look);
    return decision.decisive() == nullptr ? -1 : decision.decisive()->remaining;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<OtherStore> store_ = std::make_shared<OtherStore>();
  std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 22});
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
  std::shared_ptr<rules::RuleBook> book_;
  std::unique_ptr<Engine> engine_;
};

const std::vector<Attribute> kAnn = {{"user", "ann"}};
const std::vector<Attribute> kBob = {{"user", "bob"}};
const std::vector<Attribute> kHome = {{"path", "/"}};

Request of(const std::vector<Attribute>& attributes, std::int64_t cost = 1) { return Request(attributes, Cost{cost}); }

TEST_P(CheckTogether, IfOneIsDeniedNoneIsCharged) {
  serve({rule_of("users", "user", 2), rule_of("paths", "path", 10)});
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yy");
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yy");
  const Answer over = ask({of(kHome), of(kAnn)});
  EXPECT_EQ(over.verdict(), "yn");
  EXPECT_EQ(over.decisions[0].decisive()->remaining, 8) << "what is left, and nothing taken";
  EXPECT_EQ(over.decisions[1].decisive()->rule, "users");
  EXPECT_EQ(over.decisions[1].retry_after, 1h);
  EXPECT_EQ(left(kHome), 8);
  EXPECT_EQ(ask({of(kBob), of(kHome)}).verdict(), "yy");
  EXPECT_EQ(left(kHome), 7);
  EXPECT_EQ(counts_->allowed, 6) << "what was not charged decided nothing";
  EXPECT_EQ(counts_->denied, 1);
}

TEST_P(CheckTogether, ADenialThatCountsStillDoes) {
  Rule users = rule_of("users", "user", 5);
  users.count_denied = true;
  Rule paths = rule_of("paths", "path", 10);
  paths.count_denied = true;
  serve({users, paths});
  EXPECT_EQ(ask({of(kAnn, 7), of(kHome)}).verdict(), "ny");
  EXPECT_EQ(left(kAnn), 0);
  EXPECT_EQ(left(kHome), 10);
}

TEST_P(CheckTogether, AShadowRuleHoldsNothingBack) {
  Rule users = rule_of("users", "user", 1);
  users.mode = Mode::shadow;
  serve({users, rule_of("paths", "path", 10)});
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yy");
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yy");
  EXPECT_EQ(left(kHome), 8);
}

TEST_P(CheckTogether, ABucketThatSeveralChargeTakesTheSum) {
  serve({rule_of("users", "user", 5)});
  EXPECT_EQ(ask({of(kAnn, 2), of(kBob), of(kAnn, 2)}).verdict(), "yyy");
  EXPECT_EQ(left(kAnn), 1);
  EXPECT_EQ(ask({of(kAnn), of(kBob), of(kAnn)}).verdict(), "nyn") << "both do not fit";
  EXPECT_EQ(left(kAnn), 1);
  EXPECT_EQ(left(kBob), 4);
  EXPECT_EQ(ask({of(kAnn)}).verdict(), "y") << "the sum's denial is not remembered for one of them";
  EXPECT_EQ(ask({of(kAnn, kMaxUnits), of(kAnn, kMaxUnits)}).verdict(), "nn");
}

TEST_P(CheckTogether, IfNumbersDifferTheSmallerLimitAppliesToTheSharedBucket) {
  Rule users = rule_of("users", "user", 5);
  Override larger;
  larger.when = {{"kind", {"big"}}};
  larger.change.limit = 10;
  users.overrides = {larger};
  serve({users});
  const std::vector<Attribute> big = {{"user", "ann"}, {"kind", "big"}};
  EXPECT_EQ(ask({of(big, 4), of(kAnn, 4)}).verdict(), "nn");
  EXPECT_EQ(ask({of(kAnn, 4), of(big, 4)}).verdict(), "nn");
  EXPECT_EQ(left(kAnn), 5);
  EXPECT_EQ(ask({of(big, 3), of(kAnn, 2)}).verdict(), "yy");
}

TEST_P(CheckTogether, AdHocChargesArePartOfTheSameDecision) {
  serve({rule_of("users", "user", 2)});
  AllowanceSpec spec;
  spec.algorithm = Algorithm::fixed_window;
  spec.limit = 3;
  spec.window = 1h;
  const Allowance allowance = make_allowance(spec).value();
  const std::string_view subject[] = {"x"};
  AdHocCharge charge{.space = "test", .subject = subject, .allowance = &allowance, .cost = {}};
  EXPECT_EQ(ask({of(kAnn)}, {charge}).verdict(), "yY");
  EXPECT_EQ(ask({of(kAnn, 2)}, {charge}).verdict(), "nY");
  charge.cost = Cost{3};
  EXPECT_EQ(ask({of(kAnn)}, {charge}).verdict(), "yN");
  EXPECT_EQ(left(kAnn), 1);
  charge.cost = Cost{2};
  const Answer last = ask({of(kAnn)}, {charge});
  EXPECT_EQ(last.verdict(), "yY");
  EXPECT_EQ(last.outcomes[0].remaining, 0);
  EXPECT_EQ(counts_->charges, 3) << "one was neither charged nor denied";
}

TEST_P(CheckTogether, ARequestOutOfBoundsHoldsTheOthersBack) {
  serve({rule_of("users", "user", 2)});
  EXPECT_EQ(ask({of(kAnn), of(kBob, -1)}).verdict(), "yn");
  EXPECT_EQ(left(kAnn), 2);
}

TEST_P(CheckTogether, MoreBucketsThanOneCallMayChargeAreDenied) {
  serve({rule_of("users", "user", 2)});
  std::vector<std::string> names;
  std::vector<std::vector<Attribute>> attributes;
  for (std::size_t i = 0; i <= kMaxCharges; ++i) names.push_back("u" + std::to_string(i));
  for (const std::string& name : names) attributes.push_back({{"user", name}});
  std::vector<Request> requests;
  for (const auto& each : attributes) requests.push_back(of(each));
  EXPECT_EQ(ask(requests).verdict(), std::string(kMaxCharges + 1, 'n'));
  EXPECT_EQ(left(attributes[0]), 2);
  requests.pop_back();
  EXPECT_EQ(ask(requests).verdict(), std::string(kMaxCharges, 'y'));
}

TEST_P(CheckTogether, LocalLimitsAreTakenByAllOrNone) {
  Rule users = rule_of("users", "user", 100);
  users.local_limit = LocalLimit{};
  users.local_limit->limit = 2;
  users.local_limit->window = 1h;
  serve({users, rule_of("paths", "path", 1)});
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yy");
  EXPECT_EQ(ask({of(kAnn), of(kHome)}).verdict(), "yn") << "the path is over, so the cap is given back";
  EXPECT_EQ(ask({of(kBob), of(kAnn)}).verdict(), "yy");
  EXPECT_EQ(ask({of(kBob), of(kAnn)}).verdict(), "yn") << "the cap of ann is used up, and that of bob given back";
  EXPECT_EQ(left(kBob), 99);
  EXPECT_EQ(ask({of(kBob)}).verdict(), "y");
  EXPECT_EQ(ask({of(kBob)}).verdict(), "n");
}

TEST_P(CheckTogether, AStoreThatDoesNotAnswerLeavesEachRuleToItsPolicy) {
  Rule users = rule_of("users", "user", 2);
  users.on_store_failure = FailurePolicy::deny;
  serve({users, rule_of("paths", "path", 10)});
  store_->fails = true;
  const Answer answer = ask({of(kAnn), of(kHome)});
  EXPECT_EQ(answer.verdict(), "ny");
  EXPECT_TRUE(answer.decisions[0].degraded && answer.decisions[1].degraded);
  EXPECT_EQ(answer.decisions[0].reason, Reason::store_unavailable);
}

TEST_P(CheckTogether, ARequestWithoutRulesIsAllowed) {
  serve({rule_of("users", "user", 1)});
  EXPECT_EQ(ask({of({})}).verdict(), "y");
  const int calls = store_->calls;
  EXPECT_EQ(ask({}).verdict(), "");
  EXPECT_EQ(store_->calls, calls);
}

INSTANTIATE_TEST_SUITE_P(Stores, CheckTogether, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "AtOnce" : "Later"; });

TEST(CheckTogetherInMemory, WithoutRoomForOneBucketEachDecidesAlone) {
  auto book = std::make_shared<rules::RuleBook>();
  Rule rule = rule_of("users", "user", 5);
  rule.on_store_failure = FailurePolicy::deny;
  ASSERT_TRUE(book->replace({.rules = {rule}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 20});
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 20}));
  EXPECT_TRUE(engine.check({{"user", "ann"}}).allowed);
  std::string newcomer = "0";
  for (int i = 1; engine.check({{"user", newcomer}}).allowed; ++i) newcomer = std::to_string(i);
  const std::vector<Attribute> without_room = {{"user", newcomer}};
  const std::vector<Request> requests = {of(kAnn), of(without_room)};
  check_together(engine, requests, {}, [](std::span<const Decision> decisions, std::span<const ChargeOutcome>) {
    EXPECT_TRUE(decisions[0].allowed);
    EXPECT_EQ(decisions[0].decisive()->remaining, 3) << "ann has a bucket, and it is charged";
    EXPECT_FALSE(decisions[1].allowed);
  });
}

// Calls of several threads: what is admitted on one bucket is admitted on the other, never more.
TEST(CheckTogetherInMemory, IsAtomicBetweenThreads) {
  auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {rule_of("users", "user", 500), rule_of("paths", "path", 100'000)}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  const auto fallback = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 20});
  std::atomic<int> admitted = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      Engine engine(book, options, fallback);
      for (int i = 0; i < 500; ++i) {
        const std::vector<Request> requests = {of(kAnn), of(kHome)};
        check_together(engine, requests, {}, [&](std::span<const Decision> decisions, std::span<const ChargeOutcome>) {
          if (decisions[0].allowed && decisions[1].allowed) ++admitted;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, 500);
  Engine engine(book, options, fallback);
  Request look = of(kHome);
  look.peek = true;
  EXPECT_EQ(engine.check(look).decisive()->remaining, 100'000 - 500);
}

// Any calls on a few buckets, against a count kept by hand.
RC_GTEST_PROP(CheckTogetherModel, AgreesWithCountsKeptByHand, ()) {
  const bool immediate = *rc::gen::arbitrary<bool>();
  const bool count_denied = *rc::gen::arbitrary<bool>();
  auto book = std::make_shared<rules::RuleBook>();
  Rule rule = rule_of("users", "user", 8);
  rule.count_denied = count_denied;
  RC_ASSERT(book->replace({.rules = {rule}}).ok());
  auto store = std::make_shared<OtherStore>();
  store->immediate_now = immediate;
  LimiterOptions options;
  options.store = store;
  options.clock = std::make_shared<ManualClock>();
  options.hash_key = {1};
  Engine engine(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 20}));

  const std::vector<std::vector<Attribute>> users = {{{"user", "a"}}, {{"user", "b"}}, {{"user", "c"}}};
  std::map<std::size_t, std::int64_t> used;
  for (int calls = 0; calls < 12; ++calls) {
    std::vector<std::size_t> who;
    std::vector<Request> requests;
    std::map<std::size_t, std::int64_t> wanted;
    for (int left = *rc::gen::inRange(1, 4); left > 0; --left) {
      who.push_back(static_cast<std::size_t>(*rc::gen::inRange(0, 3)));
      const std::int64_t cost = *rc::gen::inRange<std::int64_t>(1, 5);
      requests.push_back(of(users[who.back()], cost));
      wanted[who.back()] += cost;
    }
    bool denied = false;
    for (const auto& [user, cost] : wanted) denied = denied || used[user] + cost > 8;
    check_together(engine, requests, {}, [&](std::span<const Decision> decisions, std::span<const ChargeOutcome>) {
      for (std::size_t i = 0; i < who.size(); ++i) {
        RC_ASSERT(decisions[i].allowed == (used[who[i]] + wanted[who[i]] <= 8));
      }
    });
    for (const auto& [user, cost] : wanted) {
      const bool fits = used[user] + cost <= 8;
      if (!denied) used[user] += cost;
      if (denied && !fits && count_denied) used[user] = 8;
    }
    for (std::size_t user = 0; user < users.size(); ++user) {
      Request look(users[user]);
      look.peek = true;
      RC_ASSERT(engine.check(look).decisive()->remaining == 8 - used[user]);
    }
  }
}

}  // namespace
}  // namespace weir::engine
