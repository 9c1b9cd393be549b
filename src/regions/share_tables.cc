#include "regions/share_tables.h"

#include <algorithm>

#include "base/ascii.h"

namespace weir::regions {
namespace {

using database::Batch;
using database::number;
using database::Row;
using database::Rows;
using database::Statement;
using database::text;

// Keys are locked in the order of their text, so that two transactions cannot wait for each other.
const Statement kLockKey{"SELECT pg_advisory_xact_lock(hashtextextended($1, 7283))::text"};
const Statement kNow{"SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"};
const Statement kAddState{
    "INSERT INTO region_state (id, created_us, learning_until_us) "
    "VALUES (1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, "
    "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint + $1) ON CONFLICT (id) DO NOTHING"};
const Statement kReadState{"SELECT created_us, learning_until_us FROM region_state WHERE id = 1"};
const Statement kLearn{"UPDATE region_state SET learning_until_us = GREATEST(learning_until_us, $1) WHERE id = 1"};
const Statement kReadShares{
    "SELECT region, node, share_ppm, ends_us, held_ppm, held_until_us, epoch, demand_ppm "
    "FROM region_share WHERE key = $1"};
const Statement kWriteShare{
    "INSERT INTO region_share (key, region, node, share_ppm, ends_us, held_ppm, held_until_us, epoch, demand_ppm) "
    "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (key, region, node) DO UPDATE SET "
    "share_ppm = excluded.share_ppm, ends_us = excluded.ends_us, held_ppm = excluded.held_ppm, "
    "held_until_us = excluded.held_until_us, epoch = excluded.epoch, demand_ppm = excluded.demand_ppm"};
const Statement kWriteCell{
    "INSERT INTO region_cell (key, starts_us, region, epoch, used, ends_us) VALUES ($1, $2, $3, $4, $5, $6) "
    "ON CONFLICT (key, starts_us, region, epoch) DO UPDATE SET used = GREATEST(region_cell.used, excluded.used)"};
const Statement kReadCells{"SELECT region, epoch, used FROM region_cell WHERE key = $1 AND starts_us = $2"};
const Statement kReadUnits{"SELECT region, given FROM region_units WHERE key = $1 AND starts_us = $2"};
const Statement kWriteUnits{
    "INSERT INTO region_units (key, starts_us, region, given, ends_us) VALUES ($1, $2, $3, $4, $5) "
    "ON CONFLICT (key, starts_us, region) DO UPDATE SET given = GREATEST(region_units.given, excluded.given)"};
const Statement kDeleteUnits{
    "DELETE FROM region_units WHERE ctid IN (SELECT ctid FROM region_units WHERE ends_us < $1 LIMIT 2000)"};
const Statement kDeleteShares{
    "DELETE FROM region_share WHERE ctid IN (SELECT ctid FROM region_share WHERE ends_us < $1 AND held_until_us < $1 "
    "LIMIT 2000)"};
const Statement kDeleteCells{
    "DELETE FROM region_cell WHERE ctid IN (SELECT ctid FROM region_cell WHERE ends_us < $1 LIMIT 2000)"};

ShareRow share_row(const Row& row, const RegionMap& map) {
  ShareRow share;
  share.region = map.index_of(text(row[0]));
  share.node = text(row[1]);
  share.share = number(row[2]);
  share.ends = from_micros(number(row[3]));
  share.held = number(row[4]);
  share.held_until = from_micros(number(row[5]));
  share.epoch = number(row[6]);
  share.demand = number(row[7]);
  return share;
}

void add_write(Batch& batch, const std::string& key, const ShareRow& row, const RegionMap& map) {
  batch.add(kWriteShare, key, map.names[row.region], row.node, row.share, micros(row.ends), row.held,
            micros(row.held_until), row.epoch, row.demand);
}

struct TablesNow {
  std::vector<Rows> answers;  // of the reads, one for each ask
  TimePoint now;
  bool learning = false;
  TimePoint lost{};  // when rows were last found to be lost
};

// Rows are not complete for one lease after it was noticed that some are gone.
TimePoint lost_at(std::int64_t learning_until_us, Duration lease) {
  return learning_until_us == 0 ? TimePoint{} : from_micros(learning_until_us) - lease;
}

// Adds what locks the keys and reads the state and the time; locks first, so that what is read then is what is decided
// on.
void begin_reading(Batch& batch, std::vector<std::string> keys, Duration lease) {
  std::sort(keys.begin(), keys.end());
  for (const std::string& key : keys) batch.add(kLockKey, key);
  batch.add(kAddState, lease.count());
  batch.add(kReadState);
  batch.add(kNow);
}

Result<TablesNow> end_reading(database::Session& session, const Batch& batch, std::size_t keys, Duration lease) {
  Result<std::vector<Rows>> ran = session.run(batch);
  if (!ran.ok()) return ran.failure();
  std::vector<Rows>& rows = ran.value();
  const std::size_t first = keys + 1;
  if (rows[first].empty() || rows[first + 1].empty()) return Failure{Code::internal, "region_state: has no row"};
  TablesNow tables;
  tables.now = from_micros(number(rows[first + 1][0][0]));
  const TimePoint created = from_micros(number(rows[first][0][0]));
  const TimePoint learning_until = from_micros(number(rows[first][0][1]));
  tables.learning = tables.now < std::max(created + lease, learning_until);
  tables.lost = lost_at(micros(learning_until), lease);
  tables.answers.assign(std::make_move_iterator(rows.begin() + static_cast<std::ptrdiff_t>(first) + 2),
                        std::make_move_iterator(rows.end()));
  return tables;
}

template <typename Ask>
std::vector<std::string> keys_of(const std::vector<Ask>& asks) {
  std::vector<std::string> keys;
  for (const Ask& ask : asks) keys.push_back(key_text(ask.key));
  return keys;
}

}  // namespace

std::string key_text(const BucketKey& key) {
  std::string digits(32, '0');
  base::write_hex(digits.data(), key.high);
  base::write_hex(digits.data() + 16, key.low);
  return digits;
}

Result<DecidedShares> decide_shares(database::Session& session, const std::vector<RegionBook::ShareAsk>& asks,
                                    const RegionMap& map, Duration lease) {
  Batch reads;
  begin_reading(reads, keys_of(asks), lease);
  for (const RegionBook::ShareAsk& ask : asks) reads.add(kReadShares, key_text(ask.key));
  const Result<TablesNow> tables = end_reading(session, reads, asks.size(), lease);
  if (!tables.ok()) return tables.failure();
  const TimePoint now = tables.value().now;
  DecidedShares decided;
  decided.learning = tables.value().learning;
  Batch batch;
  bool lost = false;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    std::vector<ShareRow> rows;
    for (const Row& row : tables.value().answers[i]) rows.push_back(share_row(row, map));
    const ShareRequest& request = asks[i].request;
    const ShareTerms terms{.regions = map.size(), .lease = lease, .learning = decided.learning};
    decided.answers.push_back(decide_share(rows, request, now, terms));
    lost = lost || decided.answers.back().rows_lost;
    const auto own = std::find_if(rows.begin(), rows.end(), [&request](const ShareRow& row) {
      return row.region == request.region && row.node == request.node;
    });
    add_write(batch, key_text(asks[i].key), *own, map);
  }
  if (lost) batch.add(kLearn, micros(now + lease));
  const Result<std::vector<Rows>> written = session.run(batch);
  if (!written.ok()) return written.failure();
  return decided;
}

