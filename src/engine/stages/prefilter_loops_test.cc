// The prefilters of several loops, each with its own engine on one store, as in a server: what one loop gives back or
// repays, no other loop refuses any longer, whatever was on its way at that moment.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <deque>
#include <optional>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

// Decides when it is asked and answers when the test says so: what a store on the network looks like from a loop.
class SlowStore final : public Store {
 public:
  explicit SlowStore(memory::MemoryStore& shared) : shared_(shared) {}

  bool begin(StoreCall& call) override {
    ++calls;
    EXPECT_TRUE(shared_.begin(call));
    call.atomic = atomic;
    if (fails) call.status = Code::deadline_exceeded;
    if (!holds || call.outcomes[0].admitted) return true;
    waiting_.push_back(&call);
    return false;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "slow"; }

  bool has_waiting() const { return !waiting_.empty(); }
  void answer_next() {
    StoreCall* const call = waiting_.front();
    waiting_.pop_front();
    call->complete();
  }

  int calls = 0;
  bool holds = false;  // denials wait for answer_next()
  bool atomic = true;
  bool fails = false;  // after it has charged

 private:
  memory::MemoryStore& shared_;
  std::deque<StoreCall*> waiting_;
};

// A server's loops, and one engine without a prefilter, which tells what the store would say.
class Loops {
 public:
  Loops(const Rules& rules, std::size_t count, std::shared_ptr<Clock> clock) {
    EXPECT_TRUE(book_->replace(rules).ok());
    LimiterOptions options;
    options.clock = std::move(clock);
    options.hash_key = {7};
    const auto generations = std::make_shared<BucketGenerations>();
    for (std::size_t i = 0; i <= count; ++i) {
      stores.push_back(std::make_shared<SlowStore>(shared_));
      options.store = stores.back();
      options.prefilter = i < count;
      engines.push_back(std::make_unique<Engine>(book_, options, fallback_, SharedState{.generations = generations}));
    }
  }

  Engine& operator[](std::size_t loop) { return *engines[loop]; }
  bool store_would_admit(Request request) {
    request.peek = true;
    return engines.back()->check(request).allowed;
  }
  Status replace(const Rules& rules) { return book_->replace(rules); }

  std::vector<std::shared_ptr<SlowStore>> stores;  // by loop; the last one asks for the truth
  std::vector<std::unique_ptr<Engine>> engines;

 private:
  memory::MemoryStore shared_;
  const std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  const std::shared_ptr<Store> fallback_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
};

Rule rule_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  Rule rule;
  rule.id = "a";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = algorithm, .limit = limit, .window = window};
  return rule;
}

TEST(PrefilterLoops, ARefundOrAResetIsSeenByEveryLoopAtOnce) {
  for (const bool reset : {false, true}) {
    const auto clock = std::make_shared<ManualClock>();
    Loops loops({.rules = {rule_of(Algorithm::fixed_window, 2, hours(1))}}, 3, clock);
    const Attribute attributes[] = {{"tenant", "x"}};
    const Request request(attributes);
    loops[0].check(request);
    loops[0].check(request);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(loops[i].check(request).source, "slow");
      EXPECT_EQ(loops[i].check(request).source, "prefilter");
    }
    EXPECT_TRUE((reset ? loops[1].reset(request) : loops[1].refund(request)).allowed);
    EXPECT_TRUE(loops[2].check(request).allowed) << "another loop";
    if (reset) {
      EXPECT_TRUE(loops[0].check(request).allowed);
    }
    EXPECT_FALSE(loops[0].check(request).allowed);
    EXPECT_EQ(loops[0].check(request).source, "prefilter") << "a new denial is remembered";
  }
}

TEST(PrefilterLoops, AnotherBucketStaysRefusedWithoutAskingTheStore) {
  const auto clock = std::make_shared<ManualClock>();
  Loops loops({.rules = {rule_of(Algorithm::fixed_window, 1, hours(1))}}, 2, clock);
  for (const char* tenant : {"x", "y", "x", "y"}) loops[0].check({{"tenant", tenant}});
  loops[1].refund({{"tenant", "x"}});
  EXPECT_EQ(loops[0].check({{"tenant", "y"}}).source, "prefilter");
}

TEST(PrefilterLoops, ADenialThatWasOnItsWayDuringARefundIsNotRemembered) {
  const auto clock = std::make_shared<ManualClock>();
  Loops loops({.rules = {rule_of(Algorithm::fixed_window, 1, hours(1))}}, 2, clock);
  const Attribute attributes[] = {{"tenant", "x"}};
  const Request request(attributes);
  ASSERT_TRUE(loops[0].check(request).allowed);
  loops.stores[1]->holds = true;
  std::optional<bool> allowed;
  loops[1].check(request, [&](const Decision& decision) { allowed = decision.allowed; });
  loops[0].refund(request);
  loops.stores[1]->answer_next();
  EXPECT_EQ(allowed, false) << "it was asked before the refund";
  loops.stores[1]->holds = false;
  EXPECT_TRUE(loops[1].check(request).allowed);
}

