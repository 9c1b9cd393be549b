// Window lengths: what a rule counts by when its plans and overrides have other windows than the rule itself.
//
// A counter belongs to one window, so requests under a short window must not reset the count of a long one. A rule of a
// window algorithm with several lengths therefore has one bucket for each of them and every request is counted in all:
// in the one whose numbers apply to it, which decides, and in the others, which only record. The allowances here are
// those for recording: the largest limit there is, so that they never deny.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/allowance.h"
#include "weir/bucket_key.h"

namespace weir::rules {

// More lengths than this in one rule share the bucket of the rule's first; `rules validate` warns.
inline constexpr std::size_t kMaxWindowLengths = 8;

class WindowLengths {
 public:
  // Counts `allowance` among the rule's. False: there are too many lengths for it to get a bucket of its own.
  bool add(const Allowance& allowance);

  bool several() const { return lengths_.size() > 1; }
  const std::vector<Allowance>& recording() const { return lengths_; }

  // Which of recording() counts for `allowance`.
  std::size_t index_of(const Allowance& allowance) const;

  // The longest of recording(): its bucket lives at least as long as those of the others.
  std::size_t longest() const;

  // The key of a subject's bucket for one of the lengths, and back again. The first keeps the subject's own key.
  BucketKey key(BucketKey subject, std::size_t index) const;

 private:
  std::vector<Allowance> lengths_;
};

}  // namespace weir::rules
