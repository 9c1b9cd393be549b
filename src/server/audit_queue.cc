#include "server/audit_queue.h"

#include <algorithm>
#include <utility>

namespace weir::server {
namespace {

// How long the database may take for what is left when the server stops.
constexpr std::chrono::seconds kLastPatience{5};
constexpr std::chrono::milliseconds kPause{100};  // before it is asked again

// Trying again later is of no use: the database has refused the entry.
bool is_final(const Failure& failure) {
  switch (failure.code) {
    case Code::invalid_argument:
    case Code::failed_precondition:
    case Code::internal:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool AuditQueue::reserve() {
  std::size_t places = 0;
  {
    const std::lock_guard lock(mutex_);
    if (database_ == nullptr) return true;
    if (places_ < kMaxEntries) {
      ++places_;
      return true;
    }
    ++counts_.refused;
    places = places_;
  }
  log_.error("audit_full", "a reset was refused, because too many entries of the audit trail wait for the database",
             {{"waiting", places}});
  return false;
}

void AuditQueue::add(control::AuditEntry entry) {
  log_.info("audit", "a caller changed something",
            {{"actor", entry.actor},
             {"from", entry.from},
             {"action", entry.action},
             {"object", entry.object},
             {"after", entry.after},
             {"reason", entry.reason}});
  if (database_ == nullptr) return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(entry));
}

std::shared_ptr<const AuditQueue::Batch> AuditQueue::next_batch() const {
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), most_));
  return std::make_shared<const Batch>(waiting_.begin(), end);
}

Status AuditQueue::store(database::Session& session, const Batch& batch) {
  for (const control::AuditEntry& entry : batch) {
    if (Status stored = control::append_once(session, entry); !stored.ok()) return stored;
  }
  return success();
}

// An entry that the database refuses must not keep those behind it: after a refused batch one entry is tried by itself.
void AuditQueue::settle(const Batch& batch, const database::Outcome& outcome) {
  bool lost = false;
  {
    const std::lock_guard lock(mutex_);
    busy_ = false;
    const bool refused = !outcome.ok() && !outcome.unknown && is_final(outcome.status.failure());
    failed_ = !outcome.ok() && !refused;
    lost = refused && batch.size() == 1;
    most_ = refused && !lost ? 1 : kMaxBatch;
    if (outcome.ok() || lost) {
      waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(batch.size()));
      places_ -= batch.size();
      (lost ? counts_.lost : counts_.written) += batch.size();
    }
  }
  settled_.notify_all();
  if (lost) {
    log_.error("audit_lost", "the database has refused an entry of the audit trail",
               {{"error", outcome.status.failure().message}});
  }
}

void AuditQueue::write() {
  if (database_ == nullptr || !is_ready_()) return;
  std::shared_ptr<const Batch> batch;
  {
    const std::lock_guard lock(mutex_);
    if (busy_ || waiting_.empty()) return;
    batch = next_batch();
    busy_ = true;
  }
  const Status queued =
      database_->submit({.access = database::Access::write,
                         .work = [batch](database::Session& session) { return store(session, *batch); },
                         .done = [this, batch](const database::Outcome& outcome) { settle(*batch, outcome); }});
  if (!queued.ok()) settle(*batch, {.status = Failure{Code::unavailable, queued.failure().message}, .unknown = false});
}

void AuditQueue::finish() {
  const auto deadline = std::chrono::steady_clock::now() + kLastPatience;
  std::unique_lock lock(mutex_);
  const bool can_write = database_ != nullptr && is_ready_();
  while (can_write && !told_ && !waiting_.empty() && std::chrono::steady_clock::now() < deadline) {
    failed_ = false;
    lock.unlock();
    write();
    lock.lock();
    settled_.wait_until(lock, deadline, [this] { return !busy_; });
    if (failed_) settled_.wait_for(lock, kPause);
  }
  const std::size_t left = waiting_.size();
  if (left == 0 || std::exchange(told_, true)) return;
  counts_.lost += left;
  lock.unlock();
  log_.error("audit_lost", "the database did not answer: entries of the audit trail are only in this log",
             {{"entries", left}});
}

AuditQueue::Counts AuditQueue::counts() const {
  const std::lock_guard lock(mutex_);
  Counts counts = counts_;
  counts.waiting = waiting_.size();
  return counts;
}

}  // namespace weir::server
