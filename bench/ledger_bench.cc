// How many changes of the ledger a database takes in a second, with its commits on disk.
//
//   ledger_bench DATABASE usage SECONDS    usage batches of 1,000 records, each of another account: records per second
//   ledger_bench DATABASE slices SECONDS   the same, of slices that the node holds
//   ledger_bench DATABASE strict SECONDS   64 callers, each waiting for its own take; they share commits: takes per
//   second ledger_bench DATABASE alone SECONDS    the same, with one commit for each take
//
// DATABASE is sqlite:PATH or postgres://…, and is given tables. Prints one number.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "database/location.h"
#include "ledger/ledger.h"
#include "ledger/operations/slices.h"
#include "ledger/operations/take.h"
#include "ledger/schema/schema.h"

namespace weir::bench {
namespace {

using ledger::Answer;
using ledger::Ledger;
using ledger::Terms;

constexpr int kCallers = 64;
constexpr std::size_t kRecords = 1'000;

Terms terms_of_account(const std::string& subject, TimePoint now) {
  return {.key = {"bench", subject, "2026"},
          .tenant = subject,
          .begins = now - std::chrono::hours(1),
          .ends = now + std::chrono::hours(24),
          .limit = kMaxUnits,
          .since = now,
          .grace = 0,
          .record_overage = false,
          .thresholds = {}};
}

[[noreturn]] void fail(const std::string& why) {
  std::cerr << why << '\n';
  std::exit(1);
}

bool is_over(std::chrono::steady_clock::time_point end) { return std::chrono::steady_clock::now() >= end; }

template <typename Kind>
Answer run_one(Ledger& ledger, std::unique_ptr<Kind> operation) {
  const Result<Answer> answer = ledger.run(std::move(operation));
  if (!answer.ok()) fail(answer.failure().message);
  if (answer.value().verdict != ledger::Verdict::done) fail(answer.value().message);
  return answer.value();
}

std::string subject_of(std::size_t account) { return "tenant=" + std::to_string(account); }

// The node holds units of every account. Returns its epoch.
std::int64_t take_slices(Ledger& ledger, TimePoint now) {
  auto open = std::make_unique<ledger::OpenEpoch>();
  open->id = "epoch";
  open->node = "bench";
  const std::int64_t epoch = run_one(ledger, std::move(open)).epoch;
  std::latch left(kRecords);
  for (std::size_t i = 0; i < kRecords; ++i) {
    auto slice = std::make_unique<ledger::TakeSlice>();
    slice->id = "slice " + std::to_string(i);
    slice->terms = terms_of_account(subject_of(i), now);
    slice->node = "bench";
    slice->epoch = epoch;
    slice->want = 1'000'000;
    slice->ttl = std::chrono::hours(1);
    slice->deadline = ledger::Operation::Deadline::max();
    slice->done = [&left](const Result<Answer>& answer) {
      if (!answer.ok()) fail(answer.failure().message);
      left.count_down();
    };
    ledger.submit(std::move(slice));
  }
  left.wait();
  return epoch;
}

// One batch after the other, as a node sends them. `epoch`: of slices that are spent; 0: there are none.
std::int64_t record_usage(Ledger& ledger, TimePoint now, std::int64_t epoch,
                          std::chrono::steady_clock::time_point end) {
  std::int64_t seq = 0;
  while (!is_over(end)) {
    auto batch = std::make_unique<ledger::UsageBatch>();
    batch->node = "bench";
    batch->epoch = std::max<std::int64_t>(epoch, 1);
    batch->seq = ++seq;
    for (std::size_t i = 0; i < kRecords; ++i) {
      ledger::UsageBatch::Record& record = batch->records.emplace_back();
      Terms terms = terms_of_account(subject_of(i), now);
      record.account = terms.key;
      (epoch > 0 ? record.spent : record.without) = 1;
      if (epoch == 0) record.terms = std::move(terms);
    }
    batch->name_itself();
    run_one(ledger, std::move(batch));
  }
  return seq * static_cast<std::int64_t>(kRecords);
}

std::int64_t take_strictly(Ledger& ledger, TimePoint now, std::chrono::steady_clock::time_point end) {
  std::atomic<std::int64_t> taken{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      const Terms terms = terms_of_account("tenant=" + std::to_string(caller), now);
      for (std::int64_t i = 0; !is_over(end); ++i) {
        auto take = std::make_unique<ledger::Take>();
        take->id = "take " + std::to_string(caller) + "/" + std::to_string(i);
        take->legs = {{terms, 1}};
        const Result<Answer> answer = ledger.run(std::move(take));
        if (!answer.ok()) fail(answer.failure().message);
        ++taken;
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  return taken;
}

int run(const std::string& where, const std::string& mode, double seconds) {
  const auto location = database::parse_location(where, std::filesystem::current_path());
  if (!location.ok()) fail(location.failure().message);
  const auto database = database::make_database(location.value());
  ProcessClock clock;
  if (const auto made = database::migrate(*database, ledger::ledger_migrations(), clock.wall()); !made.ok()) {
    fail(made.failure().message);
  }
  ledger::LedgerOptions options;
  if (mode == "alone") options.committer.max_group = 1;
  Ledger ledger(*database, clock, options);
  const std::int64_t epoch = mode == "slices" ? take_slices(ledger, clock.wall()) : 0;
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  const std::int64_t count = mode == "usage" || mode == "slices" ? record_usage(ledger, clock.wall(), epoch, end)
                                                                 : take_strictly(ledger, clock.wall(), end);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::cout << static_cast<double>(count) / took << '\n';
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const std::string mode = argc == 4 ? argv[2] : "";
  if (mode != "usage" && mode != "slices" && mode != "strict" && mode != "alone") {
    std::cerr << "usage: ledger_bench DATABASE usage|slices|strict|alone SECONDS\n";
    return 2;
  }
  return weir::bench::run(argv[1], mode, std::atof(argv[3]));
}
