#include "ledger/gate/ledger_gate.h"

#include <random>

#include "base/ascii.h"

namespace weir::ledger {
namespace {

std::string random_prefix() {
  std::random_device random;
  std::string text(16, '0');
  base::write_hex(text.data(), (std::uint64_t{random()} << 32U) | random());
  return text + "/";
}

}  // namespace

LedgerGate::LedgerGate(Ledger& ledger, Clock& clock, GateOptions options)
    : ledger_(ledger),
      clock_(clock),
      options_(std::move(options)),
      terms_(options_.tenants, clock.wall()),
      prefix_(random_prefix()) {}

LedgerGate::~LedgerGate() { stop(); }

Status LedgerGate::start() {
  Result<UsageLog> log = UsageLog::open(options_.folder, options_.node);
  if (!log.ok()) return log.failure();
  log_.emplace(std::move(log).value());
  thread_ = std::thread([this] { work(); });
  return success();
}

void LedgerGate::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

LedgerGate::Counts LedgerGate::counts() const {
  Counts counts;
  {
    const std::lock_guard lock(mutex_);
    counts = counts_;
  }
  counts.epoch = epoch_.load();
  counts.usable = usable_.load();
  counts.slices = slices_.load();
  counts.waiting = waiting_.load();
  counts.unrecorded = unrecorded_.load();
  return counts;
}

void LedgerGate::say(std::string_view event, const std::string& message) {
  if (options_.report) options_.report(event, message);
}

void LedgerGate::note(std::string trouble) {
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = counts_.trouble != trouble;
    counts_.trouble = trouble;
  }
  if (changed && !trouble.empty()) say("quota_trouble", trouble);
}

LedgerGate::Movement LedgerGate::movement() const {
  const bool under_way = sending_.load() || sent_.load() != Sent::no || underway_.load() > 0 || moving_.load();
  return {under_way, begun_.load()};
}

std::vector<LedgerGate::Holding> LedgerGate::holdings() {
  std::map<AccountKey, Holding> found;
  for (SliceTable::Shard& shard : table_.all()) {
    const std::lock_guard lock(shard.mutex);
    const auto add = [&](const HeldSlice& slice) {
      if (slice.left == 0 && slice.pending == 0 && slice.spent == 0) return;
      Holding& holding = found[slice.terms.key];
      holding.left += slice.left;
      holding.pending += slice.pending;
      holding.unlogged += slice.spent;
    };
    for (const auto& [key, slice] : shard.current) add(*slice);
    for (const auto& slice : shard.retired) add(*slice);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, units] : unsent_) found[key].unsent += units;
  }
  std::vector<Holding> holdings;
  for (auto& [key, holding] : found) {
    holding.account = key;
    holdings.push_back(std::move(holding));
  }
  return holdings;
}

}  // namespace weir::ledger