Result<std::vector<std::int64_t>> decide_units(database::Session& session, const std::vector<RegionBook::UnitAsk>& asks,
                                               const RegionMap& map, Duration lease) {
  Batch reads;
  begin_reading(reads, keys_of(asks), lease);
  for (const RegionBook::UnitAsk& ask : asks) reads.add(kReadUnits, key_text(ask.key), micros(ask.starts));
  const Result<TablesNow> tables = end_reading(session, reads, asks.size(), lease);
  if (!tables.ok()) return tables.failure();
  std::vector<std::int64_t> given;
  Batch writes;
  bool any_lost = false;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    std::vector<UnitRow> rows;
    for (const Row& row : tables.value().answers[i]) rows.push_back({map.index_of(text(row[0])), number(row[1])});
    const bool lost = units_lost(rows, asks[i].request);
    any_lost = any_lost || lost;
    // What was given of a window is used until it ends: if it is not known, nothing more of it is given.
    const bool unknown = lost || asks[i].starts < tables.value().lost;
    given.push_back(decide_units(rows, asks[i].request, map.size(), unknown || tables.value().learning));
    writes.add(kWriteUnits, key_text(asks[i].key), micros(asks[i].starts), map.names[asks[i].request.region],
               given.back(), micros(asks[i].ends));
  }
  if (any_lost) writes.add(kLearn, micros(tables.value().now + lease));
  const Result<std::vector<Rows>> written = session.run(writes);
  if (!written.ok()) return written.failure();
  return given;
}

