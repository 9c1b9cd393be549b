// Blocks refuse before anything else, whatever carries the request through the engine.
#include "engine/stages/blocks.h"

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/leases.h"
#include "weir/prepared_check.h"
#include "weir/reservations.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

class SeenBlocks final : public Observer, public RequestObserver {
 public:
  Scope scope() const override { return Scope::every_decision; }
  void on_decision(const Decision& decision) override { decisions += decision.reason == Reason::blocked ? 1 : 0; }
  void on_decision(const Decision& decision, const RequestContext& context) override {
    if (decision.reason != Reason::blocked) return;
    block = context.block;
    attributes = context.attributes.size();
  }
  int decisions = 0;
  std::string block;
  std::size_t attributes = 0;
};

class BlocksTest : public ::testing::Test {
 protected:
  BlocksTest() {
    Rule rule;
    rule.id = "per-tenant";
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = 10, .window = 1h};
    Rule slots;
    slots.id = "slots";
    slots.per = {"tenant"};
    slots.match = {{"action", {"export"}}};
    slots.kind = ChargeKind::lease;
    slots.lease = 30s;
    slots.allowance.limit = 2;
    EXPECT_TRUE(book_->replace({.rules = {rule, slots}}).ok());
    LimiterOptions options;
    options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{});
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    options.observers = {seen_};
    options.request_observers = {seen_};
    engine_ = std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  void block(std::vector<Condition> when, std::optional<TimePoint> until = {}) {
    ASSERT_TRUE(book_->set_blocks({{.when = std::move(when), .until = until, .use = mark_}}).ok());
  }
  std::int64_t remaining(std::string_view tenant) {
    EXPECT_TRUE(book_->set_blocks({}).ok());
    const std::vector<Attribute> attributes = {{"tenant", tenant}};
    Request request(attributes, Cost{0});
    request.peek = true;
    return engine_->check(request).rules[0].remaining;
  }

  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::shared_ptr<SeenBlocks> seen_ = std::make_shared<SeenBlocks>();
  std::shared_ptr<UseMark> mark_ = std::make_shared<UseMark>("blk_1");
  std::unique_ptr<Engine> engine_;
};

TEST_F(BlocksTest, ABlockedRequestIsChargedNothingAndToldNothing) {
  block({{"ip", {"203.0.113.0/24"}}});
  const Decision decision = engine_->check(Request({{"tenant", "acme"}, {"ip", "203.0.113.7"}}, Cost{3}));
  EXPECT_FALSE(decision.allowed);
  EXPECT_EQ(Reason::blocked, decision.reason);
  EXPECT_EQ(0U, decision.rules.size());
  EXPECT_EQ(nullptr, decision.decisive());
  EXPECT_EQ(Duration::zero(), decision.retry_after);
  EXPECT_EQ(3, decision.cost);
  EXPECT_EQ("block", decision.source);
  EXPECT_TRUE(engine_->check({{"tenant", "acme"}, {"ip", "203.0.114.7"}}).allowed);
  EXPECT_EQ(9, remaining("acme"));
}

TEST_F(BlocksTest, ObserversSeeItAndItsMarkCounts) {
  block({{"tenant", {"acme"}}});
  clock_->advance(10s);
  engine_->check({{"tenant", "acme"}});
  engine_->check({{"tenant", "acme"}, {"action", "x"}});
  EXPECT_EQ(2, seen_->decisions);
  EXPECT_EQ("blk_1", seen_->block);
  EXPECT_EQ(2U, seen_->attributes);
  EXPECT_EQ(2U, mark_->uses());
  EXPECT_EQ(clock_->wall(), mark_->last_used());
}

