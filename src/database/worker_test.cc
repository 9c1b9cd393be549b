#include <gtest/gtest.h>

#include <deque>

#include "database/database.h"

namespace weir::database {
namespace {

using Trouble = Connection::Trouble;
using Committed = Connection::Committed;

// Does what the test has planned; what is not planned succeeds.
class PlannedConnection final : public Connection {
 public:
  struct Plan {
    std::deque<bool> opens;
    std::deque<Trouble> statements;
    std::deque<std::pair<Committed, Trouble>> commits;
    int opened = 0, closed = 0, begun = 0, rolled_back = 0, committed = 0;
  };
  explicit PlannedConnection(Plan& plan) : plan_(plan) {}

  Dialect dialect() const override { return Dialect::sqlite; }
  Result<std::vector<Rows>> run(const Batch&) override {
    trouble_ = next(plan_.statements, Trouble::none);
    if (trouble_ == Trouble::none) return std::vector<Rows>(1);
    return Failure{Code::internal, "planned"};
  }
  Status run_script(const std::string&) override { return success(); }
  using Session::run;

  bool is_open() const override { return open_; }
  Status open(Deadline) override {
    ++plan_.opened;
    open_ = next(plan_.opens, true);
    if (open_) return success();
    return Failure{Code::unavailable, "no such host"};
  }
  void close() override {
    ++plan_.closed;
    open_ = false;
  }
  void set_deadline(Deadline) override {}
  Status begin(Access) override {
    ++plan_.begun;
    trouble_ = Trouble::none;
    return success();
  }
  Committed commit(Failure& failure) override {
    const auto planned = next(plan_.commits, std::pair(Committed::yes, Trouble::none));
    trouble_ = planned.second;
    failure = {Code::unavailable, "the line went dead"};
    if (planned.first == Committed::yes) ++plan_.committed;
    return planned.first;
  }
  void rollback() override { ++plan_.rolled_back; }
  Trouble trouble() const override { return trouble_; }

 private:
  template <typename T>
  static T next(std::deque<T>& planned, T otherwise) {
    if (planned.empty()) return otherwise;
    const T front = planned.front();
    planned.pop_front();
    return front;
  }

  Plan& plan_;
  bool open_ = false;
  Trouble trouble_ = Trouble::none;
};

class WorkerTest : public testing::Test {
 protected:
  Outcome run() {
    if (!database_) {
      database_.emplace(
          Dialect::sqlite, "planned", ThreadCounts{1, 0},
          [this](Access) { return std::make_unique<PlannedConnection>(plan_); },
          Limits{.max_queued = 10, .worker = limits_});
    }
    return database_->run(Access::write, [this](Session& session) -> Status {
      ++runs_;
      const Result<Rows> rows = session.run(kStatement);
      if (!rows.ok()) return rows.failure();
      return success();
    });
  }

  static constexpr Statement kStatement{"anything"};
  PlannedConnection::Plan plan_;
  WorkerLimits limits_{.max_attempts = 3, .first_pause = std::chrono::hours(1), .longest_pause = std::chrono::hours(1)};
  int runs_ = 0;
  std::optional<Database> database_;
};

TEST_F(WorkerTest, RunsWorkAgainThatAnotherTransactionWasInTheWayOf) {
  plan_.statements = {Trouble::conflict, Trouble::conflict};
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(runs_, 3);
  EXPECT_EQ(plan_.rolled_back, 2);
  EXPECT_EQ(plan_.committed, 1);
  EXPECT_EQ(plan_.opened, 1);
  EXPECT_EQ(database_->health().repeated, 2U);
}

TEST_F(WorkerTest, GivesUpAfterTheLastAttempt) {
  plan_.statements = {Trouble::conflict, Trouble::conflict, Trouble::conflict, Trouble::none};
  const Outcome outcome = run();
  EXPECT_EQ(outcome.status.failure().code, Code::aborted);
  EXPECT_FALSE(outcome.unknown);
  EXPECT_EQ(runs_, 3);
  EXPECT_EQ(plan_.committed, 0);
}

TEST_F(WorkerTest, ACommitThatFailedOfAConflictIsRepeatedToo) {
  plan_.commits = {{Committed::no, Trouble::conflict}};
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(runs_, 2);
}

TEST_F(WorkerTest, ConnectsAgainAndRunsWorkAgainIfTheConnectionWasLostBeforeTheCommit) {
  plan_.statements = {Trouble::lost};
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(runs_, 2);
  EXPECT_EQ(plan_.opened, 2);
  EXPECT_EQ(plan_.rolled_back, 0) << "there is nothing to roll back on";
}

TEST_F(WorkerTest, NeverRunsWorkAgainWhoseCommitIsUnknown) {
  plan_.commits = {{Committed::unknown, Trouble::lost}};
  const Outcome outcome = run();
  EXPECT_TRUE(outcome.unknown);
  EXPECT_EQ(outcome.status.failure().code, Code::unavailable);
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(database_->health().unknown, 1U);
  EXPECT_EQ(database_->health().trouble, "the line went dead");
  EXPECT_TRUE(run().ok());
  EXPECT_EQ(plan_.opened, 2) << "the connection was of no use any more";
  EXPECT_TRUE(database_->health().connected);
}

TEST_F(WorkerTest, ReportsWhatTryingAgainWouldNotCure) {
  plan_.statements = {Trouble::refused};
  EXPECT_EQ(run().status.failure().message, "planned");
  EXPECT_EQ(runs_, 1);
  EXPECT_EQ(plan_.rolled_back, 1);
}

TEST_F(WorkerTest, FailsAtOnceWhileItWaitsBeforeConnectingAgain) {
  plan_.opens = {false};
  EXPECT_EQ(run().status.failure().message, "no connection to the database: no such host");
  EXPECT_EQ(run().status.failure().message, "no connection to the database: no such host");
  EXPECT_EQ(plan_.opened, 1);
  EXPECT_EQ(runs_, 0);
  EXPECT_FALSE(database_->health().connected);
}

TEST_F(WorkerTest, ConnectsAgainAfterThePause) {
  limits_.first_pause = limits_.longest_pause = std::chrono::milliseconds(0);
  plan_.opens = {false};
  EXPECT_FALSE(run().ok());
  EXPECT_TRUE(run().ok());
  EXPECT_TRUE(database_->health().connected);
}

}  // namespace
}  // namespace weir::database
