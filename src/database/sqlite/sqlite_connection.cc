#include "database/sqlite/sqlite_connection.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::database {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kForUpdate = " FOR UPDATE";
// For other processes that write to the file, such as the command line.
constexpr milliseconds kBusyTimeout{5000};
constexpr int kInstructionsBetweenLooks = 100'000;

// $1 gets the first value, wherever it is in the text.
int bind(sqlite3_stmt* statement, const Row& values) {
  const int count = sqlite3_bind_parameter_count(statement);
  for (int index = 1; index <= count; ++index) {
    const char* name = sqlite3_bind_parameter_name(statement, index);
    const auto number = static_cast<std::size_t>(std::atoi(name + 1));
    assert(number >= 1 && number <= values.size());
    const Value& value = values[number - 1];
    int code = SQLITE_OK;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) {
      code = sqlite3_bind_int64(statement, index, *whole);
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      code = sqlite3_bind_text64(statement, index, text->data(), text->size(), SQLITE_STATIC, SQLITE_UTF8);
    } else {
      code = sqlite3_bind_null(statement, index);
    }
    if (code != SQLITE_OK) return code;
  }
  return SQLITE_OK;
}

Value column(sqlite3_stmt* statement, int index) {
  switch (sqlite3_column_type(statement, index)) {
    case SQLITE_NULL:
      return {};
    case SQLITE_INTEGER:
      return std::int64_t{sqlite3_column_int64(statement, index)};
    default: {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement, index));
      return std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, index)));
    }
  }
}

Code code_of(int extended) {
  switch (extended) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
      return Code::already_exists;
    case SQLITE_INTERRUPT:
      return Code::deadline_exceeded;
    default:
      break;
  }
  switch (extended & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Code::aborted;
    case SQLITE_CONSTRAINT:
      return Code::failed_precondition;
    case SQLITE_FULL:
    case SQLITE_TOOBIG:
    case SQLITE_NOMEM:
      return Code::resource_exhausted;
    case SQLITE_PERM:
    case SQLITE_READONLY:
    case SQLITE_AUTH:
      return Code::permission_denied;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
      return Code::unavailable;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return Code::data_loss;
    default:
      return Code::internal;
  }
}

// So that SQLite does not make it with the rights of the umask.
Status make_private_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return Failure{Code::unavailable, path + ": " + std::strerror(errno)};
  ::close(file);
  return success();
}

}  // namespace

void SqliteConnection::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

SqliteConnection::SqliteConnection(std::string path, Access access) : path_(std::move(path)), access_(access) {}

SqliteConnection::~SqliteConnection() {
  if (is_open()) close();
}

Failure SqliteConnection::failure() {
  const int extended = sqlite3_extended_errcode(handle_);
  const Code code = code_of(extended);
  trouble_ = code == Code::aborted ? Trouble::conflict
             // Opened again, it begins with what is on disk.
             : code == Code::unavailable ? Trouble::lost
                                         : Trouble::refused;
  return {code, path_ + ": " + sqlite3_errmsg(handle_)};
}

Status SqliteConnection::open(Deadline deadline) {
  if (access_ == Access::write) {
    if (Status made = make_private_file(path_); !made.ok()) return made;
  }
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(path_.c_str(), &handle_, flags, nullptr);
  if (code != SQLITE_OK) {
    Failure refused{code_of(code), path_ + ": " + (handle_ ? sqlite3_errmsg(handle_) : sqlite3_errstr(code))};
    close();
    return refused;
  }
  set_deadline(deadline);
  const auto past_deadline = [](void* self) -> int {
    return std::chrono::steady_clock::now() >= static_cast<SqliteConnection*>(self)->deadline_ ? 1 : 0;
  };
  sqlite3_progress_handler(handle_, kInstructionsBetweenLooks, past_deadline, this);
  // With recursive triggers, a row that REPLACE removes counts as deleted, which append-only tables refuse.
  Status ready =
      script(access_ == Access::write
                 ? "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                   "PRAGMA journal_size_limit=67108864; PRAGMA trusted_schema=OFF; PRAGMA recursive_triggers=ON;"
                 : "PRAGMA query_only=ON; PRAGMA trusted_schema=OFF;");
  if (ready.ok() && access_ == Access::write) {
    static const Statement kMode{"PRAGMA journal_mode"};
    const Result<Rows> mode = run(kMode);
    if (!mode.ok()) {
      ready = mode.failure();
    } else if (text(mode.value()[0][0]) != "wal") {
      ready = Failure{Code::failed_precondition,
                      path_ + ": its file system does not support SQLite's write-ahead log (a network file system?)"};
    }
  }
  if (!ready.ok()) close();
  return ready;
}

