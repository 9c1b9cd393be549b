// What request observers see: the request behind each decision, also when the store answers after it is gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/ask.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Answers when the test says so, or fails.
class DelayedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    waiting.push_back(&call);
    return false;
  }
  void answer() {
    for (StoreCall* call : std::exchange(waiting, {})) {
      if (fails) {
        call->status = Code::unavailable;
      } else {
        EXPECT_TRUE(memory_.begin(*call));
      }
      call->complete();
    }
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "slow"; }

  bool fails = false;
  std::vector<StoreCall*> waiting;

 private:
  memory::MemoryStore memory_;
};

struct ShownRequest {
  std::vector<std::string> attributes;  // "name=value"
  bool complete = false;
  std::vector<std::string> per;
  std::uint64_t rules_version = 0;
  std::optional<Duration> store_latency;
  bool allowed = false;
  std::size_t rules = 0;
};

class RequestWatcher final : public RequestObserver {
 public:
  explicit RequestWatcher(Scope scope) : scope_(scope) {}
  Scope scope() const override { return scope_; }
  void on_decision(const Decision& decision, const RequestContext& context) override {
    ShownRequest& each = shown.emplace_back();
    for (const Attribute& attribute : context.attributes) {
      each.attributes.push_back(std::string(attribute.name) + "=" + std::string(attribute.value));
    }
    each.complete = context.complete;
    each.per.assign(context.per.begin(), context.per.end());
    each.rules_version = context.rules_version;
    each.store_latency = context.store_latency;
    each.allowed = decision.allowed;
    each.rules = decision.rules.size();
  }
  std::vector<ShownRequest> shown;

 private:
  const Scope scope_;
};

Rule rule_per(const char* id, std::vector<std::string> per, std::int64_t limit) {
  Rule rule;
  rule.id = id;
  rule.per = std::move(per);
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 1h};
  rule.on_store_failure = FailurePolicy::allow;
  return rule;
}

class RequestObserverTest : public testing::Test {
 protected:
  void make(std::shared_ptr<Store> store, const std::vector<Rule>& rules,
            RequestObserver::Scope scope = RequestObserver::Scope::every_decision, bool prefilter = false) {
    watcher_ = std::make_shared<RequestWatcher>(scope);
    LimiterOptions options;
    options.store = std::move(store);
    options.clock = clock_;
    options.hash_key = {1};
    options.request_observers = {watcher_};
    options.prefilter = prefilter;
    auto book = std::make_shared<rules::RuleBook>();
    ASSERT_TRUE(book->replace({rules, false}).ok());
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{1 << 22}));
  }
  // The request's strings are gone when this returns.
  void ask_with(std::vector<std::pair<std::string, std::string>> texts) {
    std::vector<Attribute> attributes;
    for (const auto& [name, value] : texts) attributes.push_back({name, value});
    engine_->check(Request(attributes), [](const Decision&) {});
    for (auto& [name, value] : texts) std::fill(value.begin(), value.end(), '!');
  }
  const ShownRequest& last() { return watcher_->shown.back(); }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<DelayedStore> slow_ = std::make_shared<DelayedStore>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>();
  std::shared_ptr<RequestWatcher> watcher_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(RequestObserverTest, SeesTheWholeRequestIfTheStoreAnswersAtOnce) {
  make(memory_, {rule_per("a", {"tenant"}, 1)});
  EXPECT_TRUE(engine_->check({{"tenant", "acme"}, {"color", "red"}}).allowed);
  EXPECT_FALSE(engine_->check({{"tenant", "acme"}, {"color", "red"}}).allowed);
  ASSERT_EQ(watcher_->shown.size(), 2u);
  EXPECT_FALSE(last().allowed);
  EXPECT_THAT(last().attributes, ElementsAre("tenant=acme", "color=red"));
  EXPECT_THAT(last().per, ElementsAre("tenant"));
  EXPECT_TRUE(last().complete);
  EXPECT_EQ(last().store_latency, std::nullopt);
}

TEST_F(RequestObserverTest, SeesWhatWasKeptIfTheStoreAnswersLater) {
  make(slow_, {rule_per("a", {"session|ip"}, 5)});
  ask_with({{"color", "red"}, {"ip", "198.51.100.7"}, {"action", "search"}, {"tenant", "acme"}});
  EXPECT_THAT(watcher_->shown, IsEmpty());
  clock_->advance(412us);
  slow_->answer();
  EXPECT_THAT(last().attributes, ElementsAre("action=search", "tenant=acme", "ip=198.51.100.7"));
  EXPECT_THAT(last().per, ElementsAre("session|ip"));
  EXPECT_TRUE(last().complete);
  EXPECT_EQ(last().store_latency, 412us);
}

