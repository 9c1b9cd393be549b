// Commits whose answer is lost, again and again: every caller is answered, once, and nothing is done twice. A
// connection to SQLite that loses answers stands for a disk that is full or a server that went away.
#include "ledger/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>
#include <memory>
#include <mutex>

#include "database/migration.h"
#include "database/sqlite/sqlite_connection.h"
#include "ledger/operations/take.h"
#include "ledger/reading.h"
#include "ledger/schema/schema.h"
#include "tests/support/temporary_folder.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Connection;
using namespace std::chrono_literals;

constexpr auto kPatience = 60s;
const TimePoint kNow = from_micros(1'772'323'200'000'000) + std::chrono::hours(1);

// What becomes of the next commits.
enum class Fate : std::uint8_t { done, lost_before, lost_after, slow };
struct Fates {
  std::mutex mutex;
  std::deque<Fate> next;
  std::promise<void> release;  // of the commit that is slow

  Fate take() {
    const std::lock_guard lock(mutex);
    if (next.empty()) return Fate::done;
    const Fate fate = next.front();
    next.pop_front();
    return fate;
  }
  void set(std::deque<Fate> fates) {
    const std::lock_guard lock(mutex);
    next = std::move(fates);
  }
};

class LosingConnection final : public Connection {
 public:
  LosingConnection(std::string path, Access access, Fates& fates) : real_(std::move(path), access), fates_(fates) {}

  database::Dialect dialect() const override { return real_.dialect(); }
  Result<std::vector<database::Rows>> run(const database::Batch& batch) override {
    for (const auto& step : batch.steps()) wrote_ = wrote_ || !step.statement->text.starts_with("SELECT");
    return real_.run(batch);
  }
  Status run_script(const std::string& sql) override { return real_.run_script(sql); }
  bool is_open() const override { return real_.is_open(); }
  Status open(Deadline deadline) override { return real_.open(deadline); }
  void close() override { real_.close(); }
  void set_deadline(Deadline deadline) override { real_.set_deadline(deadline); }
  Status begin(Access access) override {
    wrote_ = false;
    return real_.begin(access);
  }
  Committed commit(Failure& failure) override {
    const Fate fate = wrote_ ? fates_.take() : Fate::done;
    if (fate == Fate::slow) fates_.release.get_future().wait();
    if (fate == Fate::lost_before) real_.rollback();
    const Committed committed = fate == Fate::lost_before ? Committed::no : real_.commit(failure);
    if (fate == Fate::done || fate == Fate::slow) return committed;
    failure = {Code::unavailable, "the answer was lost"};
    return Committed::unknown;
  }
  void rollback() override { real_.rollback(); }
  Trouble trouble() const override { return real_.trouble(); }

 private:
  database::SqliteConnection real_;
  Fates& fates_;
  bool wrote_ = false;
};

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() { EXPECT_TRUE(database::migrate(database_, ledger_migrations(), kNow).ok()); }

  Terms monthly() const {
    return {.key = {"exports", "tenant=acme", "2026-03"},
            .tenant = "acme",
            .begins = kNow - 1h,
            .ends = kNow + std::chrono::hours(24 * 30),
            .limit = 100,
            .since = kNow - 1h,
            .grace = 0,
            .record_overage = false,
            .thresholds = {}};
  }
  std::future<Result<Answer>> submit(Committer& committer, std::int64_t amount,
                                     Operation::Deadline deadline = Operation::Deadline::max()) {
    auto take = std::make_unique<Take>();
    take->id = "take " + std::to_string(++operations_);
    take->legs = {{monthly(), amount}};
    take->deadline = deadline;
    auto answered = std::make_shared<std::promise<Result<Answer>>>();
    take->done = [answered](const Result<Answer>& answer) { answered->set_value(answer); };
    std::future<Result<Answer>> answer = answered->get_future();
    committer.submit(std::move(take));
    return answer;
  }
  // What the caller was told; nothing if it is still waiting.
  static std::optional<Answer> answer_of(std::future<Result<Answer>>& told) {
    if (told.wait_for(kPatience) != std::future_status::ready) return std::nullopt;
    const Result<Answer> answer = told.get();
    return answer.ok() ? std::optional(answer.value()) : std::nullopt;
  }
  std::int64_t used() {
    std::int64_t units = -1;
    const database::Outcome outcome = database_.run(Access::read, [&](database::Session& session) -> Status {
      const Result<std::optional<Account>> found = read_account(session, monthly().key);
      if (!found.ok()) return found.failure();
      units = found.value() ? found.value()->used : 0;
      return success();
    });
    EXPECT_TRUE(outcome.ok());
    return units;
  }

  rules::TemporaryFolder folder_;
  Fates fates_;
  ManualClock clock_{kNow};
  database::Database database_{database::Dialect::sqlite, "test.db", {}, [this](Access access) {
                                 return std::make_unique<LosingConnection>((folder_.path() / "test.db").string(),
                                                                           access, fates_);
                               }};
  int operations_ = 0;
};

