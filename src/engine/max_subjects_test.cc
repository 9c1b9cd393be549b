// Rule::max_subjects through the engine: existing subjects keep their buckets, newcomers beyond share one.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

Rule per_ip(std::int64_t max_subjects, std::int64_t limit = 2) {
  Rule rule;
  rule.id = "per-ip";
  rule.per = {"ip"};
  rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = limit, .window = 60s};
  rule.max_subjects = max_subjects;
  return rule;
}

Rule per_tenant() {
  Rule rule;
  rule.id = "per-tenant";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = 1'000, .window = 60s};
  return rule;
}

// Answers like one on the network: later, when it is told to.
class LateStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    EXPECT_TRUE(memory.begin(call));
    waiting = &call;
    return false;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "late"; }
  void answer_all() {
    while (waiting != nullptr) std::exchange(waiting, nullptr)->complete();
  }
  memory::MemoryStore memory;
  StoreCall* waiting = nullptr;
  int calls = 0;
};

class MaxSubjects : public testing::Test {
 protected:
  void load(const std::vector<Rule>& rules) {
    Rules all;
    all.rules = rules;
    const Status loaded = book_->replace(all);
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book_, options, fallback_);
  }

  Decision check(const std::string& ip, Action action = Action::take) { return check_with(*engine_, ip, action); }
  static Decision check_with(Engine& engine, const std::string& ip, Action action = Action::take,
                             std::string_view method = "GET") {
    const std::array<Attribute, 3> attributes{Attribute{"ip", ip}, Attribute{"tenant", "acme"},
                                              Attribute{"method", method}};
    Request request(attributes);
    request.peek = action == Action::peek;
    return engine.check(request);
  }
  static std::string ip(int number) {
    return "10.0." + std::to_string(number / 256) + "." + std::to_string(number % 256);
  }
  std::int64_t count(std::string_view rule) const {
    return store_->subjects().of(book_->names().find(rule)->ordinal + 1);
  }

  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<memory::MemoryStore> store_ = std::make_shared<memory::MemoryStore>();
  std::shared_ptr<memory::MemoryStore> fallback_ = std::make_shared<memory::MemoryStore>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(MaxSubjects, NewcomersBeyondShareOneBucketAndTheOthersKeepTheirs) {
  load({per_ip(3)});
  for (int i = 0; i < 3; ++i) {
    const Decision own = check(ip(i));
    EXPECT_TRUE(own.allowed);
    EXPECT_FALSE(own.rules[0].shared);
  }
  EXPECT_EQ(count("per-ip"), 3);
  const Decision first = check(ip(3));
  EXPECT_TRUE(first.allowed);
  EXPECT_TRUE(first.rules[0].shared);
  EXPECT_EQ(first.rules[0].remaining, 1);
  EXPECT_TRUE(check(ip(4)).allowed);
  const Decision denied = check(ip(5));
  EXPECT_FALSE(denied.allowed) << "the third of those that share";
  EXPECT_EQ(denied.rules[0].subject, first.rules[0].subject);
  SubjectDigits room;
  EXPECT_EQ(subject_text(denied.rules[0], room), "shared");
  EXPECT_EQ(check(ip(0)).rules[0].remaining, 0) << "its own second";
  EXPECT_FALSE(check(ip(0)).rules[0].shared);
}

