// Counts of different values, candidates and adaptive limits as callers see them.
#include <gtest/gtest.h>

#include <chrono>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Answers as the memory store does, but says that it may answer later, so that the prefilter is used.
class PatientStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    return memory_.begin(call);
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "patient"; }

  int calls = 0;

 private:
  memory::MemoryStore memory_;
};

class ProtectionTest : public ::testing::Test {
 protected:
  void use(std::vector<Rule> rules, const std::shared_ptr<Store>& store = nullptr) {
    LimiterOptions options;
    options.store = store != nullptr ? store : memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    ASSERT_TRUE(book_->replace({.rules = std::move(rules)}, clock_->wall()).ok());
    engine_ = std::make_unique<Engine>(book_, options, memory_);
  }
  void reload(std::vector<Rule> rules) {
    const Status loaded = book_->replace({.rules = std::move(rules)}, clock_->wall());
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  }
  Decision login(std::string_view device, std::string_view account) {
    return engine_->check({{"device", device}, {"account", account}});
  }

  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<Store> memory_ = std::make_shared<memory::MemoryStore>(MemoryOptions{});
  std::unique_ptr<Engine> engine_;
};

Rule accounts_per_device(Algorithm algorithm = Algorithm::sliding_log) {
  Rule rule;
  rule.id = "accounts";
  rule.per = {"device"};
  rule.distinct = "account";
  rule.allowance = {.algorithm = algorithm, .limit = 2, .window = 60s};
  return rule;
}

Rule with_candidate(std::int64_t limit, std::int64_t candidate) {
  Rule rule;
  rule.id = "search";
  rule.per = {"device"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 60s};
  rule.candidate = AllowanceChange{.limit = candidate};
  return rule;
}

TEST_F(ProtectionTest, DifferentValuesAreCountedWhateverTheyCost) {
  use({accounts_per_device()});
  EXPECT_TRUE(login("d", "ann").allowed);
  const Decision again = engine_->check(Request({{"device", "d"}, {"account", "ann"}}, Cost{7}));
  EXPECT_TRUE(again.allowed);
  EXPECT_EQ(again.cost, 1);
  EXPECT_EQ(again.rules[0].remaining, 1);
  EXPECT_TRUE(login("d", "bob").allowed);
  const Decision denied = login("d", "carl");
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.reason, Reason::limit_exceeded);
  EXPECT_TRUE(login("d", "ann").allowed);
  EXPECT_TRUE(login("e", "carl").allowed);
  EXPECT_EQ(engine_->check({{"device", "d"}}).reason, Reason::no_rule) << "there is no value to count";
}

TEST_F(ProtectionTest, ADeniedValueDoesNotMakeThePrefilterDenyOthers) {
  const auto store = std::make_shared<PatientStore>();
  use({accounts_per_device()}, store);
  login("d", "ann");
  login("d", "bob");
  EXPECT_FALSE(login("d", "carl").allowed);
  EXPECT_TRUE(login("d", "ann").allowed);
  EXPECT_EQ(engine_->prefilter_hits(), 0U);
}

TEST_F(ProtectionTest, ACandidateWarmsUpForOneWindowAndThenJudges) {
  use({with_candidate(3, 1)});
  EXPECT_EQ(login("d", "a").rules[0].candidate, CandidateVerdict::warming);
  clock_->advance(60s);
  EXPECT_EQ(login("d", "a").rules[0].candidate, CandidateVerdict::allows);
  const Decision second = login("d", "a");
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.rules[0].candidate, CandidateVerdict::denies);
  EXPECT_EQ(second.rules[0].remaining, 1) << "the active numbers are charged as ever";
}

TEST_F(ProtectionTest, ALoadWithTheSameCandidateKeepsItWarmAndAnotherOneWarmsUpAgain) {
  use({with_candidate(3, 1)});
  clock_->advance(60s);
  reload({with_candidate(3, 1)});
  EXPECT_EQ(login("d", "a").rules[0].candidate, CandidateVerdict::allows);
  reload({with_candidate(3, 2)});
  EXPECT_EQ(login("d", "a").rules[0].candidate, CandidateVerdict::warming);
}

TEST_F(ProtectionTest, PromotionKeepsTheBucketInUse) {
  use({with_candidate(3, 2)});
  login("d", "a");
  login("d", "a");
  Rule promoted = with_candidate(2, 2);
  promoted.candidate.reset();
  reload({promoted});
  const Decision denied = login("d", "a");
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(denied.rules[0].candidate, CandidateVerdict::none);
}

TEST_F(ProtectionTest, ALargerCandidateIsJudgedOnWhatThePrefilterWouldRefuse) {
  use({with_candidate(1, 2)}, std::make_shared<PatientStore>());
  clock_->advance(60s);
  EXPECT_TRUE(login("d", "a").allowed);
  const Decision second = login("d", "a");
  EXPECT_FALSE(second.allowed);
  EXPECT_EQ(second.rules[0].candidate, CandidateVerdict::allows);
  EXPECT_EQ(login("d", "a").rules[0].candidate, CandidateVerdict::denies);
  EXPECT_EQ(engine_->prefilter_hits(), 0U);
}

TEST_F(ProtectionTest, RequestsOfAPlanAreNotJudged) {
  Rule rule = with_candidate(3, 1);
  rule.plans = {{.name = "pro", .change = {.limit = 100}}};
  use({rule});
  clock_->advance(60s);
  EXPECT_EQ(engine_->check({{"device", "d"}, {"plan", "pro"}}).rules[0].candidate, CandidateVerdict::none);
  EXPECT_EQ(engine_->check({{"device", "d"}}).rules[0].candidate, CandidateVerdict::allows);
}

Rule adapting(Mode mode) {
  Rule rule;
  rule.id = "exports";
  rule.kind = ChargeKind::lease;
  rule.auto_limit = AutoLimit{2, 50};
  rule.allowance.limit = 50;
  rule.lease = 60s;
  rule.mode = mode;
  return rule;
}

LeaseAnswer acquire(Engine& engine) {
  LeaseQuestion question;
  question.verb = LeaseQuestion::Verb::acquire;
  return engine.leases()->ask(question);
}

TEST_F(ProtectionTest, AnAdaptiveLimitBeginsAtItsLeastAndGrowsWhileLeasesAreShort) {
  use({adapting(Mode::enforce)});
  EXPECT_TRUE(acquire(*engine_).decision.allowed);
  EXPECT_TRUE(acquire(*engine_).decision.allowed);
  const LeaseAnswer third = acquire(*engine_);
  EXPECT_FALSE(third.decision.allowed);
  EXPECT_EQ(third.decision.reason, Reason::concurrency_exceeded);
  EXPECT_EQ(third.decision.rules[0].limit, 2);
}

TEST_F(ProtectionTest, InShadowModeAnAdaptiveLimitCountsAllAndHoldsBackNothing) {
  use({adapting(Mode::shadow)});
  for (int i = 0; i < 5; ++i) {
    const LeaseAnswer answer = acquire(*engine_);
    EXPECT_TRUE(answer.decision.allowed);
    EXPECT_EQ(answer.decision.rules[0].allowed, i < 2);
    EXPECT_EQ(answer.decision.rules[0].limit, 2);
  }
}

}  // namespace
}  // namespace weir::engine
