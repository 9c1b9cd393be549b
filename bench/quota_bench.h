// A limiter with one leased quota, on a ledger in SQLite in a folder of its own, for engine_bench.cc.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <thread>

#include "database/location.h"
#include "ledger/gate/ledger_gate.h"
#include "ledger/schema/schema.h"
#include "weir/limiter.h"

namespace weir::bench {

class QuotaLimiter {
 public:
  explicit QuotaLimiter(Rule rule) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) fail("no temporary folder");
    folder_ = pattern;
    database_ = database::make_database(database::parse_location("sqlite:quota.db", folder_).value());
    if (!database::migrate(*database_, ledger::ledger_migrations(), clock_->wall()).ok()) fail("no tables");
    ledger_ = std::make_unique<ledger::Ledger>(*database_, *clock_);
    ledger::GateOptions options;
    options.node = "bench";
    options.folder = folder_ / "usage";
    gate_ = std::make_shared<ledger::LedgerGate>(*ledger_, *clock_, options);
    if (!gate_->start().ok()) fail("no usage log");
    while (!gate_->counts().usable) std::this_thread::yield();

    rule.kind = ChargeKind::quota;
    rule.allowance = {.algorithm = {}, .limit = kMaxUnits, .window = Duration{0}};
    rule.quota.period = PeriodUnit::year;
    Rules rules;
    rules.rules.push_back(rule);
    LimiterOptions limiter;
    limiter.clock = clock_;
    limiter.quotas = gate_;
    auto made = Limiter::create(rules, limiter);
    if (!made.ok()) fail(made.failure().message);
    limiter_ = std::move(made).value();
  }
  ~QuotaLimiter() {
    limiter_.reset();
    gate_->stop();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  QuotaLimiter(const QuotaLimiter&) = delete;
  QuotaLimiter& operator=(const QuotaLimiter&) = delete;

  Limiter& operator*() { return *limiter_; }

 private:
  [[noreturn]] static void fail(const std::string& why) {
    std::cerr << why << '\n';
    std::exit(1);
  }

  std::filesystem::path folder_;
  std::shared_ptr<ProcessClock> clock_ = std::make_shared<ProcessClock>();
  std::unique_ptr<database::Database> database_;
  std::unique_ptr<ledger::Ledger> ledger_;
  std::shared_ptr<ledger::LedgerGate> gate_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace weir::bench
