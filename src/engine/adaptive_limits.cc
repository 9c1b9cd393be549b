#include "engine/adaptive_limits.h"

namespace weir::engine {

AdaptiveLimits::Subject* AdaptiveLimits::find(const BucketKey& key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return nullptr;
  subjects_.splice(subjects_.begin(), subjects_, place->second);
  return &subjects_.front();
}

AdaptiveLimits::Subject& AdaptiveLimits::find_or_add(std::string_view rule, const BucketKey& key,
                                                     const AutoLimit& bounds) {
  Subject* subject = find(key);
  if (subject == nullptr) {
    if (subjects_.size() >= kMaxSubjects) {
      places_.erase(subjects_.back().key);
      subjects_.pop_back();
    }
    subjects_.push_front({.rule = std::string(rule), .key = key, .bounds = bounds, .limit = AdaptiveLimit(bounds)});
    places_.emplace(key, subjects_.begin());
    subject = &subjects_.front();
  }
  if (subject->bounds != bounds) {  // other rules were loaded
    subject->bounds = bounds;
    subject->limit = AdaptiveLimit(bounds);
  }
  return *subject;
}

std::int64_t AdaptiveLimits::limit(std::string_view rule, const BucketKey& key, const AutoLimit& bounds) {
  used_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  return find_or_add(rule, key, bounds).limit.limit();
}

void AdaptiveLimits::refused(const BucketKey& key) {
  const std::lock_guard lock(mutex_);
  if (Subject* const subject = find(key)) subject->limit.refused();
}

void AdaptiveLimits::completed(const BucketKey& key, Duration held, TimePoint now) {
  const std::lock_guard lock(mutex_);
  Subject* const subject = find(key);
  if (subject == nullptr) return;
  if (subject->by_reports) {  // times of leases and of work are not compared with each other
    subject->by_reports = false;
    subject->limit = AdaptiveLimit(subject->bounds);
  }
  subject->lease_ended = now;
  subject->limit.completed(held, now);
}

void AdaptiveLimits::reported(std::string_view rule, const BucketKey& key, const AutoLimit& bounds, Duration took,
                              bool succeeded, TimePoint now) {
  used_.store(true, std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  Subject& subject = find_or_add(rule, key, bounds);
  if (subject.lease_ended != TimePoint{} && now < subject.lease_ended + kLeaseMemory) return;
  if (!subject.by_reports) {
    subject.by_reports = true;
    subject.limit = AdaptiveLimit(bounds);
  }
  if (!succeeded && took < subject.limit.baseline()) return;
  subject.limit.reported(took, now);
}

std::vector<AdaptiveLimits::Standing> AdaptiveLimits::list(std::size_t count) const {
  const std::lock_guard lock(mutex_);
  std::vector<Standing> standings;
  for (const Subject& subject : subjects_) {
    if (standings.size() == count) break;
    standings.push_back({subject.rule, subject.key, subject.limit.limit(), subject.limit.baseline()});
  }
  return standings;
}

}  // namespace weir::engine