Status write_cells(database::Session& session, const std::vector<RegionBook::CellAsk>& asks, const RegionMap& map,
                   Duration lease) {
  // In the order of their keys, so that two transactions cannot wait for each other.
  std::vector<const RegionBook::CellAsk*> sorted;
  for (const RegionBook::CellAsk& ask : asks) sorted.push_back(&ask);
  const auto before = [](const RegionBook::CellAsk* a, const RegionBook::CellAsk* b) {
    return std::pair(a->key.high, a->key.low) < std::pair(b->key.high, b->key.low);
  };
  std::sort(sorted.begin(), sorted.end(), before);
  Batch batch;
  batch.add(kAddState, lease.count());
  for (const RegionBook::CellAsk* ask : sorted) {
    for (const Cell& cell : ask->cells) {
      batch.add(kWriteCell, key_text(ask->key), micros(ask->starts), map.names[cell.region], cell.epoch, cell.used,
                micros(ask->ends));
    }
  }
  const Result<std::vector<Rows>> written = session.run(batch);
  return written.ok() ? success() : Status(written.failure());
}

Result<std::vector<ReadCells>> read_cells(database::Session& session, const std::vector<RegionBook::CellAsk>& asks,
                                          const RegionMap& map, Duration lease) {
  Batch batch;
  for (const RegionBook::CellAsk& ask : asks) batch.add(kReadCells, key_text(ask.key), micros(ask.starts));
  batch.add(kReadState);  // last, so that a loss before the cells were read is seen
  const Result<std::vector<Rows>> read = session.run(batch);
  if (!read.ok()) return read.failure();
  const Rows& state = read.value().back();
  std::vector<ReadCells> all;
  for (std::size_t i = 0; i < asks.size(); ++i) {
    ReadCells& of_key = all.emplace_back();
    for (const Row& row : read.value()[i]) {
      of_key.cells.push_back({map.index_of(text(row[0])), number(row[1]), number(row[2])});
    }
    of_key.complete = !state.empty() && asks[i].starts >= lost_at(number(state[0][1]), lease);
  }
  return all;
}

Status delete_expired(database::Session& session, Duration lease) {
  const Result<Rows> now = session.run(kNow);
  if (!now.ok()) return now.failure();
  const std::int64_t before = number(now.value()[0][0]) - 6 * lease.count();
  Batch batch;
  batch.add(kDeleteShares, before);
  batch.add(kDeleteCells, before);
  batch.add(kDeleteUnits, before);
  const Result<std::vector<Rows>> ran = session.run(batch);
  return ran.ok() ? success() : Status(ran.failure());
}

}  // namespace weir::regions