TEST_F(CommitterTest, AnswersACallerWhoseCommitWasLostSeveralTimesWithoutAnotherThatWakesIt) {
  fates_.set({Fate::lost_before, Fate::lost_before, Fate::lost_after});
  Committer committer(database_, &clock_);
  std::future<Result<Answer>> told = submit(committer, 3);
  const std::optional<Answer> answer = answer_of(told);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->verdict, Verdict::done);
  EXPECT_EQ(committer.counts().unknown, 3U);
  EXPECT_EQ(used(), 3);
}

TEST_F(CommitterTest, AnswersEveryCallerHoweverManyCommitsInARowAreLost) {
  fates_.set({Fate::lost_before, Fate::lost_after, Fate::lost_before, Fate::lost_before, Fate::lost_after,
              Fate::lost_before, Fate::lost_before, Fate::lost_before, Fate::lost_after, Fate::lost_after});
  std::vector<std::future<Result<Answer>>> answers;
  {
    Committer committer(database_, &clock_, {.max_queued = 100, .max_group = 1});
    for (int i = 0; i < 20; ++i) answers.push_back(submit(committer, 1));
    for (std::future<Result<Answer>>& each : answers) {
      const std::optional<Answer> answer = answer_of(each);
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->verdict, Verdict::done);
    }
  }
  EXPECT_EQ(used(), 20) << "each once";
}

TEST_F(CommitterTest, ExecutesWhatComesWhileItIsIdleWithoutAnotherOperationThatWakesIt) {
  Committer committer(database_, &clock_);
  for (int i = 0; i < 50; ++i) {
    std::future<Result<Answer>> told = submit(committer, 1);
    ASSERT_TRUE(answer_of(told)) << "operation " << i;
  }
}

// The database takes the work and does not answer: neither those whose transaction it is nor those behind it wait for
// longer than they want to.
TEST_F(CommitterTest, ACallerIsAnsweredAtItsDeadlineWhileTheDatabaseHangs) {
  fates_.set({Fate::slow});
  Committer committer(database_, &clock_);
  std::future<Result<Answer>> executed = submit(committer, 3, std::chrono::steady_clock::now() + 30ms);
  std::future<Result<Answer>> queued = submit(committer, 5, std::chrono::steady_clock::now() + 60ms);
  ASSERT_EQ(executed.wait_for(kPatience), std::future_status::ready);
  ASSERT_EQ(queued.wait_for(kPatience), std::future_status::ready);
  EXPECT_FALSE(executed.get().ok());
  EXPECT_FALSE(queued.get().ok());
  fates_.release.set_value();
  std::future<Result<Answer>> later = submit(committer, 7);
  ASSERT_TRUE(answer_of(later));
  EXPECT_EQ(used(), 7) << "what was refused is undone, or never done";
}

}  // namespace
}  // namespace weir::ledger
