#include "regions/coordinator.h"

#include <algorithm>

#include "regions/share_tables.h"

namespace weir::regions {
namespace {

// Between rounds, however urgent.
constexpr std::chrono::milliseconds kLeastPause{5};
constexpr std::chrono::milliseconds kPauseWhileAway{500};
constexpr std::chrono::milliseconds kRoundTimeout{3'000};
constexpr Duration kCleanUpPeriod = std::chrono::seconds(5);

}  // namespace

Coordinator::Coordinator(database::Database& database, RegionBook& book, CoordinatorOptions options)
    : database_(database), book_(book), options_(std::move(options)) {}

Coordinator::~Coordinator() { stop(); }

void Coordinator::start() {
  thread_ = std::thread([this] { run(); });
}

void Coordinator::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Coordinator::urgent() {
  {
    const std::lock_guard lock(mutex_);
    if (urgent_) return;
    urgent_ = true;
  }
  wake_.notify_all();
}

std::optional<Duration> Coordinator::age() const {
  const std::int64_t answered = answered_us_.load(std::memory_order_relaxed);
  if (answered == 0) return std::nullopt;
  return std::max(options_.clock->now() - from_micros(answered), Duration{0});
}

void Coordinator::run() {
  while (true) {
    const Status status = round();
    note(status);
    const auto pause = std::chrono::duration_cast<std::chrono::milliseconds>(options_.sync);
    std::unique_lock lock(mutex_);
    const auto until = [this] { return stopping_; };
    if (wake_.wait_for(lock, status.ok() ? kLeastPause : kPauseWhileAway, until)) return;
    const auto sooner = [this] { return stopping_ || urgent_; };
    if (status.ok()) wake_.wait_for(lock, pause - std::min(pause, kLeastPause), sooner);
    if (stopping_) return;
    urgent_ = false;
  }
}

void Coordinator::note(const Status& status) {
  connected_.store(status.ok(), std::memory_order_relaxed);
  if (status.ok()) {
    answered_us_.store(micros(options_.clock->now()), std::memory_order_relaxed);
    rounds_.fetch_add(1, std::memory_order_relaxed);
    if (std::exchange(told_away_, false)) options_.on_back();
    return;
  }
  if (!std::exchange(told_away_, true)) options_.on_away(status.failure());
}

Status Coordinator::round() {
  if (!prepared_) {
    if (Status prepared = options_.prepare(database_); !prepared.ok()) return prepared;
    prepared_ = true;
  }
  if (Status status = exchange_shares(); !status.ok()) return status;
  if (Status status = exchange_units(); !status.ok()) return status;
  if (Status status = exchange_cells(); !status.ok()) return status;
  return clean_up();
}

Status Coordinator::exchange_shares() {
  const TimePoint sent = options_.clock->now();
  const std::vector<RegionBook::ShareAsk> asks = book_.due_shares(sent, kMostKeys);
  if (asks.empty()) return success();
  DecidedShares decided;
  const auto work = [&](database::Session& session) -> Status {
    Result<DecidedShares> ran = decide_shares(session, asks, book_.map(), options_.lease);
    if (!ran.ok()) return ran.failure();
    decided = std::move(ran).value();
    return success();
  };
  const database::Outcome outcome = database_.run(database::Access::write, work, kRoundTimeout);
  const TimePoint now = options_.clock->now();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    const bool answered = outcome.ok() && !outcome.unknown;
    const std::optional<ShareAnswer> answer = answered ? std::optional(decided.answers[i]) : std::nullopt;
    book_.share_answered(asks[i].key, answer, sent, now);
  }
  if (outcome.ok()) learning_.store(decided.learning, std::memory_order_relaxed);
  return outcome.status;
}

Status Coordinator::exchange_units() {
  const std::vector<RegionBook::UnitAsk> asks = book_.due_units(options_.clock->now(), kMostKeys);
  if (asks.empty()) return success();
  std::vector<std::int64_t> given;
  const auto work = [&](database::Session& session) -> Status {
    Result<std::vector<std::int64_t>> ran = decide_units(session, asks, book_.map(), options_.lease);
    if (!ran.ok()) return ran.failure();
    given = std::move(ran).value();
    return success();
  };
  const database::Outcome outcome = database_.run(database::Access::write, work, kRoundTimeout);
  if (!outcome.ok() || outcome.unknown) return outcome.status;
  for (std::size_t i = 0; i < asks.size(); ++i) book_.units_given(asks[i].key, asks[i].starts, given[i]);
  return success();
}

Status Coordinator::exchange_cells() {
  const std::vector<RegionBook::CellAsk> asks = book_.due_cells(options_.clock->now(), options_.sync, kMostKeys);
  if (asks.empty()) return success();
  const auto write = [&](database::Session& session) {
    return write_cells(session, asks, book_.map(), options_.lease);
  };
  const database::Outcome written = database_.run(database::Access::write, write, kRoundTimeout);
  // A commit whose outcome is not known is not one: the next round writes the same again.
  if (!written.ok()) return written.status;
  std::vector<ReadCells> cells;
  const auto read = [&](database::Session& session) -> Status {
    Result<std::vector<ReadCells>> ran = read_cells(session, asks, book_.map(), options_.lease);
    if (!ran.ok()) return ran.failure();
    cells = std::move(ran).value();
    return success();
  };
  const database::Outcome outcome = database_.run(database::Access::read, read, kRoundTimeout);
  if (!outcome.ok()) return outcome.status;
  const TimePoint now = options_.clock->now();
  for (std::size_t i = 0; i < asks.size(); ++i) {
    book_.cells_read(asks[i].key, asks[i].starts, cells[i].cells, now, cells[i].complete);
  }
  return success();
}

Status Coordinator::clean_up() {
  const TimePoint now = options_.clock->now();
  if (now - cleaned_ < kCleanUpPeriod) return success();
  cleaned_ = now;
  book_.sweep(now);
  const auto work = [this](database::Session& session) { return delete_expired(session, options_.lease); };
  return database_.run(database::Access::write, work, kRoundTimeout).status;
}

}  // namespace weir::regions
