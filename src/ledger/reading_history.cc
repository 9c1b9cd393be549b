// What has happened in accounts: entries, the pace of use, and use over time.
#include <algorithm>

#include "ledger/reading.h"
#include "ledger/rows.h"

namespace weir::ledger {
namespace {

using database::is_null;
using database::number;
using database::Row;
using database::Rows;
using database::Session;
using database::Statement;

const Statement kNewest{"SELECT " WEIR_LEDGER_ENTRY_COLUMNS
                        " FROM ledger_entry WHERE account = $1 AND version < $2 ORDER BY version DESC LIMIT $3"};
const Statement kRecent{
    "SELECT CAST(COALESCE(SUM(CASE WHEN to_bucket = 'used' THEN amount ELSE -amount END), 0) AS bigint),"
    " MIN(effective_at) FROM ledger_entry WHERE account = $1 AND version > $2 AND effective_at >= $3"
    " AND (to_bucket = 'used' OR from_bucket = 'used')"};
const Statement kSteps{
    "SELECT (effective_at - $2) / $3, CAST(SUM(CASE WHEN to_bucket = 'used' THEN amount ELSE -amount END) AS bigint)"
    " FROM ledger_entry WHERE account = $1 AND version > $4 AND (to_bucket = 'used' OR from_bucket = 'used')"
    " GROUP BY 1 ORDER BY 1"};

// So many entries say what the pace is, and make a series; what is older counts as used before.
constexpr std::int64_t kPaceEntries = 500;
constexpr std::int64_t kSeriesEntries = 100'000;
constexpr std::int64_t kSeriesSteps = 120;
constexpr double kTenYearsUs = 10.0 * 365 * 24 * 3600 * 1e6;

// A day of a month, two minutes of an hour.
Duration pace_window(const Account& account) {
  return std::clamp<Duration>((account.ends - account.begins) / 30, std::chrono::minutes(2),
                              std::chrono::hours(7 * 24));
}

}  // namespace

Result<std::vector<Entry>> read_entries(Session& session, std::int64_t account, std::int64_t below, std::size_t most) {
  const Result<Rows> rows =
      session.run(kNewest, account, below, static_cast<std::int64_t>(std::min(most, kMaxListed + 1)));
  if (!rows.ok()) return rows.failure();
  std::vector<Entry> entries;
  for (const Row& row : rows.value()) {
    Result<Entry> entry = entry_of(row);
    if (!entry.ok()) return entry.failure();
    entries.push_back(std::move(entry).value());
  }
  return entries;
}

Result<std::vector<Pace>> read_paces(Session& session, const std::vector<Account>& accounts, TimePoint now) {
  database::Batch batch;
  for (const Account& account : accounts) {
    batch.add(kRecent, account.id, account.version - kPaceEntries, micros(now - pace_window(account)));
  }
  std::vector<Pace> paces;
  if (accounts.empty()) return paces;
  const Result<std::vector<Rows>> answers = session.run(batch);
  if (!answers.ok()) return answers.failure();
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    const Account& account = accounts[i];
    const Row& row = answers.value()[i].at(0);
    TimePoint since = std::max(account.begins, now - pace_window(account));
    if (account.version > kPaceEntries && !is_null(row[1])) since = std::max(since, from_micros(number(row[1])));
    // A burst in the first moments of a period is no pace yet.
    paces.push_back({number(row[0]), std::max(now - since, pace_window(account) / 10)});
  }
  return paces;
}

std::optional<TimePoint> forecast(const Account& account, const Pace& pace, TimePoint now) {
  if (account.available == 0) return now;
  if (pace.units <= 0) return std::nullopt;
  const double left_us =
      static_cast<double>(account.available) / static_cast<double>(pace.units) * static_cast<double>(pace.time.count());
  if (left_us > kTenYearsUs) return std::nullopt;
  return now + Duration(static_cast<std::int64_t>(left_us));
}

Result<UsedSeries> read_series(Session& session, const Account& account, TimePoint now) {
  UsedSeries series;
  series.start = account.begins;
  series.step = (account.ends - account.begins) / kSeriesSteps;
  const Result<Rows> rows =
      session.run(kSteps, account.id, micros(series.start), series.step.count(), account.version - kSeriesEntries);
  if (!rows.ok()) return rows.failure();
  std::int64_t counted = 0;
  for (const Row& row : rows.value()) counted += number(row[1]);
  std::int64_t used = account.used - counted;
  std::size_t next = 0;
  for (std::int64_t i = 0; i <= kSeriesSteps && series.start + i * series.step <= now; ++i) {
    for (; next < rows.value().size() && number(rows.value()[next][0]) < i; ++next)
      used += number(rows.value()[next][1]);
    series.used.push_back(used);
  }
  return series;
}

}  // namespace weir::ledger
