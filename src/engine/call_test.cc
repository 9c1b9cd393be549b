// Calls to a limiter whose store answers later: what is known is answered at once, the rest once and completely, and
// nothing of the caller's is needed after begin() has returned.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "engine/rotating_limiter.h"
#include "stores/memory/memory_store.h"
#include "weir/ask.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Keeps every call until the test lets it through. Thread-safe.
class HoldingStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    const std::lock_guard lock(mutex_);
    held_.push_back(&call);
    changed_.notify_all();
    return false;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "holding"; }

  std::size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  // Answers the oldest call or the newest one, once there is one.
  void answer(bool newest = false) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_.empty(); });
    const auto chosen = newest ? held_.end() - 1 : held_.begin();
    StoreCall* const call = *chosen;
    held_.erase(chosen);
    lock.unlock();
    EXPECT_TRUE(memory_.begin(*call));
    call->complete();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<StoreCall*> held_;  // guarded by mutex_
  memory::MemoryStore memory_;
};

class Seen final : public Observer {
 public:
  void on_decision(const Decision& decision) override { decisions.push_back(decision.allowed); }
  void on_charge(std::string_view space, const ChargeOutcome&) override { spaces.emplace_back(space); }
  std::vector<bool> decisions;
  std::vector<std::string> spaces;
};

Rule rule_of(const char* attribute, std::int64_t limit) {
  Rule rule;
  rule.id = attribute;
  rule.match = {{attribute, {"*"}}};
  rule.per = {attribute};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  return rule;
}

class CallTest : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine(std::uint8_t key) {
    LimiterOptions options;
    options.store = store_;
    options.clock = std::make_shared<ManualClock>();
    options.hash_key = {key};
    options.observers = {first_, second_};
    return std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>());
  }
  void SetUp() override { ASSERT_TRUE(book_->replace({.rules = {rule_of("tenant", 2)}}).ok()); }

  // "now: y" or "later: yn", for each decision.
  void check(Limiter& limiter, std::span<const Request> requests) {
    std::vector<Decision> room(requests.size());
    const auto text = [](std::span<const Decision> decisions) {
      std::string answers;
      for (const Decision& decision : decisions) answers += decision.allowed ? 'y' : 'n';
      return answers;
    };
    ask(
        limiter, Action::take, requests, room,
        [&](std::span<const Decision> decisions) { answers_.push_back("now: " + text(decisions)); },
        [this, text] {
          return [this, text](std::span<const Decision> decisions) { answers_.push_back("later: " + text(decisions)); };
        });
  }

  std::shared_ptr<HoldingStore> store_ = std::make_shared<HoldingStore>();
  std::shared_ptr<Seen> first_ = std::make_shared<Seen>();
  std::shared_ptr<Seen> second_ = std::make_shared<Seen>();
  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::vector<std::string> answers_;
};

TEST_F(CallTest, WhatIsKnownWithoutTheStoreIsAnsweredAtOnce) {
  const auto engine = this->engine(1);
  const Attribute user[] = {{"user", "ann"}};
  const Attribute acme[] = {{"tenant", "acme"}};
  check(*engine, std::vector{Request(user), Request(acme, Cost{-1})});
  EXPECT_EQ(answers_, std::vector<std::string>{"now: yn"}) << "no rule; out of bounds";
  check(*engine, std::vector{Request(acme, Cost{3})});
  store_->answer();
  check(*engine, std::vector{Request(acme, Cost{3})});
  EXPECT_EQ(answers_.back(), "later: n") << "too large, which is not an exhausted bucket";
  store_->answer();
  check(*engine, std::vector{Request(acme, Cost{2})});
  store_->answer();
  check(*engine, std::vector{Request(acme)});
  store_->answer();
  check(*engine, std::vector{Request(acme)});
  EXPECT_EQ(answers_.back(), "now: n") << "the prefilter";
  EXPECT_EQ(store_->held(), 0u);
}

