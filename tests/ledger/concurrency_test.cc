// Many callers on several nodes at once.
#include <random>
#include <thread>

#include "tests/ledger/ledger_fixture.h"

namespace weir::ledger::tests {
namespace {

class ConcurrentCallers : public LedgerFixture {
 protected:
  // A second node with a database of its own.
  std::unique_ptr<database::Database> second_database_ = backend_.open({.writers = 2, .readers = 1});
  Ledger second_{*second_database_, clock_, {.database_time = false, .committer = {}}};

  void on_threads(int count, const std::function<void(int)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  }
  Ledger& node(int i) { return i % 2 == 0 ? *ledger_ : second_; }
};
INSTANTIATE_TEST_SUITE_P(Both, ConcurrentCallers, kBothDatabases, dialect_name);

TEST_P(ConcurrentCallers, AdmitTheLimitAndNotOneMore) {
  constexpr std::int64_t kLimit = 100;
  std::atomic<std::int64_t> admitted{0}, denied{0};
  on_threads(8, [&](int i) {
    std::mt19937 random(static_cast<unsigned>(i));
    while (true) {
      Take operation;
      const std::int64_t amount = std::uniform_int_distribution<std::int64_t>(1, 3)(random);
      operation.legs = {{monthly(kLimit), amount}};
      if (run_on(node(i), operation).verdict == Verdict::done) {
        admitted += amount;
      } else if (++denied; amount == 1) {
        return;
      }
    }
  });
  EXPECT_EQ(admitted, kLimit);
  EXPECT_EQ(account(monthly(kLimit)).used, kLimit);
  EXPECT_GE(denied, 8);
}

TEST_P(ConcurrentCallers, OverlappingAccountsInAnyOrderDoNotBlockEachOtherForGood) {
  std::atomic<std::int64_t> admitted{0};
  on_threads(6, [&](int i) {
    std::mt19937 random(static_cast<unsigned>(i));
    for (int n = 0; n < 20; ++n) {
      std::vector<int> order = {0, 1, 2, 3};
      std::shuffle(order.begin(), order.end(), random);
      Take operation;
      for (const int which : order) operation.legs.push_back({monthly(60, "s" + std::to_string(which)), 1});
      operation.legs.resize(2 + static_cast<std::size_t>(n % 3));
      if (run_on(node(i), operation).verdict == Verdict::done) {
        admitted += static_cast<std::int64_t>(operation.legs.size());
      }
    }
  });
  std::int64_t used = 0;
  for (int i = 0; i < 4; ++i) used += account(monthly(60, "s" + std::to_string(i))).used;
  EXPECT_EQ(used, admitted);
}

TEST_P(ConcurrentCallers, OfSeveralThatCloseAReservationOneWins) {
  const Terms terms = monthly(100);
  for (int round = 0; round < 5; ++round) {
    const std::string id = "r" + std::to_string(round);
    Reserve reserve;
    reserve.reservation = id;
    reserve.legs = {terms};
    reserve.amount = 10;
    run(reserve);
    std::atomic<int> won{0};
    on_threads(4, [&](int i) {
      Answer answer;
      if (i < 2) {
        CommitReservation commit;
        commit.reservation = id;
        commit.actual = 3 + i;
        answer = run_on(node(i), commit);
      } else {
        ReleaseReservation release;
        release.reservation = id;
        answer = run_on(node(i), release);
      }
      if (answer.verdict == Verdict::done && !answer.replayed) ++won;
    });
    EXPECT_EQ(won, 1);
  }
  EXPECT_EQ(account(terms).held, 0);
}

TEST_P(ConcurrentCallers, TheSameKeyOnSeveralNodesIsDoneOnce) {
  const Terms terms = monthly(100);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> first{0};
    on_threads(4, [&](int i) {
      Take operation;
      operation.legs = {{terms, 1}};
      operation.once = Once{"key" + std::to_string(round), "hash", clock_.wall() + 1h};
      const Answer answer = run_on(node(i), operation);
      EXPECT_EQ(answer.verdict, Verdict::done);
      if (!answer.replayed) ++first;
    });
    EXPECT_EQ(first, 1);
  }
  EXPECT_EQ(account(terms).used, 5);
}

TEST_P(ConcurrentCallers, ShareTransactions) {
  std::vector<std::future<Result<Answer>>> answers;
  for (int i = 0; i < 200; ++i) {
    auto operation = std::make_unique<Take>();
    operation->id = "op" + std::to_string(i);
    operation->legs = {{monthly(1000), 1}};
    auto ended = std::make_shared<std::promise<Result<Answer>>>();
    answers.push_back(ended->get_future());
    operation->done = [ended](const Result<Answer>& answer) { ended->set_value(answer); };
    ledger_->submit(std::move(operation));
  }
  for (auto& answer : answers) EXPECT_TRUE(succeeded(answer.get()));
  const Committer::Counts counts = ledger_->counts();
  EXPECT_EQ(counts.operations, 200U);
  EXPECT_LT(counts.groups, 100U);
}

}  // namespace
}  // namespace weir::ledger::tests
