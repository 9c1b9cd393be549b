#include "control/change_log.h"

#include <set>

namespace weir::control {
namespace {

using database::Rows;
using database::Statement;

const Statement kNoteChange{
    "INSERT INTO change_log (topic, version) VALUES ($1, 1) "
    "ON CONFLICT (topic) DO UPDATE SET version = change_log.version + 1"};
const Statement kNotifyChange{"SELECT pg_notify($1, $2)"};
const Statement kNoteRecord{
    "INSERT INTO change_record (topic, version, record) SELECT topic, version, $2 FROM change_log WHERE topic = $1"};
const Statement kForgetRecords{
    "DELETE FROM change_record WHERE topic = $1 AND version <= "
    "(SELECT version FROM change_log WHERE topic = $1) - $2"};
const Statement kReadRecords{
    "SELECT version, record FROM change_record WHERE topic = $1 AND version > $2 AND version <= $3 "
    "ORDER BY version LIMIT $4"};
const Statement kReadChanges{"SELECT topic, version FROM change_log"};

}  // namespace

Status note_change(database::Session& session, std::string_view topic, std::span<const std::string> records) {
  database::Batch batch;
  batch.add(kNoteChange, std::string(topic));
  for (const std::string& record : records) batch.add(kNoteRecord, std::string(topic), record);
  if (!records.empty()) batch.add(kForgetRecords, std::string(topic), kKnownChanges);
  if (session.dialect() == database::Dialect::postgres) {
    batch.add(kNotifyChange, std::string(kChangeChannel), std::string(topic));
  }
  const auto noted = session.run(batch);
  if (!noted.ok()) return noted.failure();
  return success();
}

Result<std::map<std::string, std::int64_t>> read_changes(database::Session& session) {
  const Result<Rows> rows = session.run(kReadChanges);
  if (!rows.ok()) return rows.failure();
  std::map<std::string, std::int64_t> changes;
  for (const database::Row& row : rows.value()) changes[database::text(row[0])] = database::number(row[1]);
  return changes;
}

Result<std::optional<std::vector<std::string>>> read_changed_records(database::Session& session,
                                                                     const std::string& topic, std::int64_t from,
                                                                     std::int64_t to, std::size_t most) {
  const Result<Rows> rows = session.run(kReadRecords, topic, from, to, static_cast<std::int64_t>(most + 1));
  if (!rows.ok()) return rows.failure();
  std::set<std::string> records;
  std::int64_t last = from;
  for (const database::Row& row : rows.value()) {
    const std::int64_t version = database::number(row[0]);
    if (version > last + 1) return std::optional<std::vector<std::string>>();  // one without records
    last = version;
    records.insert(database::text(row[1]));
  }
  if (last != to || rows.value().size() > most) return std::optional<std::vector<std::string>>();
  return std::optional(std::vector<std::string>(records.begin(), records.end()));
}

}  // namespace weir::control
