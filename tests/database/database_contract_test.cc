// What both databases must do alike.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/database/backend.h"

namespace weir::database::tests {
namespace {

const Statement kAdd{"INSERT INTO note (id, words, parent) VALUES ($1, $2, $3)"};
const Statement kFind{"SELECT words, parent FROM note WHERE id = $1"};
const Statement kLock{"SELECT words FROM note WHERE id = $1 FOR UPDATE"};
const Statement kCount{"SELECT CAST(COUNT(*) AS bigint), CAST(COALESCE(SUM(id), 0) AS bigint) FROM note"};
const Statement kIncrease{"UPDATE note SET parent = $1 WHERE id = 1"};
const Statement kParent{"SELECT parent FROM note WHERE id = 1 FOR UPDATE"};
const Statement kReturning{
    "INSERT INTO note (id, words) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET words = $2 RETURNING id, words"};
const Statement kWrong{"SELECT words FROM nowhere"};

const SetStatement kAddMany{
    {"INSERT INTO note (id, words, parent) VALUES ($1, $2, $3)"},
    {"INSERT INTO note (id, words, parent) SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[])"}};
const SetStatement kFindMany{
    {"SELECT id, words, parent FROM note WHERE id = $1 FOR UPDATE"},
    {"SELECT id, words, parent FROM note WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"}};

class DatabaseContract : public ::testing::TestWithParam<Dialect> {
 protected:
  DatabaseContract() {
    EXPECT_TRUE(succeeded(write([](Session& session) {
      return session.run_script(
          "CREATE TABLE note (id BIGINT PRIMARY KEY, words TEXT NOT NULL CHECK (words <> 'forbidden'), parent BIGINT);"
          "CREATE INDEX note_parent ON note (parent)");
    })));
  }

  Outcome write(std::function<Status(Session&)> work) { return database_->run(Access::write, std::move(work)); }
  Outcome read(std::function<Status(Session&)> work) { return database_->run(Access::read, std::move(work)); }
  Outcome add(std::int64_t id, std::string words) {
    return write([&](Session& session) { return ignore_rows(session.run(kAdd, id, words, Value())); });
  }
  static Status ignore_rows(const Result<Rows>& rows) {
    if (!rows.ok()) return rows.failure();
    return success();
  }
  std::int64_t count() {
    std::int64_t found = -1;
    EXPECT_TRUE(succeeded(read([&](Session& session) -> Status {
      const Result<Rows> rows = session.run(kCount);
      if (!rows.ok()) return rows.failure();
      found = number(rows.value()[0][0]);
      return success();
    })));
    return found;
  }

