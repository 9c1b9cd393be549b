// What observers see of requests that are part of a trace.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"
#include "weir/ask.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

// Answers when the test says so; or at once, and takes a while for it.
class TimedStore final : public Store {
 public:
  TimedStore(std::shared_ptr<ManualClock> clock, bool immediate) : clock_(std::move(clock)), immediate_(immediate) {}
  bool begin(StoreCall& call) override {
    if (!immediate_) {
      waiting_.push_back(&call);
      return false;
    }
    clock_->advance(7us);
    return memory_.begin(call);
  }
  void answer() {
    for (StoreCall* call : std::exchange(waiting_, {})) {
      EXPECT_TRUE(memory_.begin(*call));
      call->complete();
    }
  }
  bool immediate() const override { return immediate_; }
  bool holds_reservations() const override { return true; }
  std::string_view name() const override { return "timed"; }

 private:
  const std::shared_ptr<ManualClock> clock_;
  const bool immediate_;
  std::vector<StoreCall*> waiting_;
  memory::MemoryStore memory_;
};

class TraceWatcher final : public RequestObserver {
 public:
  struct Seen {
    std::optional<TraceContext> trace;
    std::optional<DecisionTimes> times;
  };
  explicit TraceWatcher(Scope scope) : scope_(scope) {}
  Scope scope() const override { return scope_; }
  void on_decision(const Decision&, const RequestContext& context) override {
    Seen& each = seen.emplace_back();
    if (context.trace != nullptr) each.trace = *context.trace;
    if (context.times != nullptr) each.times = *context.times;
  }
  void on_change(const TracedChange& change) override {
    changes.push_back({std::string(change.name), change.trace, change.times, change.failed, change.cost});
  }
  struct Change {
    std::string name;
    TraceContext trace;
    DecisionTimes times;
    bool failed;
    std::int64_t cost;
  };
  std::vector<Seen> seen;
  std::vector<Change> changes;

 private:
  const Scope scope_;
};

