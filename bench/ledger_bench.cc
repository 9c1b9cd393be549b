// How many changes of the ledger a database takes in a second, with its commits on disk.
//
//   ledger_bench DATABASE usage SECONDS      usage batches of 1,000 records, each of another account: records per
//   second ledger_bench DATABASE strict SECONDS     64 callers, each waiting for its own take; they share commits:
//   takes per second ledger_bench DATABASE alone SECONDS      the same, with one commit for each take
//
// DATABASE is sqlite:PATH or postgres://…, and is given tables. Prints one number.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
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

// One batch after the other, as a node sends them.
std::int64_t record_usage(Ledger& ledger, TimePoint now, std::chrono::steady_clock::time_point end) {
  std::int64_t seq = 0;
  while (!is_over(end)) {
    auto batch = std::make_unique<ledger::UsageBatch>();
    batch->node = "bench";
    batch->epoch = 1;
    batch->seq = ++seq;
    for (std::size_t i = 0; i < kRecords; ++i) {
      ledger::UsageBatch::Record& record = batch->records.emplace_back();
      record.terms = terms_of_account("tenant=" + std::to_string(i), now);
      record.account = record.terms->key;
      record.without = 1;
    }
    batch->name_itself();
    const Result<Answer> answer = ledger.run(std::move(batch));
    if (!answer.ok()) fail(answer.failure().message);
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
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  const std::int64_t count =
      mode == "usage" ? record_usage(ledger, clock.wall(), end) : take_strictly(ledger, clock.wall(), end);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  std::cout << static_cast<double>(count) / took << '\n';
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  const std::string mode = argc == 4 ? argv[2] : "";
  if (mode != "usage" && mode != "strict" && mode != "alone") {
    std::cerr << "usage: ledger_bench DATABASE usage|strict|alone SECONDS\n";
    return 2;
  }
  return weir::bench::run(argv[1], mode, std::atof(argv[3]));
}