void SqliteConnection::close() {
  prepared_.clear();
  sqlite3_close_v2(handle_);
  handle_ = nullptr;
}

void SqliteConnection::set_deadline(Deadline deadline) {
  deadline_ = deadline;
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - std::chrono::steady_clock::now());
  sqlite3_busy_timeout(handle_, static_cast<int>(std::clamp(left, milliseconds(0), kBusyTimeout).count()));
}

Status SqliteConnection::script(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return success();
  return failure();
}

Status SqliteConnection::begin(Access access) {
  trouble_ = Trouble::none;
  return script(access == Access::write ? "BEGIN IMMEDIATE" : "BEGIN");
}

Connection::Committed SqliteConnection::commit(Failure& failed) {
  const Status committed = script("COMMIT");
  if (committed.ok()) return Committed::yes;
  failed = committed.failure();
  // When the disk reports an error, the end of the transaction may be in the log or not.
  return trouble_ == Trouble::lost ? Committed::unknown : Committed::no;
}

void SqliteConnection::rollback() {
  // Some errors have ended the transaction already.
  if (sqlite3_get_autocommit(handle_) == 0 && !script("ROLLBACK").ok()) close();
}

Result<sqlite3_stmt*> SqliteConnection::prepare(const Statement& statement) {
  Prepared& prepared = prepared_[&statement];
  if (!prepared) {
    std::string_view sql = statement.text;
    if (sql.ends_with(kForUpdate)) sql.remove_suffix(kForUpdate.size());
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                        &made, nullptr);
    if (code != SQLITE_OK) return failure();
    prepared.reset(made);
  }
  return prepared.get();
}

Status SqliteConnection::run_with(const Statement& what, const Row& values, Rows& rows) {
  const Result<sqlite3_stmt*> prepared = prepare(what);
  if (!prepared.ok()) return prepared.failure();
  sqlite3_stmt* const statement = prepared.value();
  if (bind(statement, values) != SQLITE_OK) return failure();
  int code = SQLITE_OK;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    Row& row = rows.emplace_back();
    const int columns = sqlite3_column_count(statement);
    for (int i = 0; i < columns; ++i) row.push_back(column(statement, i));
  }
  if (code != SQLITE_DONE) {
    Failure failed = failure();
    sqlite3_reset(statement);
    return failed;
  }
  sqlite3_reset(statement);
  return success();
}

Result<Rows> SqliteConnection::run_step(const Step& step) {
  Rows rows;
  if (step.many == nullptr) {
    if (Status done = run_with(*step.statement, step.values, rows); !done.ok()) return done.failure();
    return rows;
  }
  for (const Row& values : step.rows) {
    if (Status done = run_with(*step.statement, values, rows); !done.ok()) return done.failure();
  }
  return rows;
}

Result<std::vector<Rows>> SqliteConnection::run(const Batch& batch) {
  if (!batch.storable()) {
    trouble_ = Trouble::refused;
    return not_storable();
  }
  std::vector<Rows> answers;
  answers.reserve(batch.size());
  for (const Step& step : batch.steps()) {
    Result<Rows> rows = run_step(step);
    if (!rows.ok()) return rows.failure();
    answers.push_back(std::move(rows).value());
  }
  return answers;
}

Status SqliteConnection::run_script(const std::string& sql) { return script(sql.c_str()); }

Status SqliteConnection::copy_to(const std::string& path) {
  static const Statement kCopy{"VACUUM INTO $1"};
  const Result<Rows> copied = run(kCopy, path);
  if (!copied.ok()) return copied.failure();
  return success();
}

}  // namespace weir::database
