// Cells: what regions tell each other about a window that they all count in (region: reconcile).
//
// A cell is what one region has admitted of one key in one window, as a number that only grows; cells are merged by the
// larger number, so that a message that is lost, late or repeated does no harm. A region admits while
//
//   its own count + what it knows of the others + the cost  ≤  limit      and
//   its own count - what the others can know of it          ≤  its part of the tolerance.
//
// Together they admit at most the limit and the tolerance: the region that admitted last, after reading the cells, had
// read all of the others' counts but their parts of the tolerance. With `continue` the second line does not apply, and
// regions that do not hear each other may admit the limit each.
//
// The order matters: a region writes its cell, that is committed, and then it reads all cells. Only what it has read of
// its own cell counts as known.
//
// Where a region's store loses its data, its count begins again at 0. That is noticed (the count is below what was
// written), and the window goes on in a cell of the next epoch; a region's cells of all epochs add up.
//
// Where the coordinator has lost cells, those that are read afterwards are not complete: they still count as what the
// others have admitted, but what a region has read of its own cell does not count as known, as if it could not be heard
// until the window ends.
//
// Pure. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "weir/rule.h"
#include "weir/time.h"

namespace weir::regions {

struct Cell {
  std::size_t region = 0;
  std::int64_t epoch = 0;
  std::int64_t used = 0;
};

// What one node knows of one key in one window.
class CellView {
 public:
  CellView(std::size_t regions, std::size_t own) : own_(own), others_(regions) {}

  // How much the region's own bucket, in the present epoch, may count in all: 0 to limit. `part`: this region's part of
  // the tolerance.
  std::int64_t most(std::int64_t limit, std::int64_t part, OnPartition on_partition) const;

  // The bucket counts so much. `asked`: when it was asked, by the node's clock.
  void counted(std::int64_t used, TimePoint asked);

  // What is to be written: this region's cells.
  std::vector<Cell> own_cells() const;
  // Units that the others cannot know of.
  std::int64_t news() const { return present_.news() + earlier_news(); }

  // All cells of the key and window, read after own_cells() were committed. Not `complete`: some may have been lost.
  void read(const std::vector<Cell>& cells, TimePoint now, bool complete = true);

  std::int64_t others() const;

 private:
  struct Count {
    std::int64_t used = 0;
    std::int64_t known = 0;  // of that, by the others
    std::int64_t news() const { return used - known; }
  };
  std::int64_t earlier_used() const;
  std::int64_t earlier_news() const;
  void begin_epoch(std::int64_t epoch);

  std::size_t own_;
  std::int64_t epoch_ = 0;
  Count present_;  // in this epoch
  TimePoint known_at_{};
  std::map<std::int64_t, Count> earlier_;                     // own, by epoch
  std::vector<std::map<std::int64_t, std::int64_t>> others_;  // by region and epoch
};

struct Division {
  std::int64_t part = 0;   // that a region may admit before the others know
  std::int64_t limit = 0;  // that it counts against

  bool operator==(const Division&) const = default;
};

// A region's part of the tolerance. It could never begin without a unit, so each has at least one; what these are
// together beyond the tolerance comes off the limit. If the limit is too small for that, the first regions have one
// unit each and the others nothing.
Division divide_tolerance(std::int64_t limit, std::int64_t tolerance, std::size_t regions, std::size_t own);

}  // namespace weir::regions
