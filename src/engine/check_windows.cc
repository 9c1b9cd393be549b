// Rules that count in windows of several lengths (rules/compile/window_lengths.h): a charge for each of them.
#include <algorithm>

#include "engine/check.h"

namespace weir::engine {

using keys::KeyEncoder;
using keys::SipHash;

std::size_t Check::recordings_of(const rules::WindowLengths& windows) const {
  return windows.several() ? windows.counting(planned_at_) - 1 : 0;
}

void Check::record_in_other_windows() {
  for (std::size_t i = 0; i < deciding_; ++i) {
    const rules::WindowLengths& windows = match_of(i).rule->windows;
    if (!windows.several()) continue;
    const BucketKey subject = charges_[i].key;
    const std::size_t own = windows.index_of(*charges_[i].allowance);
    const std::size_t first = charges_.size();
    const Allowance* const bounds = windows.bounds(*charges_[i].allowance, planned_at_);
    has_bounds_ = has_bounds_ || bounds != nullptr;
    charges_[i].key = windows.key(subject, own);
    for (std::size_t other = 0; other < windows.counting(planned_at_); ++other) {
      if (other == own) continue;
      Charge recording = charges_[i];
      recording.key = windows.key(subject, other);
      recording.allowance = bounds != nullptr ? &bounds[other] : &windows.recording()[other];
      recording.binding = bounds != nullptr && recording.binding;
      recording.count_denied = false;
      charges_.push_back(recording);
      outcomes_.append();
    }
    count_longest_window(i, first);
  }
}

// A subject with several buckets counts once among its rule's: by the one that lives longest.
void Check::count_longest_window(std::size_t deciding, std::size_t first_recording) {
  const rules::WindowLengths& windows = match_of(deciding).rule->windows;
  const std::size_t own = windows.index_of(*charges_[deciding].allowance);
  const std::size_t longest = windows.longest(planned_at_);
  std::size_t recording = first_recording;
  for (std::size_t each = 0; each < windows.counting(planned_at_); ++each) {
    Charge& charge = charges_[each == own ? deciding : recording++];
    if (each != longest) charge.number = charge.max_subjects = 0;
  }
}

void Check::share_buckets() {
  std::size_t recording = deciding_;
  for (std::size_t i = 0; i < deciding_; ++i) {
    const rules::WindowLengths& windows = match_of(i).rule->windows;
    const std::size_t recordings = recordings_of(windows);
    bool newcomer = outcomes_[i].status == Code::out_of_range;
    for (std::size_t r = 0; r < recordings; ++r) newcomer |= outcomes_[recording + r].status == Code::out_of_range;
    if (newcomer) share_bucket(i, recording);
    recording += recordings;
  }
}

void Check::share_bucket(std::size_t deciding, std::size_t first_recording) {
  const rules::CompiledRule& rule = *match_of(deciding).rule;
  SipHash hash = bounding_->seed(rule);
  KeyEncoder::add_shared(hash);
  const BucketKey subject = hash.finish();
  const std::size_t own = rule.windows.index_of(*charges_[deciding].allowance);
  std::size_t recording = first_recording;
  const std::size_t count = recordings_of(rule.windows) + 1;
  for (std::size_t each = 0; each < count; ++each) {
    Charge& charge = charges_[count == 1 || each == own ? deciding : recording++];
    charge.key = rule.windows.several() ? rule.windows.key(subject, count == 1 ? own : each) : subject;
    charge.tag = subject;
    charge.max_subjects = 0;
  }
  for (Charge& charge : charges_) {
    if (!charge.candidate || charge.of != deciding) continue;
    charge.key = candidate_key(subject);
    charge.tag = subject;
  }
  shared_ |= std::uint64_t{1} << deciding;
}

BucketKey Check::subject_in_any_window(std::size_t charge) const {
  const rules::WindowLengths& windows = match_of(charge).rule->windows;
  if (!windows.several()) return charges_[charge].key;
  return windows.key(charges_[charge].key, windows.index_of(*charges_[charge].allowance));
}

// What the other counts say, where they bind: the rule has one answer. Its wait ends at the latest when the count of
// the length that was asked for is complete, because it then decides alone.
void Check::apply_bounds(TimePoint wall) {
  std::size_t recording = deciding_;
  for (std::size_t i = 0; i < deciding_; ++i) {
    const rules::WindowLengths& windows = match_of(i).rule->windows;
    const std::size_t end = recording + recordings_of(windows);
    const bool bound = end > recording && windows.bounds(*charges_[i].allowance, planned_at_) != nullptr;
    if (!bound) recording = end;
    for (; recording < end; ++recording) {
      const Duration left = std::max(windows.complete_from(*charges_[i].allowance) - wall, Duration{1});
      const ChargeOutcome& other = outcomes_[recording];
      ChargeOutcome& outcome = outcomes_[i];
      if (other.status != Code::ok) outcome.status = other.status;
      outcome.admitted = outcome.admitted && other.admitted;
      outcome.too_large = outcome.too_large || other.too_large;
      outcome.crowded = outcome.crowded || other.crowded;
      outcome.remaining = std::min(outcome.remaining, other.remaining);
      outcome.retry_after = std::max(outcome.retry_after, std::min(other.retry_after, left));
      outcome.reset_after = std::max(outcome.reset_after, std::min(other.reset_after, left));
    }
  }
}

}  // namespace weir::engine
