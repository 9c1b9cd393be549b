#include "database/postgres/postgres_connection.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "database/postgres/array_text.h"
#include "database/postgres/sqlstate.h"

namespace weir::database {
namespace {

using std::chrono::milliseconds;

constexpr int kOldestVersion = 130000;

// The types of PostgreSQL's catalog that are whole numbers here.
constexpr Oid kBool = 16, kInt8 = 20, kInt2 = 21, kInt4 = 23;

constexpr const char* kBeginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
constexpr const char* kBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

// An acknowledged commit is on disk; a lock, or a client that is gone, does not keep a transaction open.
constexpr const char* kSessionSettings =
    "SELECT set_config('synchronous_commit', 'on', false) "
    "WHERE current_setting('synchronous_commit') IN ('off', 'local');"
    "SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s';"
    "SET client_min_messages = 'warning'";

Value value_of(const PGresult* result, int row, int column) {
  if (PQgetisnull(result, row, column) != 0) return {};
  const char* text = PQgetvalue(result, row, column);
  switch (PQftype(result, column)) {
    case kBool:
      return std::int64_t{*text == 't' ? 1 : 0};
    case kInt2:
    case kInt4:
    case kInt8:
      return std::int64_t{std::strtoll(text, nullptr, 10)};
    default:
      return std::string(text, static_cast<std::size_t>(PQgetlength(result, row, column)));
  }
}

Rows rows_of(const PGresult* result) {
  Rows rows(static_cast<std::size_t>(PQntuples(result)));
  const int columns = PQnfields(result);
  for (int row = 0; row < PQntuples(result); ++row) {
    Row& values = rows[static_cast<std::size_t>(row)];
    for (int column = 0; column < columns; ++column) values.push_back(value_of(result, row, column));
  }
  return rows;
}

std::string without_newlines(const char* message) {
  std::string text(message == nullptr ? "" : message);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

bool failed(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_FATAL_ERROR || status == PGRES_BAD_RESPONSE || status == PGRES_NONFATAL_ERROR;
}

}  // namespace

void PostgresConnection::Free::operator()(pg_result* result) const { PQclear(result); }

PostgresConnection::PostgresConnection(std::string url) : url_(std::move(url)) {}

PostgresConnection::~PostgresConnection() {
  if (is_open()) close();
}

Failure PostgresConnection::lost(const std::string& what) {
  trouble_ = Trouble::lost;
  return {Code::unavailable, "PostgreSQL: " + what};
}

Failure PostgresConnection::refused(const pg_result* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const std::string message = without_newlines(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
  // Without a code the message is libpq's own: the connection broke.
  if (sqlstate == nullptr || PQstatus(connection_) != CONNECTION_OK) {
    return lost(message.empty() ? without_newlines(PQerrorMessage(connection_)) : message);
  }
  const SqlState meaning = meaning_of(sqlstate);
  trouble_ = meaning.trouble;
  return {meaning.code, "PostgreSQL: " + message + " (" + sqlstate + ")"};
}

Status PostgresConnection::open(Deadline deadline) {
  // Those before the URL may be changed by it.
  static constexpr const char* kNames[] = {"application_name", "connect_timeout",
                                           "keepalives_idle",  "keepalives_interval",
                                           "keepalives_count", "tcp_user_timeout",
                                           "client_encoding",  "target_session_attrs",
                                           "dbname",           nullptr};
  const char* values[] = {"weir", "2", "10", "5", "3", "15000", "UTF8", "read-write", url_.c_str(), nullptr};
  connection_ = PQconnectdbParams(kNames, values, 1);
  if (PQstatus(connection_) != CONNECTION_OK) {
    Failure unreachable{Code::unavailable, without_newlines(PQerrorMessage(connection_))};
    close();
    return unreachable;
  }
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  set_deadline(deadline);
  Status ready = prepare_session();
  if (!ready.ok()) close();
  return ready;
}

Status PostgresConnection::prepare_session() {
  const int version = PQserverVersion(connection_);
  if (version < kOldestVersion) {
    return Failure{Code::failed_precondition, "PostgreSQL " + std::to_string(version / 10000) +
                                                  " is too old; expected " + std::to_string(kOldestVersion / 10000) +
                                                  " or later"};
  }
  if (PQsetnonblocking(connection_, 1) != 0) return lost(without_newlines(PQerrorMessage(connection_)));
  const Result<std::string> set = simple(kSessionSettings);
  if (!set.ok()) return set.failure();
  return success();
}

void PostgresConnection::close() {
  PQfinish(connection_);
  connection_ = nullptr;
  prepared_.clear();
  names_given_ = 0;
  begun_ = begin_pending_ = false;
}

Result<PostgresConnection::Answer> PostgresConnection::next_answer() {
  while (true) {
    const int unsent = PQflush(connection_);
    if (unsent < 0) return lost(without_newlines(PQerrorMessage(connection_)));
    if (PQisBusy(connection_) == 0) return Answer(PQgetResult(connection_));
    const auto left = std::chrono::ceil<milliseconds>(deadline_ - std::chrono::steady_clock::now());
    if (left.count() <= 0) return lost("no answer in time");
    pollfd socket{PQsocket(connection_), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), 0};
    ::poll(&socket, 1, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
    if ((socket.revents & ~POLLOUT) != 0 && PQconsumeInput(connection_) == 0) {
      return lost(without_newlines(PQerrorMessage(connection_)));
    }
  }
}

Result<std::string> PostgresConnection::simple(const char* sql) {
  if (PQsendQuery(connection_, sql) == 0) return lost(without_newlines(PQerrorMessage(connection_)));
  std::string value;
  std::optional<Failure> failure;
  while (true) {
    const Result<Answer> answer = next_answer();
    if (!answer.ok()) return answer.failure();
    pg_result* const result = answer.value().get();
    if (result == nullptr) break;
    if (failed(result)) failure = refused(result);
    const int rows = PQntuples(result);
    value = rows > 0 ? PQgetvalue(result, rows - 1, 0) : PQcmdStatus(result);
  }
  if (failure) return *std::move(failure);
  return value;
}

Status PostgresConnection::begin(Access access) {
  trouble_ = Trouble::none;
  writes_ = access == Access::write;
  begin_pending_ = true;
  return success();
}

Status PostgresConnection::run_script(const std::string& sql) {
  if (begin_pending_) {
    if (const Result<std::string> begun = simple(writes_ ? kBeginWrite : kBeginRead); !begun.ok()) {
      return begun.failure();
    }
    begin_pending_ = false;
    begun_ = true;
  }
  if (const Result<std::string> done = simple(sql.c_str()); !done.ok()) return done.failure();
  return success();
}

bool PostgresConnection::send_preparation(const Step& step, const Statement* statement, std::string& name) {
  name = "weir" + std::to_string(++names_given_);
  std::vector<Oid> types;
  // Text, NULL and arrays take the type that the statement expects there.
  for (const Value& value : step.values) types.push_back(std::holds_alternative<std::int64_t>(value) ? kInt8 : 0);
  const std::string sql(statement->text);
  return PQsendPrepare(connection_, name.c_str(), sql.c_str(), static_cast<int>(types.size()), types.data()) == 1;
}

bool PostgresConnection::send_step(const Step& step) {
  // Of a set, an array for each column; else a value for each.
  const std::size_t count = step.many == nullptr ? step.values.size() : step.rows.empty() ? 0 : step.rows[0].size();
  std::vector<std::string> written(count);
  std::vector<const char*> values(count, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    if (step.many != nullptr) {
      written[i] = array_text(step.rows, i);
      values[i] = written[i].c_str();
    } else if (const auto* whole = std::get_if<std::int64_t>(&step.values[i])) {
      written[i] = std::to_string(*whole);
      values[i] = written[i].c_str();
    } else if (const auto* text = std::get_if<std::string>(&step.values[i])) {
      values[i] = text->c_str();
    }
  }
  const Statement* const statement = step.many == nullptr ? step.statement : step.many;
  return PQsendQueryPrepared(connection_, prepared_[statement].c_str(), static_cast<int>(count), values.data(), nullptr,
                             nullptr, 0) == 1;
}

Result<std::vector<PostgresConnection::Sent>> PostgresConnection::send(const Batch& batch) {
  std::vector<Sent> sent;
  bool queued = PQenterPipelineMode(connection_) == 1;
  if (queued && begin_pending_) {
    const char* begin = writes_ ? kBeginWrite : kBeginRead;
    queued = PQsendQueryParams(connection_, begin, 0, nullptr, nullptr, nullptr, nullptr, 0) == 1;
    sent.push_back({Sent::Kind::begin});
  }
  for (const Step& step : batch.steps()) {
    if (!queued) break;
    const Statement* const statement = step.many == nullptr ? step.statement : step.many;
    if (std::string& name = prepared_[statement]; name.empty()) {
      queued = send_preparation(step, statement, name);
      sent.push_back({Sent::Kind::preparation, statement});
      if (!queued) break;
    }
    queued = send_step(step);
    sent.push_back({Sent::Kind::step, statement});
  }
  if (queued) queued = PQpipelineSync(connection_) == 1;
  if (!queued) return lost(without_newlines(PQerrorMessage(connection_)));
  return sent;
}

Result<std::vector<Rows>> PostgresConnection::take_answers(const std::vector<Sent>& sent) {
  std::vector<Rows> rows;
  std::optional<Failure> failure;
  for (const Sent& each : sent) {
    while (true) {
      const Result<Answer> answer = next_answer();
      if (!answer.ok()) return answer.failure();
      const pg_result* result = answer.value().get();
      if (result == nullptr) break;
      const bool done = PQresultStatus(result) == PGRES_COMMAND_OK || PQresultStatus(result) == PGRES_TUPLES_OK;
      if (!done && each.kind == Sent::Kind::preparation) prepared_.erase(each.statement);
      if (!done && !failure && failed(result)) failure = refused(result);
      if (done && each.kind == Sent::Kind::begin) {
        begin_pending_ = false;
        begun_ = true;
      }
      if (done && each.kind == Sent::Kind::step) rows.push_back(rows_of(result));
    }
  }
  const Result<Answer> end = next_answer();
  if (!end.ok()) return end.failure();
  if (PQresultStatus(end.value().get()) != PGRES_PIPELINE_SYNC) return lost("its answers are out of step");
  if (PQexitPipelineMode(connection_) == 0) return lost(without_newlines(PQerrorMessage(connection_)));
  if (failure) return *std::move(failure);
  return rows;
}

Result<std::vector<Rows>> PostgresConnection::run(const Batch& batch) {
  if (batch.empty()) return std::vector<Rows>();
  if (!batch.storable()) {
    trouble_ = Trouble::refused;
    return not_storable();
  }
  const Result<std::vector<Sent>> sent = send(batch);
  if (!sent.ok()) return sent.failure();
  return take_answers(sent.value());
}

Connection::Committed PostgresConnection::commit(Failure& failure) {
  if (!begun_) {
    begin_pending_ = false;
    return Committed::yes;  // nothing was asked
  }
  const Result<std::string> ended = simple("COMMIT");
  if (ended.ok()) {
    begun_ = false;
    if (ended.value() == "COMMIT") return Committed::yes;
    trouble_ = Trouble::refused;
    failure = {Code::internal, "PostgreSQL rolled the transaction back, because one of its statements had failed"};
    return Committed::no;
  }
  failure = ended.failure();
  if (trouble_ != Trouble::lost) begun_ = false;  // an error at the commit ends the transaction
  return trouble_ == Trouble::lost && writes_ ? Committed::unknown : Committed::no;
}

void PostgresConnection::rollback() {
  begin_pending_ = false;
  if (!begun_) return;
  begun_ = false;
  if (!simple("ROLLBACK").ok()) close();
}

}  // namespace weir::database
