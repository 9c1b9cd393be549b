// Window lengths: what a rule counts by when its plans and overrides have other windows than the rule itself.
//
// A counter belongs to one window, so requests under a short window must not reset the count of a long one. A rule of a
// window algorithm with several lengths therefore has one bucket for each of them and every request is counted in all:
// in the one whose numbers apply to it, which decides, and in the others, which only record. The allowances here are
// those for recording: the largest limit there is, so that they never deny.
//
// A length that a reload or an override brings to a rule knows nothing of what passed before. Until its count is
// complete (all that it spans is after the reload), what is asked under it is also bound by the rule's other counts:
// none of them may be above the limit that is asked for. For that, lengths that a rule no longer has go on counting for
// as long as their windows last. So other numbers never make a rule forget what was used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/allowance.h"
#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir::rules {

// More lengths than this in one rule share the bucket of the rule's first; `rules validate` warns. Former lengths get
// what is left of it, those that last longest first.
inline constexpr std::size_t kMaxWindowLengths = 8;

// True for algorithms whose buckets belong to one window; the others keep a debt, which has no length.
bool counts_windows(Algorithm algorithm);

class WindowLengths {
 public:
  // Counts `allowance` among the rule's. False: there are too many lengths for it to get a bucket of its own.
  bool add(const Allowance& allowance);

  bool several() const { return lengths_.size() > 1; }
  // The lengths that the rule has, then those that it had.
  const std::vector<Allowance>& recording() const { return lengths_; }

  // Which of recording() counts for `allowance`.
  std::size_t index_of(const Allowance& allowance) const;

  // How many of recording() count at `now`: former lengths whose time is over do not.
  std::size_t counting(TimePoint now) const;

  // The longest of those that count: its bucket lives at least as long as those of the others.
  std::size_t longest(TimePoint now) const;

  // The key of a subject's bucket for one of the lengths, and back again. The first keeps the subject's own key.
  BucketKey key(BucketKey subject, std::size_t index) const;

  // What the next version of the rule begins with, before its own lengths are added: it is loaded at `now`.
  WindowLengths as_former(TimePoint now) const;
  // After the rule's own lengths were added: puts former ones behind them. `allowances`: all of the rule.
  template <typename ForEachAllowance>
  void settle(ForEachAllowance for_each_allowance) {
    sort_former();
    for_each_allowance([this](const Allowance& allowance) { add_bounds(allowance); });
  }

  // By which the other counts bind what is asked under `allowance`, one for each of recording(). Null: they do not,
  // because its own count is complete.
  const Allowance* bounds(const Allowance& allowance, TimePoint now) const;
  // When the count for `allowance` is complete.
  TimePoint complete_from(const Allowance& allowance) const { return ages_[index_of(allowance)].complete_from; }
  // Calls `use` with each moment at which the answers above change.
  template <typename Use>
  void for_each_change(Use use) const {
    for (const Age& age : ages_) {
      if (age.complete_from != TimePoint::min()) use(age.complete_from);
      if (age.counts_until != TimePoint::max()) use(age.counts_until);
    }
  }

 private:
  struct Age {
    TimePoint complete_from = TimePoint::min();
    TimePoint counts_until = TimePoint::max();  // not max: a former length
    bool is_former() const { return counts_until != TimePoint::max(); }
  };
  struct Bounds {
    std::int64_t limit = 0;
    std::vector<Allowance> each;  // by index in lengths_
  };

  void append(const Allowance& allowance, Age age);
  void sort_former();
  void add_bounds(const Allowance& allowance);

  std::vector<Allowance> lengths_;
  std::vector<Age> ages_;       // of lengths_
  std::vector<Bounds> bounds_;  // by limit, ascending
  // Of a rule that goes on from another version: when it was loaded, and whether one of its own lengths was added.
  bool goes_on_ = false;
  bool has_first_ = false;
  TimePoint loaded_{};
};

}  // namespace weir::rules