TEST_F(CallTest, ABatchIsCompletedOnceWithEveryDecisionInItsPlace) {
  const auto engine = this->engine(1);
  {
    const std::string names[] = {"acme", "other"};
    const Attribute acme[] = {{"tenant", names[0]}};
    const Attribute other[] = {{"tenant", names[1]}};
    check(*engine, std::vector{Request(acme, Cost{-1}), Request(other), Request(acme, Cost{3}), Request(acme)});
  }
  EXPECT_EQ(store_->held(), 3u) << "all are under way at once";
  store_->answer(true);
  store_->answer(true);
  EXPECT_TRUE(answers_.empty());
  store_->answer(true);
  EXPECT_EQ(answers_, std::vector<std::string>{"later: nyny"});
}

TEST_F(CallTest, ARotationNeedsNothingOfTheCallerLater) {
  const auto before = engine(1);
  const auto after = engine(2);
  RotatingLimiter during(*before, *after);
  {
    const std::string names[] = {"a tenant whose name is longer than a small string", "old", "new"};
    const Attribute attributes[] = {{"tenant", names[0]}};
    const Attribute hashed[] = {{"tenant", names[2]}, {"tenant@previous", names[1]}};
    check(during, std::vector{Request(attributes), Request(hashed)});
  }
  for (int i = 0; i < 4; ++i) store_->answer();
  EXPECT_EQ(answers_, std::vector<std::string>{"later: yy"});
  const Attribute old[] = {{"tenant", "old"}};
  const Attribute fresh[] = {{"tenant", "new"}};
  check(*before, std::vector{Request(old, Cost{2})});
  check(*after, std::vector{Request(fresh, Cost{2})});
  for (int i = 0; i < 2; ++i) store_->answer();
  EXPECT_EQ(answers_, (std::vector<std::string>{"later: yy", "later: n", "later: n"})) << "one was charged in each";
}

TEST_F(CallTest, AnAdHocChargeNeedsNothingOfTheCallerLater) {
  const auto engine = this->engine(1);
  RotatingLimiter during(*engine, *engine);
  for (AdHocLimiter* limiter : {engine->ad_hoc(), during.ad_hoc()}) {
    int answers = 0;
    {
      auto allowance = std::make_unique<Allowance>(make_allowance({.limit = 9, .window = 1h}).value());
      const std::string subject = "a subject that is longer than a small string";
      const std::string_view parts[] = {subject};
      limiter->charge({.space = "test", .subject = parts, .allowance = allowance.get(), .cost = {}},
                      [&](const ChargeOutcome& outcome) { answers += outcome.admitted ? 1 : 100; });
    }
    while (store_->held() > 0) store_->answer();
    EXPECT_EQ(answers, 1);
  }
}

TEST_F(CallTest, ABlockingCallWaitsForTheStoresThread) {
  const auto engine = this->engine(1);
  std::thread store([&] {
    for (int i = 0; i < 5; ++i) store_->answer();
  });
  EXPECT_TRUE(engine->check({{"tenant", "acme"}}).allowed);
  EXPECT_EQ(engine->refund({{"tenant", "acme"}}).decisive()->remaining, 2);
  const Attribute acme[] = {{"tenant", "acme"}};
  const std::vector<Request> requests(3, Request(acme));
  std::vector<Decision> decisions(3);
  engine->check_batch(requests, decisions);
  store.join();
  EXPECT_TRUE(decisions[0].allowed && decisions[1].allowed);
  EXPECT_FALSE(decisions[2].allowed);
}

TEST_F(CallTest, EveryObserverSeesEveryDecisionAndCharge) {
  const auto engine = this->engine(1);
  const Attribute acme[] = {{"tenant", "acme"}};
  check(*engine, std::vector{Request(acme), Request(acme, Cost{2})});
  const Allowance allowance = make_allowance({.limit = 9, .window = 1h}).value();
  engine->charge({.space = "test", .subject = {}, .allowance = &allowance, .cost = {}}, [](const ChargeOutcome&) {});
  while (store_->held() > 0) store_->answer();
  for (const auto& observer : {first_, second_}) {
    EXPECT_EQ(observer->decisions, (std::vector<bool>{true, false}));
    EXPECT_EQ(observer->spaces, std::vector<std::string>{"test"});
  }
}

}  // namespace
}  // namespace weir::engine