TEST_F(RequestObserverTest, KeepsABoundedPartAndTheTenantFirst) {
  make(slow_, {rule_per("a", {"user", "tenant"}, 5)});
  ask_with({{"user", std::string(4'000, 'u')}, {"tenant", std::string(1'000, 't')}});
  slow_->answer();
  EXPECT_THAT(last().attributes, ElementsAre("tenant=" + std::string(1'000, 't')));
  EXPECT_FALSE(last().complete);
}

TEST_F(RequestObserverTest, EachRequestOfABatchIsShownWithItsOwnAttributes) {
  make(slow_, {rule_per("a", {"tenant"}, 5)});
  ask_with({{"tenant", "one"}});
  ask_with({{"tenant", "two"}});
  slow_->answer();
  ASSERT_EQ(watcher_->shown.size(), 2u);
  EXPECT_THAT(watcher_->shown[0].attributes, ElementsAre("tenant=one"));
  EXPECT_THAT(watcher_->shown[1].attributes, ElementsAre("tenant=two"));
}

TEST_F(RequestObserverTest, OneOfDegradedDecisionsSeesOnlyThoseAndNothingIsKeptForIt) {
  make(slow_, {rule_per("a", {"tenant"}, 5)}, RequestObserver::Scope::degraded_only);
  ask_with({{"tenant", "acme"}});
  slow_->answer();
  EXPECT_THAT(watcher_->shown, IsEmpty());
  slow_->fails = true;
  ask_with({{"tenant", "acme"}});
  clock_->advance(20ms);
  slow_->answer();
  ASSERT_EQ(watcher_->shown.size(), 1u);
  EXPECT_TRUE(last().allowed);
  EXPECT_THAT(last().attributes, IsEmpty());
  EXPECT_FALSE(last().complete);
  EXPECT_EQ(last().store_latency, 20ms);
}

TEST_F(RequestObserverTest, ADecisionNamesTheRulesThatMadeItAlsoAfterAReload) {
  make(slow_, {rule_per("a", {"tenant"}, 5)});
  ask_with({{"tenant", "acme"}});
  ASSERT_TRUE(engine_->replace({{rule_per("a", {"tenant"}, 9)}, false}).ok());
  slow_->answer();
  EXPECT_EQ(last().rules_version, 1u);
  ask_with({{"tenant", "acme"}});
  slow_->answer();
  EXPECT_EQ(last().rules_version, 2u);
}

TEST_F(RequestObserverTest, TheStoreThatWasNotAskedHasNoLatency) {
  make(slow_, {rule_per("a", {"tenant"}, 1)}, RequestObserver::Scope::every_decision, true);
  for (int i = 0; i < 2; ++i) {
    ask_with({{"tenant", "acme"}});
    slow_->answer();
  }
  EXPECT_EQ(last().store_latency, Duration::zero());
  ask_with({{"tenant", "acme"}, {"color", "red"}});
  EXPECT_EQ(watcher_->shown.size(), 3u) << "the prefilter answers at once";
  EXPECT_EQ(last().store_latency, std::nullopt);
  EXPECT_THAT(last().attributes, ElementsAre("tenant=acme", "color=red"));
  engine_->check({{"color", "red"}});
  EXPECT_EQ(last().store_latency, std::nullopt) << "no rule applies";
}

TEST_F(RequestObserverTest, PeeksAndRefundsAreNotShownAndHiddenRulesAre) {
  Rule hidden = rule_per("a", {"tenant"}, 5);
  hidden.hidden = Hidden::answer;
  make(memory_, {hidden});
  const Attribute attributes[] = {{"tenant", "acme"}};
  Request request(attributes);
  request.peek = true;
  engine_->check(request);
  request.peek = false;
  engine_->refund(request);
  EXPECT_THAT(watcher_->shown, IsEmpty());
  EXPECT_EQ(engine_->check(request).rules.size(), 0u);
  EXPECT_EQ(last().rules, 1u);
}

}  // namespace
}  // namespace weir::engine