TEST(PrefilterLoops, ARefundWhoseAnswerWasLostMayHaveHappened) {
  const auto clock = std::make_shared<ManualClock>();
  Loops loops({.rules = {rule_of(Algorithm::fixed_window, 1, hours(1))}}, 2, clock);
  const Attribute attributes[] = {{"tenant", "x"}};
  const Request request(attributes);
  for (int i = 0; i < 3; ++i) loops[0].check(request);
  loops.stores[1]->fails = true;
  loops[1].refund(request);
  EXPECT_TRUE(loops[0].check(request).allowed);
}

TEST(PrefilterLoops, WhatOneBucketHeldForADeniedRequestIsFreeAgainOnEveryLoop) {
  // One slot of a cluster has charged and given back, because the bucket in another slot denied.
  for (const bool fails : {false, true}) {
    const auto clock = std::make_shared<ManualClock>();
    Rule narrow = rule_of(Algorithm::fixed_window, 1, hours(1));
    narrow.id = "narrow";
    narrow.match = {{"wide", {"no"}}};
    Rule wide = rule_of(Algorithm::fixed_window, 2, hours(1));
    wide.id = "wide";
    Loops loops({.rules = {narrow, wide}}, 2, clock);
    const Attribute only_wide[] = {{"tenant", "x"}, {"wide", "yes"}};
    const Attribute wide_and_narrow[] = {{"tenant", "x"}, {"wide", "no"}};
    const Request alone(only_wide);
    const Request both(wide_and_narrow);
    ASSERT_TRUE(loops[0].check(both).allowed);
    ASSERT_TRUE(loops[0].check(alone).allowed);
    ASSERT_FALSE(loops[0].check(alone).allowed);
    ASSERT_EQ(loops[0].check(alone).source, "prefilter");
    loops.engines.back()->refund(alone);  // the store gives back by itself
    loops.stores[1]->atomic = false;
    loops.stores[1]->fails = fails;
    ASSERT_EQ(loops[1].check(both).allowed, fails);
    EXPECT_NE(loops[0].check(alone).source, "prefilter");
  }
}

TEST(PrefilterLoops, WhatDeniedIsRememberedAlsoWhereOtherBucketsAreGivenBack) {
  const auto clock = std::make_shared<ManualClock>();
  Loops loops({.rules = {rule_of(Algorithm::fixed_window, 1, hours(1))}}, 1, clock);
  loops.stores[0]->atomic = false;
  const Attribute attributes[] = {{"tenant", "x"}};
  ASSERT_TRUE(loops[0].check(Request(attributes)).allowed);
  ASSERT_EQ(loops[0].check(Request(attributes)).source, "slow");
  EXPECT_EQ(loops[0].check(Request(attributes)).source, "prefilter");
}

// The allowance that a denial was remembered under is the one that it holds for.
TEST(PrefilterLoops, ADenialUnderOneAllowanceDoesNotRefuseUnderAnother) {
  const auto clock = std::make_shared<ManualClock>();
  Rule rule = rule_of(Algorithm::token_bucket, 2, hours(1));
  rule.plans = {{"gold", {.limit = 10}}, {"quick", {.window = Duration(minutes(1))}}, {"burst", {.burst = 9}}};
  rule.overrides.emplace_back();
  rule.overrides.back().when = {{"method", {"GET"}}};
  rule.overrides.back().change.limit = 20;
  Rule queue = rule_of(Algorithm::leaky_bucket, 2, hours(1));
  queue.id = "queue";
  queue.match = {{"tenant", {"queue"}}};
  queue.plans = {{"long", {.queue = 9}}};
  rule.match = {{"tenant", {"x"}}};
  Loops loops({.rules = {rule, queue}}, 1, clock);
  for (const char* tenant : {"x", "queue"}) {
    for (int i = 0; i < 4; ++i) loops[0].check({{"tenant", tenant}});
    ASSERT_EQ(loops[0].check({{"tenant", tenant}}).source, "prefilter");
  }
  EXPECT_EQ(loops[0].check({{"tenant", "x"}, {"plan", "gold"}}).source, "slow");
  EXPECT_EQ(loops[0].check({{"tenant", "x"}, {"plan", "quick"}}).source, "slow");
  EXPECT_EQ(loops[0].check({{"tenant", "x"}, {"plan", "burst"}}).source, "slow");
  EXPECT_EQ(loops[0].check({{"tenant", "x"}, {"method", "GET"}}).source, "slow");
  EXPECT_EQ(loops[0].check({{"tenant", "queue"}, {"plan", "long"}}).source, "slow");
}

