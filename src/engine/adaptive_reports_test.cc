// What reports of how long work took do to limits that adapt.
#include <gtest/gtest.h>

#include <chrono>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {
namespace {

using namespace std::chrono_literals;

class AdaptiveReports : public ::testing::Test {
 protected:
  AdaptiveReports() {
    Rule rule;
    rule.id = "exports";
    rule.match = {{"action", {"export"}}};
    rule.per = {"tenant"};
    rule.kind = ChargeKind::lease;
    rule.auto_limit = AutoLimit{2, 50};
    rule.allowance.limit = 50;
    rule.lease = 60s;
    rule.mode = Mode::shadow;
    LimiterOptions options;
    options.store = memory_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    EXPECT_TRUE(book_->replace({.rules = {rule}}, clock_->wall()).ok());
    engine_ = std::make_unique<Engine>(book_, options, memory_);
  }

  // So many in a second, one after the other.
  void report(int count, Duration took, bool succeeded = true, std::string_view action = "export") {
    const Attribute attributes[] = {{"tenant", "acme"}, {"action", action}};
    for (int i = 0; i < count; ++i) {
      clock_->advance(Duration(1s) / count);
      work_reports(*engine_)->note_work(Request(attributes), took, succeeded);
    }
  }
  void lease_for(Duration held) {
    const Attribute attributes[] = {{"tenant", "acme"}, {"action", "export"}};
    LeaseQuestion question;
    question.verb = LeaseQuestion::Verb::acquire;
    question.request = Request(attributes);
    const LeaseAnswer taken = engine_->leases()->ask(question);
    ASSERT_TRUE(taken.decision.allowed);
    clock_->advance(held);
    LeaseQuestion release;
    release.verb = LeaseQuestion::Verb::release;
    release.handle = taken.handle;
    static_cast<void>(engine_->leases()->ask(release));
  }
  std::int64_t limit() const {
    const auto found = engine_->adaptive().list(10);
    return found.empty() ? 0 : found.front().limit;
  }

  const std::shared_ptr<ManualClock> clock_ = std::make_shared<ManualClock>();
  const std::shared_ptr<memory::MemoryStore> memory_ = std::make_shared<memory::MemoryStore>();
  const std::shared_ptr<rules::RuleBook> book_ = std::make_shared<rules::RuleBook>();
  std::unique_ptr<Engine> engine_;
};

TEST_F(AdaptiveReports, RaiseTheLimitWhileMoreIsInProgressAndNothingWaits) {
  for (int second = 0; second < 30; ++second) report(500, 100ms);  // 50 at a time
  EXPECT_GE(limit(), 40);
  EXPECT_EQ(engine_->adaptive().list(1).front().baseline, 100ms);
}

TEST_F(AdaptiveReports, KeepTheLimitAtWhatIsInProgress) {
  for (int second = 0; second < 30; ++second) report(100, 100ms);  // 10 at a time
  EXPECT_GE(limit(), 9);
  EXPECT_LE(limit(), 20);
}

TEST_F(AdaptiveReports, AreLeftOutWhereLeasesAreReleased) {
  lease_for(100ms);
  for (int second = 0; second < 30; ++second) report(500, 100ms);
  EXPECT_EQ(limit(), 2);
  clock_->advance(AdaptiveLimits::kLeaseMemory);
  for (int second = 0; second < 30; ++second) report(500, 100ms);
  EXPECT_GE(limit(), 40) << "no lease has been released for long";
  lease_for(100ms);
  EXPECT_EQ(limit(), 2) << "from now on leases count again";
}

TEST_F(AdaptiveReports, OfWorkThatFailedAtOnceSayNothing) {
  for (int second = 0; second < 30; ++second) report(100, 100ms);
  const auto before = engine_->adaptive().list(1).front();
  for (int second = 0; second < 30; ++second) report(5'000, 1ms, /*succeeded=*/false);
  EXPECT_EQ(engine_->adaptive().list(1).front().baseline, before.baseline);
  EXPECT_EQ(limit(), before.limit);
  for (int second = 0; second < 30; ++second) report(100, 400ms, /*succeeded=*/false);
  EXPECT_LT(limit(), before.limit) << "late failures are a sign of too much work";
}

TEST_F(AdaptiveReports, OfRequestsThatNoSuchRuleMatchesDoNothing) {
  report(500, 100ms, true, "search");
  EXPECT_EQ(limit(), 0);
}

}  // namespace
}  // namespace weir::engine