class TracedTest : public testing::Test {
 protected:
  void make(bool immediate) {
    store_ = std::make_shared<TimedStore>(clock_, immediate);
    LimiterOptions options;
    options.store = store_;
    options.clock = clock_;
    options.hash_key = {1};
    options.prefilter = false;
    options.request_observers = {watcher_};
    Rule rule;
    rule.id = "a";
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = Algorithm::fixed_window, .limit = 100, .window = 1h};
    auto book = std::make_shared<rules::RuleBook>();
    ASSERT_TRUE(book->replace({{rule}, false}).ok());
    engine_ = std::make_unique<Engine>(book, options, std::make_shared<memory::MemoryStore>(MemoryOptions{1 << 22}));
  }
  // The request and its trace are gone when this returns.
  void ask_traced(bool sampled, std::size_t count = 1) {
    TraceContext trace{.trace = {1}, .parent = {2}, .sampled = sampled};
    const std::vector<Attribute> attributes{{"tenant", "acme"}};
    std::vector<Request> requests(count, Request(attributes));
    for (Request& request : requests) request.trace = &trace;
    std::vector<Decision> decisions(count);
    int answers = 0;
    ask(
        *engine_, Action::take, requests, decisions, [&](std::span<const Decision> all) { answers += !all.empty(); },
        [] { return [](std::span<const Decision>) {}; });
    EXPECT_EQ(answers, store_->immediate() ? 1 : 0);
    trace = {};
  }
  const TraceWatcher::Seen& last() { return watcher_->seen.back(); }

  const TimePoint start_ = from_micros(1'000'000'000);
  std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>(start_);
  std::shared_ptr<TraceWatcher> watcher_ = std::make_shared<TraceWatcher>(RequestObserver::Scope::every_decision);
  std::shared_ptr<TimedStore> store_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(TracedTest, AStoreThatAnswersAtOnceHasItsTimes) {
  make(true);
  ask_traced(true);
  ASSERT_TRUE(last().times);
  EXPECT_EQ(last().times->began, start_);
  EXPECT_EQ(last().times->store.from, start_);
  EXPECT_EQ(last().times->store.to, start_ + 7us);
  EXPECT_EQ(last().times->ended, start_ + 7us);
  EXPECT_EQ(last().times->ledger.from, TimePoint{});
  EXPECT_EQ(last().trace->parent, (SpanId{2}));
}

TEST_F(TracedTest, AStoreThatAnswersLaterHasItsTimesAndTheTraceIsKept) {
  make(false);
  ask_traced(true);
  EXPECT_TRUE(watcher_->seen.empty());
  clock_->advance(400us);
  store_->answer();
  ASSERT_TRUE(last().times);
  EXPECT_EQ(last().times->store.from, start_);
  EXPECT_EQ(last().times->store.to, start_ + 400us);
  EXPECT_EQ(last().trace->trace, (TraceId{1}));
}

TEST_F(TracedTest, ATraceThatIsNotSampledIsNamedAndNotTimed) {
  for (const bool immediate : {true, false}) {
    make(immediate);
    ask_traced(false);
    store_->answer();
    EXPECT_FALSE(last().times);
    ASSERT_TRUE(last().trace);
    EXPECT_EQ(last().trace->trace, (TraceId{1}));
  }
}

TEST_F(TracedTest, EachRequestOfABatchHasTimes) {
  make(true);
  ask_traced(true, 20);
  ASSERT_EQ(watcher_->seen.size(), 20U);
  for (const TraceWatcher::Seen& each : watcher_->seen) EXPECT_TRUE(each.times);
}

TEST_F(TracedTest, WithoutATraceThereAreNoTimes) {
  make(true);
  EXPECT_TRUE(engine_->check({{"tenant", "acme"}}).allowed);
  EXPECT_FALSE(last().times);
  EXPECT_FALSE(last().trace);
}

TEST_F(TracedTest, ALeaseAndAReservationAreTimed) {
  make(true);
  const TraceContext trace{.trace = {1}, .parent = {}, .sampled = true};
  const std::vector<Attribute> attributes{{"tenant", "acme"}};
  LeaseQuestion lease;
  lease.request = Request(attributes);
  lease.request.trace = &trace;
  EXPECT_TRUE(engine_->leases()->acquire(lease).decision.allowed);
  ASSERT_TRUE(last().times);
  EXPECT_EQ(last().times->store.to - last().times->store.from, 7us);
}

TEST_F(TracedTest, ARefundIsAChangeWithTimes) {
  for (const bool immediate : {true, false}) {
    make(immediate);
    watcher_->changes.clear();
    {
      const TraceContext trace{.trace = {1}, .parent = {2}, .sampled = true};
      const std::vector<Attribute> attributes{{"tenant", "acme"}};
      std::vector<Request> requests{Request(attributes, Cost{3})};
      requests[0].trace = &trace;
      std::vector<Decision> decisions(1);
      ask(
          *engine_, Action::refund, requests, decisions, [](std::span<const Decision>) {},
          [] { return [](std::span<const Decision>) {}; });
    }
    if (!immediate) clock_->advance(400us);
    store_->answer();
    ASSERT_EQ(watcher_->changes.size(), 1U);
    const TraceWatcher::Change& refund = watcher_->changes.front();
    EXPECT_EQ(refund.name, "weir.refund");
    EXPECT_EQ(refund.trace.parent, (SpanId{2}));
    EXPECT_EQ(refund.times.store.to - refund.times.store.from, immediate ? 7us : 400us);
    EXPECT_TRUE(watcher_->seen.empty()) << "it decides nothing";
  }
}

TEST_F(TracedTest, RenewalsAndSettlementsAreChangesWithTimes) {
  make(true);
  const TraceContext trace{.trace = {1}, .parent = {}, .sampled = true};
  const std::vector<Attribute> attributes{{"tenant", "acme"}};
  Request request(attributes);
  Request named;
  named.trace = &trace;
  const std::string lease = engine_->leases()->acquire({.request = request}).handle;
  using LeaseVerb = LeaseQuestion::Verb;
  for (const LeaseVerb verb : {LeaseVerb::renew, LeaseVerb::release}) {
    static_cast<void>(engine_->leases()->ask({.verb = verb, .request = named, .handle = lease}));
  }
  const auto reserved = [&] { return engine_->reservations()->reserve({.request = request, .amount = 5}).handle; };
  const std::string handles[] = {reserved(), reserved()};
  using Verb = ReservationQuestion::Verb;
  const auto settle = [&](Verb verb, const std::string& handle, std::int64_t actual = 0) {
    static_cast<void>(
        engine_->reservations()->ask({.verb = verb, .request = named, .actual = actual, .handle = handle}));
  };
  settle(Verb::get, handles[0]);
  settle(Verb::extend, handles[0]);
  settle(Verb::commit, handles[0], 4);
  settle(Verb::release, handles[1]);
  std::vector<std::string> names;
  for (const TraceWatcher::Change& each : watcher_->changes) names.push_back(each.name);
  EXPECT_EQ(names, (std::vector<std::string>{"weir.lease.renew", "weir.lease.release", "weir.reservation.extend",
                                             "weir.reservation.commit", "weir.reservation.release"}));
  ASSERT_EQ(watcher_->changes.size(), 5U);
  EXPECT_EQ(watcher_->changes[3].cost, 4);
  EXPECT_EQ(watcher_->changes[3].times.store.to - watcher_->changes[3].times.store.from, 7us);
  EXPECT_EQ(watcher_->changes[3].trace.trace, (TraceId{1}));
}

}  // namespace
}  // namespace weir::engine
