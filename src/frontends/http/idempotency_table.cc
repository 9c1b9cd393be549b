#include "frontends/http/idempotency_table.h"

#include <utility>

namespace weir::http {

std::string IdempotencyTable::scope_of(std::string_view caller, std::string_view tenant, std::string_view key) {
  std::string scope;
  for (const std::string_view part : {caller, tenant}) {
    scope += std::to_string(part.size());
    scope += ':';
    scope += part;
  }
  scope += key;
  return scope;
}

IdempotencyTable::Found IdempotencyTable::begin(const std::string& scope, const BucketKey& body, TimePoint now,
                                                RecordedAnswer& answer) {
  const std::lock_guard lock(mutex_);
  drop_expired(now);
  if (const auto at = entries_.find(scope); at != entries_.end()) {
    if (at->second.body != body) return Found::other_body;
    if (at->second.running || now < at->second.from) return Found::running;
    answer = at->second.answer;
    return Found::replayed;
  }
  if (entries_.size() >= bounds_.entries || bytes_ + kEntryBytes + scope.size() > bounds_.bytes) return Found::full;
  const auto made = entries_.emplace(scope, Entry{.body = body}).first;
  bytes_ += bytes_of(*made);
  return Found::fresh;
}

void IdempotencyTable::finish(const std::string& scope, RecordedAnswer answer, TimePoint from, TimePoint until) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(scope);
  if (at == entries_.end()) return;
  if (bytes_ + answer.bytes() > bounds_.bytes) return erase(at);
  bytes_ += answer.bytes();
  at->second.answer = std::move(answer);
  at->second.running = false;
  at->second.from = from;
  at->second.until = until;
  by_time_.emplace(until, scope);
}

void IdempotencyTable::forget(const std::string& scope) {
  const std::lock_guard lock(mutex_);
  const auto at = entries_.find(scope);
  if (at != entries_.end()) erase(at);
}

std::size_t IdempotencyTable::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

void IdempotencyTable::drop_expired(TimePoint now) {
  while (!by_time_.empty() && by_time_.begin()->first <= now) {
    const auto at = entries_.find(by_time_.begin()->second);
    by_time_.erase(by_time_.begin());
    // It may have been used again since.
    if (at != entries_.end() && !at->second.running && at->second.until <= now) erase(at);
  }
}

void IdempotencyTable::erase(Entries::iterator entry) {
  bytes_ -= bytes_of(*entry);
  entries_.erase(entry);
}

}  // namespace weir::http
