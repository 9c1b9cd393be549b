#include "control/change_log.h"

namespace weir::control {
namespace {

using database::Rows;
using database::Statement;

const Statement kNoteChange{
    "INSERT INTO change_log (topic, version) VALUES ($1, 1) "
    "ON CONFLICT (topic) DO UPDATE SET version = change_log.version + 1"};
const Statement kNotifyChange{"SELECT pg_notify($1, $2)"};
const Statement kReadChanges{"SELECT topic, version FROM change_log"};

}  // namespace

Status note_change(database::Session& session, std::string_view topic) {
  database::Batch batch;
  batch.add(kNoteChange, std::string(topic));
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

}  // namespace weir::control