TEST(PrefilterLoops, ADenialWithCoarserSubBucketsDoesNotOutliveAReload) {
  const auto clock = std::make_shared<ManualClock>();
  Rule rule = rule_of(Algorithm::bucketed_window, 1, hours(1));
  rule.allowance.buckets = 2;
  Loops loops({.rules = {rule}}, 1, clock);
  for (int i = 0; i < 3; ++i) loops[0].check({{"tenant", "x"}});
  ASSERT_EQ(loops[0].check({{"tenant", "x"}}).source, "prefilter");
  rule.allowance.buckets = 60;
  ASSERT_TRUE(loops.replace({.rules = {rule}}).ok());
  EXPECT_EQ(loops[0].check({{"tenant", "x"}}).source, "slow");
}

// One thing that happens to one bucket, on one of three loops.
struct Step {
  enum class Kind : std::uint8_t { ask, ask_and_hold, answer_held, refund, reset };
  Kind kind = Kind::ask;
  std::size_t loop = 0;
  Duration after{0};
  const char* plan = "";
  std::int64_t cost = 1;
};

rc::Gen<Step> any_step() {
  using Kind = Step::Kind;
  using rc::gen::element;
  using rc::gen::set;
  using rc::gen::weightedElement;
  return rc::gen::build<Step>(
      set(&Step::kind,
          weightedElement<Kind>(
              {{12, Kind::ask}, {4, Kind::ask_and_hold}, {3, Kind::answer_held}, {2, Kind::refund}, {1, Kind::reset}})),
      set(&Step::loop, element<std::size_t>(0, 1, 2)),
      set(&Step::after, element(Duration{0}, Duration{0}, Duration{500}, Duration{20'000}, Duration{300'000})),
      set(&Step::plan, weightedElement<const char*>({{3, "none"}, {1, "slow"}, {2, "fast"}})),
      set(&Step::cost, weightedElement<std::int64_t>({{8, 1}, {2, 2}, {1, 3}, {1, 0}})));
}

// Any sequence of takes, refunds and resets on three loops, under several allowances of one rule, with answers that
// arrive late: when a prefilter refuses, the store would have refused as well.
void refuses_only_what_the_store_would(Algorithm algorithm) {
  const auto clock = std::make_shared<ManualClock>();
  Rule rule = rule_of(algorithm, *rc::gen::element<std::int64_t>(1, 2, 5),
                      *rc::gen::element(Duration{10'000}, Duration{700'000}, Duration{5'000'000}));
  if (algorithm == Algorithm::bucketed_window) rule.allowance.buckets = 10;
  rule.count_denied = *rc::gen::weightedElement<bool>({{4, false}, {1, true}});
  rule.plans = {{"slow", {.limit = 1}}, {"fast", {.limit = 60}}};
  Loops loops({.rules = {rule}}, 3, clock);
  for (const Step& step : *rc::gen::container<std::vector<Step>>(150, any_step())) {
    Engine& engine = loops[step.loop];
    SlowStore& store = *loops.stores[step.loop];
    clock->advance(step.after);
    const Attribute attributes[] = {{"tenant", "x"}, {"plan", step.plan}};
    const Request request(attributes, Cost{step.cost});
    const bool would_admit = loops.store_would_admit(request);
    store.holds = step.kind == Step::Kind::ask_and_hold;
    if (step.kind == Step::Kind::answer_held) {
      if (store.has_waiting()) store.answer_next();
    } else if (step.kind == Step::Kind::refund) {
      engine.refund(request);
    } else if (step.kind == Step::Kind::reset) {
      engine.reset(request);
    } else {
      bool refused = false;
      engine.check(request, [&, held = store.holds](const Decision& decision) {
        if (!held) refused = decision.source == "prefilter";
      });
      RC_ASSERT(!refused || !would_admit);
    }
  }
  for (const auto& store : loops.stores) {
    while (store->has_waiting()) store->answer_next();
  }
}

class PrefilterLoopsModel : public ::testing::TestWithParam<Algorithm> {};

TEST_P(PrefilterLoopsModel, RefusesOnlyWhatTheStoreWould) {
  EXPECT_TRUE(
      rc::check("no loop refuses what the store would admit", [] { refuses_only_what_the_store_would(GetParam()); }));
}

INSTANTIATE_TEST_SUITE_P(Every, PrefilterLoopsModel,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                           Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                           Algorithm::leaky_bucket),
                         [](const auto& param) {
                           std::string name(algorithm_name(param.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace weir::engine
