// The coordinator's tables: statements, and rows from and to what the pure parts work with. For a database thread.
#pragma once

#include <string>
#include <vector>

#include "database/session.h"
#include "regions/region_book.h"

namespace weir::regions {

// 32 hex digits.
std::string key_text(const BucketKey& key);

struct DecidedShares {
  std::vector<ShareAnswer> answers;  // of each ask
  bool learning = false;
};

// Decides all asks in this transaction, which writes.
Result<DecidedShares> decide_shares(database::Session& session, const std::vector<RegionBook::ShareAsk>& asks,
                                    const RegionMap& map, Duration lease);

// What each ask's region has been given in all. Likewise.
Result<std::vector<std::int64_t>> decide_units(database::Session& session, const std::vector<RegionBook::UnitAsk>& asks,
                                               const RegionMap& map, Duration lease);

Status write_cells(database::Session& session, const std::vector<RegionBook::CellAsk>& asks, const RegionMap& map,
                   Duration lease);

struct ReadCells {
  std::vector<Cell> cells;
  bool complete = true;  // false: rows were lost after the window began
};
// The cells of each ask.
Result<std::vector<ReadCells>> read_cells(database::Session& session, const std::vector<RegionBook::CellAsk>& asks,
                                          const RegionMap& map, Duration lease);

// Deletes rows that no one may use any more, a bounded number of them.
Status delete_expired(database::Session& session, Duration lease);

}  // namespace weir::regions
