// Prepared checks decide as plain ones do, whatever happens between two of them.
#include "engine/prepared.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>

#include "engine/rotating_limiter.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

const TimePoint kStart = from_micros(1'800'000'000'000'000);

// A memory store that answers at once or claims to answer later, and that can be away.
class PreparedStore final : public Store {
 public:
  explicit PreparedStore(bool immediate) : immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    if (!away) return memory_.begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool immediate() const override { return immediate_; }
  std::string_view name() const override { return "store"; }

  bool away = false;

 private:
  const bool immediate_;
  memory::MemoryStore memory_;
};

// Keeps calls until the test answers them.
class PausedStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    held.push_back(&call);
    return false;
  }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "paused"; }
  void answer_oldest() {
    StoreCall* const call = held.front();
    held.erase(held.begin());
    EXPECT_TRUE(memory_.begin(*call));
    call->complete();
  }

  std::vector<StoreCall*> held;

 private:
  memory::MemoryStore memory_;
};

std::string text_of(const Decision& decision) {
  std::ostringstream out;
  out << decision.allowed << decision.degraded << decision.atomic << ' ' << reason_name(decision.reason) << ' '
      << decision.deciding << " cost=" << decision.cost << " retry=" << decision.retry_after.count()
      << " delay=" << decision.delay.count() << " at=" << micros(decision.at) << ' ' << decision.source << ' '
      << decision.message;
  for (const RuleOutcome& rule : decision.rules) {
    out << "\n  " << rule.rule << ' ' << algorithm_name(rule) << ' ' << rule.subject.low << ' ' << rule.subject.high
        << ' ' << rule.allowed << rule.unlimited << rule.too_large << rule.bad_cost << rule.store_failed << ' '
        << rule.limit << ' ' << rule.remaining << ' ' << rule.capacity << " cost=" << rule.cost << ' '
        << rule.window.count() << ' ' << rule.retry_after.count() << ' ' << rule.reset_after.count() << ' '
        << rule.delay.count();
  }
  return out.str();
}

struct DecisionTexts final : Observer, RequestObserver {
  void on_decision(const Decision& decision) override { texts.push_back(text_of(decision)); }
  Scope scope() const override { return Scope::every_decision; }
  void on_decision(const Decision&, const RequestContext& context) override {
    std::string text = std::to_string(context.complete) + std::to_string(context.per.size());
    for (const Attribute& each : context.attributes) text.append(each.name).append("=").append(each.value).append(" ");
    texts.push_back(text);
  }
  std::vector<std::string> texts;
};

// One engine with everything that it needs but the clock.
struct Side {
  Side(bool immediate, const std::shared_ptr<Clock>& clock) : store(std::make_shared<PreparedStore>(immediate)) {
    LimiterOptions options;
    options.store = store;
    options.clock = clock;
    options.hash_key = {1, 2, 3};
    options.observers = {observer};
    options.request_observers = {observer};
    engine = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>());
  }
  std::shared_ptr<PreparedStore> store;
  std::shared_ptr<DecisionTexts> observer = std::make_shared<DecisionTexts>();
  std::shared_ptr<rules::RuleBook> book = std::make_shared<rules::RuleBook>();
  std::unique_ptr<Engine> engine;
};

Rule tenant_rule(std::int64_t limit) {
  Rule rule;
  rule.id = "tenant";
  rule.per = {"tenant"};
  rule.allowance = {.algorithm = Algorithm::token_bucket, .limit = limit, .window = 10s};
  return rule;
}

AllowanceChange limit_of(std::int64_t limit) { return {.limit = limit}; }

Override for_acme(std::int64_t limit, std::optional<TimePoint> until) {
  Override change;
  change.when = {{"tenant", {"acme"}}};
  change.change = limit_of(limit);
  change.until = until;
  return change;
}

CostModel cost_model(CostModel::Kind kind, std::int64_t units, std::string attribute) {
  CostModel model;
  model.kind = kind;
  model.units = units;
  model.attribute = std::move(attribute);
  return model;
}