  Backend backend_{GetParam()};
  std::unique_ptr<Database> database_ = backend_.open();
};
INSTANTIATE_TEST_SUITE_P(Both, DatabaseContract, kBothDatabases, dialect_name);

TEST_P(DatabaseContract, KeepsNumbersTextAndNothing) {
  const std::string words = "Grüße, 'quoted' $1 \\ \"\n";
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  EXPECT_TRUE(succeeded(write([&](Session& session) {
    Batch batch;
    batch.add(kAdd, std::int64_t{1}, words, Value());
    batch.add(kAdd, std::numeric_limits<std::int64_t>::max(), "", lowest);
    const auto added = session.run(batch);
    if (!added.ok()) return Status(added.failure());
    EXPECT_EQ(added.value().size(), 2U);
    return success();
  })));
  EXPECT_TRUE(succeeded(read([&](Session& session) -> Status {
    Batch batch;
    batch.add(kFind, std::int64_t{1});
    batch.add(kFind, std::numeric_limits<std::int64_t>::max());
    batch.add(kFind, std::int64_t{7});
    const auto found = session.run(batch);
    if (!found.ok()) return found.failure();
    EXPECT_EQ(found.value()[0], (Rows{{words, Value()}}));
    EXPECT_EQ(found.value()[1], (Rows{{std::string(), lowest}}));
    EXPECT_EQ(found.value()[2], Rows());
    return success();
  })));
}

TEST_P(DatabaseContract, OneStatementWritesAndFindsManyRows) {
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  const Rows rows = {{std::int64_t{1}, "Grüße, {a,b} \"quoted\" \\ 'x' $1", Value()},
                     {std::int64_t{2}, "NULL", -highest},
                     {std::int64_t{3}, "", highest}};
  EXPECT_TRUE(succeeded(write([&](Session& session) -> Status {
    Batch batch;
    batch.add_set(kAddMany, rows);
    batch.add(kCount);
    batch.add_set(kFindMany, {{std::int64_t{3}}, {std::int64_t{1}}, {std::int64_t{7}}, {std::int64_t{2}}});
    const auto answers = session.run(batch);
    if (!answers.ok()) return answers.failure();
    EXPECT_EQ(answers.value().size(), 3U);
    EXPECT_EQ(number(answers.value()[1][0][0]), 3);
    EXPECT_THAT(answers.value()[2], ::testing::UnorderedElementsAreArray(rows));
    return success();
  })));
}

TEST_P(DatabaseContract, OneRowThatIsRefusedRefusesItsSet) {
  const Outcome outcome = write([&](Session& session) -> Status {
    Batch batch;
    batch.add_set(kAddMany, {{std::int64_t{1}, "allowed", Value()}, {std::int64_t{2}, "forbidden", Value()}});
    const auto answers = session.run(batch);
    if (!answers.ok()) return answers.failure();
    return success();
  });
  EXPECT_EQ(outcome.status.failure().code, Code::failed_precondition);
  EXPECT_EQ(count(), 0);
  const Outcome zero = write([&](Session& session) -> Status {
    Batch batch;
    batch.add_set(kAddMany, {{std::int64_t{1}, std::string("a\0b", 3), Value()}});
    const auto answers = session.run(batch);
    if (!answers.ok()) return answers.failure();
    return success();
  });
  EXPECT_EQ(zero.status.failure().code, Code::invalid_argument);
}

TEST_P(DatabaseContract, ReturnsWhatAStatementWrote) {
  for (const char* words : {"first", "second"}) {
    EXPECT_TRUE(succeeded(write([&](Session& session) -> Status {
      const Result<Rows> rows = session.run(kReturning, std::int64_t{5}, words);
      if (!rows.ok()) return rows.failure();
      EXPECT_EQ(rows.value(), (Rows{{std::int64_t{5}, std::string(words)}}));
      return success();
    })));
  }
  EXPECT_EQ(count(), 1);
}

TEST_P(DatabaseContract, AFailedWorkLeavesNothingBehind) {
  const Outcome outcome = write([](Session& session) -> Status {
    EXPECT_TRUE(succeeded(session.run(kAdd, std::int64_t{1}, "one", Value())));
    return Failure{Code::out_of_range, "changed my mind"};
  });
  EXPECT_EQ(outcome.status.failure().code, Code::out_of_range);
  EXPECT_FALSE(outcome.unknown);
  EXPECT_EQ(count(), 0);
  EXPECT_TRUE(succeeded(add(1, "one")));
  EXPECT_EQ(count(), 1);
}

TEST_P(DatabaseContract, NamesWhatIsWrong) {
  EXPECT_TRUE(succeeded(add(1, "one")));
  EXPECT_EQ(add(1, "again").status.failure().code, Code::already_exists);
  EXPECT_EQ(add(2, "forbidden").status.failure().code, Code::failed_precondition);
  EXPECT_EQ(add(2, std::string("zero\0byte", 9)).status.failure().code, Code::invalid_argument);
  const Outcome wrong = write([](Session& session) { return ignore_rows(session.run(kWrong)); });
  EXPECT_EQ(wrong.status.failure().code, Code::internal);
  EXPECT_THAT(wrong.status.failure().message, ::testing::HasSubstr("nowhere"));
  EXPECT_EQ(count(), 1) << "and the connection still works";
  EXPECT_EQ(database_->health().failures, 4U);
}

TEST_P(DatabaseContract, TheStatementsAfterAFailedOneDoNotRun) {
  const Outcome outcome = write([](Session& session) -> Status {
    Batch batch;
    batch.add(kAdd, std::int64_t{1}, "one", Value());
    batch.add(kAdd, std::int64_t{2}, "forbidden", Value());
    batch.add(kAdd, std::int64_t{3}, "three", Value());
    const auto added = session.run(batch);
    EXPECT_FALSE(added.ok());
    return added.failure();
  });
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(count(), 0);
}

TEST_P(DatabaseContract, ReadersCannotWrite) {
  const Outcome outcome =
      read([](Session& session) { return ignore_rows(session.run(kAdd, std::int64_t{1}, "one", Value())); });
  EXPECT_FALSE(outcome.ok());
  EXPECT_EQ(count(), 0);
}

TEST_P(DatabaseContract, AReaderSeesOneStateFromBeginningToEnd) {
  EXPECT_TRUE(succeeded(add(1, "one")));
  EXPECT_TRUE(succeeded(read([&](Session& session) -> Status {
    const Result<Rows> before = session.run(kCount);
    if (!before.ok()) return before.failure();
    EXPECT_TRUE(succeeded(add(2, "two"))) << "a writer does not wait for readers";
    const Result<Rows> after = session.run(kCount);
    if (!after.ok()) return after.failure();
    EXPECT_EQ(before.value(), after.value());
    return success();
  })));
  EXPECT_EQ(count(), 2);
}

TEST_P(DatabaseContract, RunsALargeBatch) {
  constexpr std::int64_t kRows = 20'000;
  EXPECT_TRUE(succeeded(write([](Session& session) -> Status {
    Batch batch;
    for (std::int64_t i = 1; i <= kRows; ++i) batch.add(kAdd, i, std::string(200, 'x'), i / 2);
    for (std::int64_t i = 1; i <= kRows; ++i) batch.add(kFind, i);
    const auto answers = session.run(batch);
    if (!answers.ok()) return answers.failure();
    EXPECT_EQ(answers.value().size(), std::size_t{2 * kRows});
    EXPECT_EQ(number(answers.value().back()[0][1]), kRows / 2);
    return success();
  })));
  EXPECT_EQ(count(), kRows);
}

TEST_P(DatabaseContract, WritersOfOneRowDoNotOverwriteEachOther) {
  EXPECT_TRUE(succeeded(
      write([](Session& session) { return ignore_rows(session.run(kAdd, std::int64_t{1}, "one", std::int64_t{0})); })));
  const auto second = backend_.open({.writers = 3, .readers = 1});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Database& used = i % 2 == 0 ? *database_ : *second;
      for (int n = 0; n < 25; ++n) {
        EXPECT_TRUE(succeeded(used.run(Access::write, [](Session& session) -> Status {
          const Result<Rows> parent = session.run(kParent);
          if (!parent.ok()) return parent.failure();
          return ignore_rows(session.run(kIncrease, number(parent.value()[0][0]) + 1));
        })));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(succeeded(read([](Session& session) -> Status {
    const Result<Rows> found = session.run(kFind, std::int64_t{1});
    if (!found.ok()) return found.failure();
    EXPECT_EQ(number(found.value()[0][1]), 100);
    return success();
  })));
}

TEST_P(DatabaseContract, TheQueueIsBoundedAndStopFailsWhatWaits) {
  const auto small = backend_.open({}, {.max_queued = 2, .worker = {}});
  std::promise<void> running, go;
  Status first = small->submit({.work =
                                    [&](Session&) {
                                      running.set_value();
                                      go.get_future().wait();
                                      return success();
                                    },
                                .done = [](const Outcome& outcome) { EXPECT_TRUE(succeeded(outcome)); }});
  EXPECT_TRUE(succeeded(first));
  running.get_future().wait();
  int cancelled = 0;
  const auto waiting = [&] {
    return Task{.work = [](Session&) { return success(); },
                .done =
                    [&](const Outcome& outcome) {
                      EXPECT_EQ(outcome.status.failure().code, Code::cancelled);
                      ++cancelled;
                    }};
  };
  EXPECT_TRUE(succeeded(small->submit(waiting())));
  EXPECT_TRUE(succeeded(small->submit(waiting())));
  EXPECT_EQ(small->submit(waiting()).failure().code, Code::resource_exhausted);
  EXPECT_EQ(small->health().queued, 2U);
  std::thread stopper([&] { small->stop(); });
  while (small->submit(waiting()).failure().code != Code::cancelled) std::this_thread::yield();
  go.set_value();
  stopper.join();
  EXPECT_EQ(cancelled, 2);
}

TEST_P(DatabaseContract, WorkThatIsLateIsNotRun) {
  bool ran = false;
  std::promise<Outcome> ended;
  EXPECT_TRUE(succeeded(database_->submit({.work =
                                               [&](Session&) {
                                                 ran = true;
                                                 return success();
                                               },
                                           .done = [&](const Outcome& outcome) { ended.set_value(outcome); },
                                           .deadline = std::chrono::steady_clock::now()})));
  EXPECT_EQ(ended.get_future().get().status.failure().code, Code::deadline_exceeded);
  EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace weir::database::tests