TEST_F(BlocksTest, APeekIsRefusedAndNotCountedAndARefundPasses) {
  engine_->check(Request({{"tenant", "acme"}}, Cost{4}));
  block({{"tenant", {"acme"}}});
  const std::vector<Attribute> attributes = {{"tenant", "acme"}};
  Request peek(attributes);
  peek.peek = true;
  EXPECT_EQ(Reason::blocked, engine_->check(peek).reason);
  EXPECT_EQ(0U, mark_->uses());
  EXPECT_EQ(0, seen_->decisions);
  EXPECT_TRUE(engine_->refund(Request(attributes, Cost{4})).allowed);
  EXPECT_EQ(10, remaining("acme"));
}

TEST_F(BlocksTest, InABatchOnlyTheBlockedOnesAreRefused) {
  block({{"tenant", {"b"}}});
  std::vector<Attribute> a = {{"tenant", "a"}};
  std::vector<Attribute> b = {{"tenant", "b"}};
  const std::vector<Request> requests = {Request(a), Request(b), Request(a)};
  std::vector<Decision> decisions(3);
  engine_->check_batch(requests, decisions);
  EXPECT_TRUE(decisions[0].allowed);
  EXPECT_EQ(Reason::blocked, decisions[1].reason);
  EXPECT_EQ(8, decisions[2].rules[0].remaining);
}

TEST_F(BlocksTest, APreparedCheckIsBlockedFromTheNextCheckOnAndFreeAgainAtTheEnd) {
  const auto prepared = engine_->prepare({{"tenant", "acme"}});
  EXPECT_EQ(9, prepared->check(Cost{1}).rules[0].remaining);
  block({{"tenant", {"acme"}}}, clock_->wall() + 10s);
  EXPECT_EQ(Reason::blocked, prepared->check(Cost{1}).reason);
  EXPECT_EQ(0U, prepared->check(Cost{1}).rules.size());
  clock_->advance(10s);
  const Decision& decision = prepared->check(Cost{1});
  EXPECT_TRUE(decision.allowed);
  EXPECT_EQ(8, decision.rules[0].remaining);
}

TEST_F(BlocksTest, LeasesAndReservationsAreRefusedAndReleaseStillWorks) {
  const std::vector<Attribute> attributes = {{"tenant", "acme"}, {"action", "export"}};
  const LeaseAnswer held = engine_->leases()->acquire({.request = Request(attributes)});
  ASSERT_TRUE(held.decision.allowed);
  block({{"tenant", {"acme"}}});
  EXPECT_EQ(Reason::blocked, engine_->leases()->acquire({.request = Request(attributes)}).decision.reason);
  EXPECT_EQ(Reason::blocked,
            engine_->reservations()->reserve({.request = Request(attributes), .amount = 1}).decision.reason);
  EXPECT_EQ(HoldFault::none, engine_->leases()->release(held.handle).fault);
}

TEST_F(BlocksTest, BlocksOfTheRulesAndThoseSetAtRunTimeBothApply) {
  Rules rules;
  rules.blocks = {{.when = {{"tenant", {"from-file"}}}}};
  ASSERT_TRUE(book_->replace(rules).ok());
  block({{"tenant", {"from-api"}}});
  EXPECT_EQ(Reason::blocked, engine_->check({{"tenant", "from-file"}}).reason);
  EXPECT_EQ(Reason::blocked, engine_->check({{"tenant", "from-api"}}).reason);
  ASSERT_TRUE(book_->replace({}).ok());
  EXPECT_EQ(Reason::no_rule, engine_->check({{"tenant", "from-file"}}).reason);
  EXPECT_EQ(Reason::blocked, engine_->check({{"tenant", "from-api"}}).reason);
}

TEST_F(BlocksTest, AFaultyListChangesNothing) {
  block({{"tenant", {"acme"}}});
  EXPECT_FALSE(book_->set_blocks({{.when = {{"ip", {"10.0.0.0/99"}}}}}).ok());
  EXPECT_EQ(Reason::blocked, engine_->check({{"tenant", "acme"}}).reason);
}

}  // namespace
}  // namespace weir::engine