// A rule with some of what rules may have.
Rule random_rule(const std::string& id) {
  Rule rule = tenant_rule(*rc::gen::inRange<std::int64_t>(1, 9));
  rule.id = id;
  rule.message = id + " allows {limit}";
  const auto chosen = *rc::gen::inRange(0, 13);
  switch (chosen) {
    case 0:
      rule.plans = {{"pro", limit_of(20)}};
      break;
    case 1:
      rule.overrides = {for_acme(2, kStart + 20s)};
      break;
    case 2:
      rule.overrides = {for_acme(30, std::nullopt), for_acme(1, kStart + 5s)};
      rule.overrides.back().emergency = true;
      break;
    case 3:
      rule.cost = cost_model(CostModel::Kind::fixed, 2, "");
      break;
    case 4:
      rule.cost = cost_model(CostModel::Kind::attribute, 1, "bytes");
      break;
    case 5:
      rule.local_limit = LocalLimit{.limit = 3, .window = 5s};
      break;
    case 6:
      rule.hidden = *rc::gen::element(Hidden::answer, Hidden::rule);
      rule.message = "wait {wait}";
      break;
    case 7:
      rule.mode = Mode::shadow;
      break;
    case 8:
      rule.on_store_failure = *rc::gen::element(FailurePolicy::deny, FailurePolicy::local, FailurePolicy::degrade);
      break;
    case 9:
      rule.allowance.limit = 0;
      break;
    case 10:
      rule.per = {"never_sent"};
      break;
    case 11:
      rule.max_subjects = 1;
      break;
    default:
      rule.allowance.algorithm = *rc::gen::element(Algorithm::sliding_log, Algorithm::leaky_bucket,
                                                   Algorithm::fixed_window, Algorithm::sliding_counter);
  }
  return rule;
}

Rules random_rules() {
  Rules rules;
  const int count = *rc::gen::inRange(0, 5);
  for (int i = 0; i < count; ++i) rules.rules.push_back(random_rule("rule-" + std::to_string(i)));
  if (*rc::gen::inRange(0, 4) == 0) rules.on_no_rule = NoRulePolicy::deny;
  return rules;
}

// True: the store answers before begin() returns.
class Prepared : public ::testing::TestWithParam<bool> {
 protected:
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(kStart);
  Side plain_{GetParam(), clock_};
  Side prepared_{GetParam(), clock_};

  Limiter& limiter() { return *prepared_.engine; }
  void load(const Rules& rules) {
    for (Side* side : {&plain_, &prepared_}) {
      const Status loaded = side->book->replace(rules);
      ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
    }
  }
};

