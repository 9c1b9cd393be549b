// DrawStep: what a call with Action::draw asks of the one bucket that it charges, and what the store answered.
//
// A draw takes units in advance, which the caller then spends by itself (a slice), or charges units that the caller has
// admitted by itself before. It has one charge, of a bucket: `cost` units at least, of which a denial says when they
// fit.
//
// Why a slice never admits too much (docs/consistency.md): a bucket that refills is first made to owe at least `floor`,
// which is what it refills while a slice lives; the units of a window are good only until that window ends (`lasts`).
#pragma once

#include <cstdint>

#include "weir/allowance.h"
#include "weir/time.h"

namespace weir {

struct DrawStep {
  // Asked.
  std::int64_t want = 0;   // units at most; if less than the cost, the cost
  std::int64_t parts = 1;  // beyond the cost, no more than this part of what is left. At least 1
  std::int64_t floor = 0;  // units that a bucket which refills owes at least before anything is drawn
  std::int64_t late = 0;   // units admitted before, charged first whether they fit or not
  TimePoint late_at{};     // when, by `at` of an earlier answer: charged in that window or nowhere

  // Answered.
  std::int64_t granted = 0;  // cost included; 0: denied
  Duration lasts{0};         // until the window that granted them ends; zero: no window
  TimePoint at{};            // the moment of this call by the bucket's time
  bool existed = true;       // false: there was no bucket, so nothing of it was in use
};

// How the buckets of one rule are kept on a node in front of a shared store: drawn in advance (stores/leased/), or
// charged afterwards (stores/synced/). Constant after compilation.
struct SliceTerms {
  Consistency consistency = Consistency::exact;  // exact: leased only where its key is hot
  std::uint64_t version = 0;                     // of the rules: what was drawn under others is not spent
  Duration life{0};                              // how long a slice may be spent, and what its size is measured by
  std::int64_t floor = 0;                        // as in DrawStep
  // Consistency::synced: what nodes together may admit beyond the capacity, and how often they report.
  std::int64_t tolerance = 0;  // units, or percent of the capacity
  bool in_percent = false;
  Duration sync_interval{0};

  // In units, rounded down.
  std::int64_t tolerated(std::int64_t capacity) const {
    return in_percent ? capacity / 100 * tolerance + capacity % 100 * tolerance / 100 : tolerance;
  }
};

}  // namespace weir