TEST_F(MaxSubjects, AnExhaustedSubjectStaysDeniedWhileManyNewcomersCome) {
  load({per_ip(10), per_tenant()});
  check(ip(0));
  check(ip(0));
  ASSERT_FALSE(check(ip(0)).allowed);
  int passed = 0;
  for (int i = 1; i < 20'000; ++i) passed += check(ip(i)).allowed ? 1 : 0;
  EXPECT_EQ(passed, 9 + 2) << "one of each own bucket, and the limit of the shared one";
  const Decision exhausted = check(ip(0));
  EXPECT_FALSE(exhausted.allowed);
  EXPECT_FALSE(exhausted.rules[0].shared);
  EXPECT_EQ(count("per-ip"), 10 + 1) << "with the shared bucket";
  EXPECT_EQ(count("per-tenant"), 1);
  EXPECT_EQ(store_->stats().keys, 12U);
}

TEST_F(MaxSubjects, ASubjectThatLeavesMakesRoomForTheNext) {
  load({per_ip(1)});
  check(ip(0));
  ASSERT_TRUE(check(ip(1)).rules[0].shared);
  clock_->advance(2min);
  store_->sweep(clock_->now(), 1'000'000);
  EXPECT_EQ(count("per-ip"), 0);
  EXPECT_FALSE(check(ip(1)).rules[0].shared);
  EXPECT_TRUE(check(ip(0)).rules[0].shared);
}

TEST_F(MaxSubjects, PeeksShowTheSharedBucketAndRefundsReachIt) {
  load({per_ip(1)});
  check(ip(0));
  check(ip(1));
  const Decision looked = check(ip(2), Action::peek);
  EXPECT_TRUE(looked.rules[0].shared);
  EXPECT_EQ(looked.rules[0].remaining, 1);
  const std::array<Attribute, 1> attributes{Attribute{"ip", "10.0.0.9"}};
  engine_->refund(Request(attributes));
  EXPECT_EQ(check(ip(2), Action::peek).rules[0].remaining, 2);
  engine_->reset(Request(attributes));
  EXPECT_EQ(check(ip(3)).rules[0].remaining, 1) << "a reset of one of them leaves the shared bucket alone";
}

TEST_F(MaxSubjects, TheCountSurvivesAReloadAndABoundAddedLater) {
  Rule unbounded = per_ip(1);
  unbounded.max_subjects.reset();
  load({unbounded});
  for (int i = 0; i < 5; ++i) check(ip(i));
  ASSERT_TRUE(book_->replace({.rules = {per_ip(5)}}).ok());
  EXPECT_EQ(count("per-ip"), 5);
  EXPECT_FALSE(check(ip(4)).rules[0].shared);
  EXPECT_TRUE(check(ip(5)).rules[0].shared);
  ASSERT_TRUE(book_->replace({.rules = {per_ip(6)}}).ok());
  EXPECT_TRUE(check(ip(6)).rules[0].shared) << "the shared bucket is the sixth";
  ASSERT_TRUE(book_->replace({.rules = {unbounded}}).ok());
  EXPECT_FALSE(check(ip(7)).rules[0].shared);
}

TEST_F(MaxSubjects, ASubjectWithSeveralWindowsCountsOnceAndByTheLongest) {
  Rule rule = per_ip(2, 100);
  rule.allowance.window = 1h;
  Override minute;
  minute.when = {Condition{.attribute = "method", .patterns = {"POST"}}};
  minute.change.limit = 1;
  minute.change.window = 1min;
  rule.overrides = {minute};
  load({rule});
  for (int i = 0; i < 2; ++i) check_with(*engine_, ip(i), Action::take, "POST");
  EXPECT_EQ(count("per-ip"), 2);
  clock_->advance(2min);
  store_->sweep(clock_->now(), 1'000'000);
  EXPECT_FALSE(check(ip(0)).rules[0].shared) << "its count of the hour is still there";
  const Decision shared = check_with(*engine_, ip(2), Action::take, "POST");
  EXPECT_TRUE(shared.rules[0].shared);
  EXPECT_TRUE(shared.allowed);
  EXPECT_FALSE(check_with(*engine_, ip(3), Action::take, "POST").allowed) << "1 per minute";
  EXPECT_EQ(check(ip(4)).rules[0].remaining, 98) << "of the hour, in which the first counts as well";
}

TEST_F(MaxSubjects, OneCallWithSeveralNewcomersChargesTheSharedBucketOnceWithTheSum) {
  load({per_ip(1, 5)});
  check(ip(0));
  const std::array<Attribute, 1> a{Attribute{"ip", "10.1.0.1"}};
  const std::array<Attribute, 1> b{Attribute{"ip", "10.1.0.2"}};
  const std::array<Request, 2> requests{Request(a, {2}), Request(b, {2})};
  std::array<Decision, 2> decisions;
  struct Group final : GroupCall {
    GroupCall& defer() override { return *this; }
    void complete() override {}
  } call;
  call.requests = requests;
  call.decisions = decisions;
  call.all_or_none = true;
  ASSERT_TRUE(engine_->begin_group(call));
  EXPECT_TRUE(decisions[0].allowed && decisions[1].allowed);
  EXPECT_TRUE(decisions[0].rules[0].shared && decisions[1].rules[0].shared);
  EXPECT_EQ(check(ip(7), Action::peek).rules[0].remaining, 1);
}

TEST_F(MaxSubjects, LeasesOfNewcomersShareTheSlots) {
  Rule rule = per_ip(1, 2);
  rule.kind = ChargeKind::lease;
  rule.allowance = {};
  rule.allowance.limit = 2;
  rule.lease = 30s;
  load({rule});
  const auto acquire = [&](const std::string& from) {
    const std::array<Attribute, 1> attributes{Attribute{"ip", from}};
    LeaseQuestion question;
    question.request = Request(attributes);
    return engine_->leases()->acquire(question);
  };
  EXPECT_TRUE(acquire(ip(0)).decision.allowed);
  const LeaseAnswer first = acquire(ip(1));
  EXPECT_TRUE(first.decision.allowed);
  EXPECT_TRUE(first.decision.rules[0].shared);
  EXPECT_TRUE(acquire(ip(2)).decision.allowed);
  EXPECT_FALSE(acquire(ip(3)).decision.allowed);
  LeaseQuestion release;
  release.verb = LeaseQuestion::Verb::release;
  release.handle = first.handle;
  EXPECT_EQ(engine_->leases()->ask(release).fault, HoldFault::none);
  EXPECT_TRUE(acquire(ip(3)).decision.allowed);
}

TEST_F(MaxSubjects, AStoreThatAnswersLaterIsAskedAgainUnlessThePrefilterKnows) {
  auto late = std::make_shared<LateStore>();
  ASSERT_TRUE(book_->replace({.rules = {per_ip(1)}}).ok());
  LimiterOptions options;
  options.store = late;
  options.clock = clock_;
  options.hash_key = {1, 2, 3};
  Engine engine(book_, options, fallback_);
  struct Call final : CheckCall {
    CheckCall& defer() override { return *this; }
    void complete() override { done = true; }
    bool done = false;
  };
  const auto ask = [&](const std::string& from) {
    const std::array<Attribute, 1> attributes{Attribute{"ip", from}};
    const std::array<Request, 1> requests{Request(attributes)};
    std::array<Decision, 1> decisions;
    Call call;
    call.requests = requests;
    call.decisions = decisions;
    late->calls = 0;
    EXPECT_FALSE(engine.begin(call));
    late->answer_all();
    EXPECT_TRUE(call.done);
    return decisions[0];
  };
  EXPECT_FALSE(ask(ip(0)).rules[0].shared);
  EXPECT_EQ(late->calls, 1);
  EXPECT_TRUE(ask(ip(1)).rules[0].shared);
  EXPECT_EQ(late->calls, 2);
  EXPECT_TRUE(ask(ip(2)).allowed);
  EXPECT_FALSE(ask(ip(3)).allowed);
  EXPECT_EQ(late->calls, 2);
  const Decision known = ask(ip(4));
  EXPECT_FALSE(known.allowed);
  EXPECT_EQ(known.source, "prefilter");
  EXPECT_TRUE(known.rules[0].shared);
  ASSERT_EQ(known.rules.size(), 1U);
  EXPECT_EQ(late->calls, 1) << "only whether it is a newcomer";
}

TEST_F(MaxSubjects, NeedsASubject) {
  Rule rule = per_ip(5);
  rule.per.clear();
  const Status refused = book_->replace({.rules = {rule}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.failure().message.find("max_subjects: the rule has one bucket for all"), std::string::npos);
}

}  // namespace
}  // namespace weir::engine