TEST_P(Prepared, DecidesAsPlainChecksDoWhateverHappensInBetween) {
  EXPECT_TRUE(rc::check([&] {
    clock_->set(kStart);
    clock_->set_ahead(0s);
    Side plain(GetParam(), clock_);
    Side prepared(GetParam(), clock_);
    const std::vector<Attribute> attributes =
        *rc::gen::element(std::vector<Attribute>{{"tenant", "acme"}, {"plan", "pro"}, {"bytes", "3"}},
                          std::vector<Attribute>{{"tenant", "acme"}, {"plan", "unknown"}, {"bytes", "many"}},
                          std::vector<Attribute>{{"tenant", "globex"}}, std::vector<Attribute>{});
    const auto handle = prepared.engine->prepare(attributes);
    for (int step = 0; step < 40; ++step) {
      const int what = *rc::gen::inRange(0, 20);
      if (what == 0 || step == 0) {
        const Rules rules = random_rules();
        const Status loaded = plain.book->replace(rules);
        if (!loaded.ok()) RC_FAIL(loaded.failure().message);
        RC_ASSERT(prepared.book->replace(rules).ok());
      } else if (what == 1) {
        plain.store->away = prepared.store->away = *rc::gen::arbitrary<bool>();
      } else if (what == 2) {
        clock_->set_ahead(std::chrono::seconds(*rc::gen::inRange(0, 30)));  // the wall clock was set back
      } else if (what == 3) {
        // Another subject: a rule that bounds their number may now count ours in a shared bucket.
        for (Side* side : {&plain, &prepared}) side->engine->check({{"tenant", "first"}});
      } else if (what < 7) {
        clock_->advance(std::chrono::milliseconds(*rc::gen::inRange(1, 4'000)));
      }
      const Cost cost{*rc::gen::weightedElement<std::int64_t>({{8, 1}, {2, 0}, {2, 3}, {1, -1}, {1, kMaxUnits + 1}})};
      const std::string expected = text_of(plain.engine->check(Request(attributes, cost)));
      std::string answered;
      if (*rc::gen::inRange(0, 4) == 0) {
        handle->check(cost, [&](const Decision& decision) { answered = text_of(decision); });
      } else {
        answered = text_of(handle->check(cost));
      }
      RC_ASSERT(answered == expected);
    }
    RC_ASSERT(prepared.observer->texts == plain.observer->texts);
    for (const auto issue :
         {rules::MatchIssue::unknown_plan, rules::MatchIssue::bad_cost, rules::MatchIssue::missing_attribute}) {
      RC_ASSERT(prepared.book->issues().total(issue) == plain.book->issues().total(issue));
    }
  }));
}

TEST_P(Prepared, UsesNewRulesFromTheNextCheckOn) {
  load({.rules = {tenant_rule(5)}});
  const auto handle = limiter().prepare({{"tenant", "acme"}});
  EXPECT_EQ(handle->check().decisive()->limit, 5);
  load({.rules = {tenant_rule(7)}});
  EXPECT_EQ(handle->check().decisive()->limit, 7);
  EXPECT_EQ(handle->check().decisive()->remaining, 4) << "the bucket is the same";
  load({});
  EXPECT_EQ(handle->check().reason, Reason::no_rule);
}

TEST_P(Prepared, AnOverrideEndsWhileTheHandleIsKept) {
  Rule rule = tenant_rule(5);
  rule.overrides = {for_acme(9, kStart + 1s)};
  load({.rules = {rule}});
  const auto handle = limiter().prepare({{"tenant", "acme"}});
  EXPECT_EQ(handle->check().decisive()->limit, 9);
  clock_->advance(1s - 1us);
  EXPECT_EQ(handle->check().decisive()->limit, 9);
  clock_->advance(1us);
  EXPECT_EQ(handle->check().decisive()->limit, 5);
  clock_->set_ahead(1us);
  EXPECT_EQ(handle->check().decisive()->limit, 9) << "the wall clock was set back";
}

TEST_P(Prepared, TheHandleHasCopiedItsAttributes) {
  load({.rules = {tenant_rule(5)}});
  std::string tenant = "acme";
  const auto handle = limiter().prepare({{"tenant", tenant}});
  tenant = "????";
  handle->check();
  EXPECT_EQ(prepared_.engine->check({{"tenant", "acme"}}).decisive()->remaining, 3);
}

INSTANTIATE_TEST_SUITE_P(Answers, Prepared, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "at_once" : "later"; });

TEST(PreparedLater, AHandleMayBeUsedAgainAndMayGoBeforeItsAnswersCome) {
  auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {tenant_rule(2)}}).ok());
  LimiterOptions options;
  const auto store = std::make_shared<PausedStore>();
  options.store = store;
  options.clock = std::make_shared<ManualClock>(kStart);
  Engine engine(book, options, std::make_shared<memory::MemoryStore>());
  Limiter& limiter = engine;
  std::string answers;
  {
    const auto handle = limiter.prepare({{"tenant", "acme"}});
    for (int i = 0; i < 3; ++i) {
      handle->check(Cost{1}, [&](const Decision& decision) { answers += decision.allowed ? 'y' : 'n'; });
    }
    ASSERT_TRUE(book->replace({.rules = {tenant_rule(9)}}).ok());
    handle->check(Cost{1}, [&](const Decision& decision) { answers += decision.allowed ? 'Y' : 'N'; });
  }
  EXPECT_EQ(answers, "");
  for (int i = 0; i < 4; ++i) store->answer_oldest();
  EXPECT_EQ(answers, "yynY");
}

TEST(PreparedElsewhere, LimitersThatPrepareNothingStillCheck) {
  auto book = std::make_shared<rules::RuleBook>();
  ASSERT_TRUE(book->replace({.rules = {tenant_rule(2)}}).ok());
  LimiterOptions options;
  options.store = std::make_shared<memory::MemoryStore>();
  options.clock = std::make_shared<ManualClock>(kStart);
  options.hash_key = {1};
  Engine previous(book, options, std::make_shared<memory::MemoryStore>());
  options.hash_key = {2};
  Engine current(book, options, std::make_shared<memory::MemoryStore>());
  RotatingLimiter rotating(previous, current);
  Limiter& limiter = rotating;
  const auto handle = limiter.prepare({{"tenant", "acme"}});
  EXPECT_TRUE(handle->check().allowed);
  bool allowed = false;
  handle->check(Cost{1}, [&](const Decision& decision) { allowed = decision.allowed; });
  EXPECT_TRUE(allowed);
  EXPECT_FALSE(handle->check().allowed);
  EXPECT_FALSE(limiter.check({{"tenant", "acme"}}).allowed);
}

}  // namespace
}  // namespace weir::engine
