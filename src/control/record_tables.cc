#include "control/record_tables.h"

#include <array>
#include <charconv>

namespace weir::control {
namespace {

using database::is_null;
using database::number;
using database::Row;
using database::Rows;
using database::Statement;
using database::text;
using database::Value;

struct Statements {
  Statement all;
  Statement page;
  Statement seen;  // one, to read
  Statement one;   // to change
  Statement count;
  Statement add;
  Statement change;
  Statement remove;
};

// The columns are in the order of row_of() and record_of(); the key is the first.
template <typename Record>
const Statements kStatements{};

template <>
const Statements kStatements<OverrideRecord>{
    .all = {"SELECT id, rules, conditions, unit_limit, window_us, burst, unlimited, mode, emergency, until_at, reason, "
            "actor, created_at, revision, last_used_at FROM control_override"},
    .page =
        {"SELECT id, rules, conditions, unit_limit, window_us, burst, unlimited, mode, emergency, until_at, reason, "
         "actor, created_at, revision, last_used_at FROM control_override "
         "WHERE id > $1 ORDER BY id LIMIT $2"},
    .seen =
        {"SELECT id, rules, conditions, unit_limit, window_us, burst, unlimited, mode, emergency, until_at, reason, "
         "actor, created_at, revision, last_used_at FROM control_override WHERE id = $1"},
    .one = {"SELECT id, rules, conditions, unit_limit, window_us, burst, unlimited, mode, emergency, until_at, reason, "
            "actor, created_at, revision, last_used_at FROM control_override WHERE id = $1 FOR UPDATE"},
    .count = {"SELECT count(*) FROM control_override"},
    .add = {"INSERT INTO control_override (id, rules, conditions, unit_limit, window_us, burst, unlimited, mode, "
            "emergency, until_at, reason, actor, created_at, revision, last_used_at) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)"},
    .change = {"UPDATE control_override SET rules = $2, conditions = $3, unit_limit = $4, window_us = $5, burst = $6, "
               "unlimited = $7, mode = $8, emergency = $9, until_at = $10, reason = $11, actor = $12, "
               "created_at = $13, revision = $14, last_used_at = $15 WHERE id = $1"},
    .remove = {"DELETE FROM control_override WHERE id = $1"}};

template <>
const Statements kStatements<BlockRecord>{
    .all = {"SELECT id, conditions, until_at, reason, actor, created_at, revision, hits, last_used_at "
            "FROM control_block"},
    .page =
        {"SELECT id, conditions, until_at, reason, actor, created_at, revision, hits, last_used_at FROM control_block "
         "WHERE id > $1 ORDER BY id LIMIT $2"},
    .seen = {"SELECT id, conditions, until_at, reason, actor, created_at, revision, hits, last_used_at "
             "FROM control_block WHERE id = $1"},
    .one = {"SELECT id, conditions, until_at, reason, actor, created_at, revision, hits, last_used_at "
            "FROM control_block WHERE id = $1 FOR UPDATE"},
    .count = {"SELECT count(*) FROM control_block"},
    .add = {"INSERT INTO control_block (id, conditions, until_at, reason, actor, created_at, revision, hits, "
            "last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"},
    .change = {"UPDATE control_block SET conditions = $2, until_at = $3, reason = $4, actor = $5, created_at = $6, "
               "revision = $7, hits = $8, last_used_at = $9 WHERE id = $1"},
    .remove = {"DELETE FROM control_block WHERE id = $1"}};

template <>
const Statements kStatements<TenantRecord>{
    .all =
        {"SELECT tenant, plan, zone, settings, note, created_at, updated_at, revision, plan_steps FROM control_tenant"},
    .page =
        {"SELECT tenant, plan, zone, settings, note, created_at, updated_at, revision, plan_steps FROM control_tenant "
         "WHERE tenant > $1 ORDER BY tenant LIMIT $2"},
    .seen =
        {"SELECT tenant, plan, zone, settings, note, created_at, updated_at, revision, plan_steps FROM control_tenant "
         "WHERE tenant = $1"},
    .one =
        {"SELECT tenant, plan, zone, settings, note, created_at, updated_at, revision, plan_steps FROM control_tenant "
         "WHERE tenant = $1 FOR UPDATE"},
    .count = {"SELECT count(*) FROM control_tenant"},
    .add = {"INSERT INTO control_tenant (tenant, plan, zone, settings, note, created_at, updated_at, revision, "
            "plan_steps) "
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"},
    .change = {"UPDATE control_tenant SET plan = $2, zone = $3, settings = $4, note = $5, created_at = $6, "
               "updated_at = $7, revision = $8, plan_steps = $9 WHERE tenant = $1"},
    .remove = {"DELETE FROM control_tenant WHERE tenant = $1"}};

template <>
const Statements kStatements<KeyRecord>{
    .all = {"SELECT id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, revoked_at, "
            "last_used_at, revision FROM control_key"},
    .page = {"SELECT id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, revoked_at, "
             "last_used_at, revision FROM control_key "
             "WHERE id > $1 ORDER BY id LIMIT $2"},
    .seen = {"SELECT id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, revoked_at, "
             "last_used_at, revision FROM control_key WHERE id = $1"},
    .one = {"SELECT id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, revoked_at, "
            "last_used_at, revision FROM control_key WHERE id = $1 FOR UPDATE"},
    .count = {"SELECT count(*) FROM control_key"},
    .add = {"INSERT INTO control_key (id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, "
            "revoked_at, last_used_at, revision) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"},
    .change = {"UPDATE control_key SET name = $2, prefix = $3, hash = $4, tenant = $5, plan = $6, attributes = $7, "
               "actor = $8, created_at = $9, expires_at = $10, revoked_at = $11, last_used_at = $12, revision = $13 "
               "WHERE id = $1"},
    .remove = {"DELETE FROM control_key WHERE id = $1"}};

const Statement kExpiredOverrides{
    "DELETE FROM control_override WHERE until_at <= $1 RETURNING id, rules, conditions, unit_limit, window_us, burst, "
    "unlimited, mode, emergency, until_at, reason, actor, created_at, revision, last_used_at"};
const Statement kExpiredBlocks{
    "DELETE FROM control_block WHERE until_at <= $1 RETURNING id, conditions, until_at, reason, actor, created_at, "
    "revision, hits, last_used_at"};
const Statement kKeysOfTenant{
    "SELECT id, name, prefix, hash, tenant, plan, attributes, actor, created_at, expires_at, revoked_at, last_used_at, "
    "revision FROM control_key WHERE tenant = $3 AND id > $1 ORDER BY id LIMIT $2"};
const Statement kOverrideUsed{
    "UPDATE control_override SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"};
const Statement kBlockUsed{
    "UPDATE control_block SET hits = hits + $3, last_used_at = CASE WHEN last_used_at IS NULL OR last_used_at < $2 "
    "THEN $2 ELSE last_used_at END WHERE id = $1"};
const Statement kKeyUsed{
    "UPDATE control_key SET last_used_at = $2 WHERE id = $1 AND (last_used_at IS NULL OR last_used_at < $2)"};

Value time_or_null(const std::optional<TimePoint>& time) { return time ? Value(micros(*time)) : Value(); }
std::optional<TimePoint> stored_time(const Value& value) {
  return is_null(value) ? std::nullopt : std::optional<TimePoint>(from_micros(number(value)));
}
Value number_or_null(const std::optional<std::int64_t>& value) { return value ? Value(*value) : Value(); }
std::optional<std::int64_t> stored_number(const Value& value) {
  return is_null(value) ? std::nullopt : std::optional<std::int64_t>(number(value));
}

std::optional<Mode> mode_of(const std::string& name) {
  for (const Mode mode : {Mode::enforce, Mode::shadow, Mode::off}) {
    if (mode_name(mode) == name) return mode;
  }
  return std::nullopt;
}

// Rows come from the database or from a file, which may be damaged: `n` is a number, `t` a text, a capital may be null.
Status check_row(const Row& row, std::string_view shape) {
  bool fits = row.size() == shape.size();
  for (std::size_t i = 0; fits && i < shape.size(); ++i) {
    const bool may_be_null = shape[i] == 'N';
    const bool is_text = shape[i] == 't';
    fits = is_null(row[i]) ? may_be_null : std::holds_alternative<std::string>(row[i]) == is_text;
  }
  if (!fits) return Failure{Code::data_loss, "a record does not have the columns that this version expects"};
  return success();
}

Status run_one(database::Session& session, const Statement& statement, Row row) {
  database::Batch batch;
  batch.add_row(statement, std::move(row));
  const auto done = session.run(batch);
  if (!done.ok()) return done.failure();
  return success();
}

template <typename Record>
Result<std::vector<Record>> records_of(const Rows& rows) {
  std::vector<Record> records;
  for (const Row& row : rows) {
    Result<Record> record = Table<Record>::record_of(row);
    if (!record.ok()) return record.failure();
    records.push_back(std::move(record).value());
  }
  return records;
}

template <typename Record>
Result<std::optional<Record>> first_of(const Result<Rows>& rows) {
  if (!rows.ok()) return rows.failure();
  if (rows.value().empty()) return std::optional<Record>();
  Result<Record> record = Table<Record>::record_of(rows.value().front());
  if (!record.ok()) return record.failure();
  return std::optional<Record>(std::move(record).value());
}

}  // namespace

Result<OverrideRecord> Table<OverrideRecord>::record_of(const Row& row) {
  if (Status fits = check_row(row, "tttNNNntnnttnnN"); !fits.ok()) return fits.failure();
  Result<TextLists> rules = read_lists(text(row[1]));
  Result<TextLists> conditions = read_lists(text(row[2]));
  if (!rules.ok() || rules.value().size() != 1) return Failure{Code::data_loss, "override " + text(row[0]) + ": rules"};
  if (!conditions.ok()) return conditions.failure();
  OverrideRecord record;
  record.id = text(row[0]);
  record.rules = std::move(rules.value().front());
  record.when = conditions_of(std::move(conditions).value());
  record.change.limit = stored_number(row[3]);
  if (const auto window = stored_number(row[4])) record.change.window = Duration(*window);
  record.change.burst = stored_number(row[5]);
  record.change.unlimited = number(row[6]) != 0;
  record.mode = mode_of(text(row[7]));
  record.emergency = number(row[8]) != 0;
  record.until = from_micros(number(row[9]));
  record.reason = text(row[10]);
  record.actor = text(row[11]);
  record.created = from_micros(number(row[12]));
  record.revision = number(row[13]);
  record.last_used = stored_time(row[14]);
  return record;
}

Row Table<OverrideRecord>::row_of(const OverrideRecord& record) {
  const AllowanceChange& change = record.change;
  return {record.id,
          write_lists({record.rules}),
          write_lists(lists_of(record.when)),
          number_or_null(change.limit),
          change.window ? Value(change.window->count()) : Value(),
          number_or_null(change.burst),
          std::int64_t{change.unlimited},
          record.mode ? std::string(mode_name(*record.mode)) : std::string(),
          std::int64_t{record.emergency},
          micros(record.until),
          record.reason,
          record.actor,
          micros(record.created),
          record.revision,
          time_or_null(record.last_used)};
}

Result<BlockRecord> Table<BlockRecord>::record_of(const Row& row) {
  if (Status fits = check_row(row, "ttNttnnnN"); !fits.ok()) return fits.failure();
  Result<TextLists> conditions = read_lists(text(row[1]));
  if (!conditions.ok()) return conditions.failure();
  BlockRecord record;
  record.id = text(row[0]);
  record.when = conditions_of(std::move(conditions).value());
  record.until = stored_time(row[2]);
  record.reason = text(row[3]);
  record.actor = text(row[4]);
  record.created = from_micros(number(row[5]));
  record.revision = number(row[6]);
  record.hits = number(row[7]);
  record.last_used = stored_time(row[8]);
  return record;
}

Row Table<BlockRecord>::row_of(const BlockRecord& record) {
  return {record.id,
          write_lists(lists_of(record.when)),
          time_or_null(record.until),
          record.reason,
          record.actor,
          micros(record.created),
          record.revision,
          record.hits,
          time_or_null(record.last_used)};
}

namespace {

// [["1800000000000000","pro"]]: microseconds, and the plan from then on. Empty: none.
std::string write_steps(const std::vector<PlanStep>& steps) {
  TextLists lists;
  for (const PlanStep& step : steps) lists.push_back({std::to_string(micros(step.from)), step.plan});
  return lists.empty() ? std::string() : write_lists(lists);
}

Result<std::vector<PlanStep>> read_steps(const std::string& written) {
  std::vector<PlanStep> steps;
  if (written.empty()) return steps;
  const Result<TextLists> lists = read_lists(written);
  if (!lists.ok()) return lists.failure();
  for (const std::vector<std::string>& each : lists.value()) {
    std::int64_t from = 0;
    const bool right =
        each.size() == 2 && std::from_chars(each[0].data(), each[0].data() + each[0].size(), from).ec == std::errc();
    if (!right) return Failure{Code::data_loss, "the plans of a tenant cannot be read"};
    steps.push_back({each[1], from_micros(from)});
  }
  return steps;
}

}  // namespace

Result<TenantRecord> Table<TenantRecord>::record_of(const Row& row) {
  // What a node kept on disk under an earlier version has no steps.
  const std::string_view columns = row.size() == 8 ? "tttttnnn" : "tttttnnnt";
  if (Status fits = check_row(row, columns); !fits.ok()) return fits.failure();
  Result<std::vector<PlanStep>> steps = row.size() == 8 ? std::vector<PlanStep>() : read_steps(text(row[8]));
  if (!steps.ok()) return steps.failure();
  Result<TextLists> settings = read_lists(text(row[3]));
  if (!settings.ok()) return settings.failure();
  TenantRecord record;
  record.tenant = text(row[0]);
  record.plan = text(row[1]);
  record.zone = text(row[2]);
  record.settings = pairs_of(std::move(settings).value());
  record.note = text(row[4]);
  record.created = from_micros(number(row[5]));
  record.updated = from_micros(number(row[6]));
  record.revision = number(row[7]);
  record.steps = std::move(steps).value();
  return record;
}

Row Table<TenantRecord>::row_of(const TenantRecord& record) {
  return {record.tenant,
          record.plan,
          record.zone,
          write_lists(lists_of(record.settings)),
          record.note,
          micros(record.created),
          micros(record.updated),
          record.revision,
          write_steps(record.steps)};
}

Result<KeyRecord> Table<KeyRecord>::record_of(const Row& row) {
  if (Status fits = check_row(row, "ttttttttnNNNn"); !fits.ok()) return fits.failure();
  Result<TextLists> attributes = read_lists(text(row[6]));
  if (!attributes.ok()) return attributes.failure();
  KeyRecord record;
  record.id = text(row[0]);
  record.name = text(row[1]);
  record.prefix = text(row[2]);
  record.hash = text(row[3]);
  record.tenant = text(row[4]);
  record.plan = text(row[5]);
  record.attributes = pairs_of(std::move(attributes).value());
  record.actor = text(row[7]);
  record.created = from_micros(number(row[8]));
  record.expires = stored_time(row[9]);
  record.revoked = stored_time(row[10]);
  record.last_used = stored_time(row[11]);
  record.revision = number(row[12]);
  return record;
}

Row Table<KeyRecord>::row_of(const KeyRecord& record) {
  return {record.id,
          record.name,
          record.prefix,
          record.hash,
          record.tenant,
          record.plan,
          write_lists(lists_of(record.attributes)),
          record.actor,
          micros(record.created),
          time_or_null(record.expires),
          time_or_null(record.revoked),
          time_or_null(record.last_used),
          record.revision};
}

template <typename Record>
Result<Rows> read_table(database::Session& session) {
  return session.run(kStatements<Record>.all);
}

template <typename Record>
Result<std::vector<Record>> read_page(database::Session& session, const std::string& after, std::int64_t limit) {
  const Result<Rows> rows = session.run(kStatements<Record>.page, after, limit);
  if (!rows.ok()) return rows.failure();
  return records_of<Record>(rows.value());
}

Result<std::vector<KeyRecord>> read_keys_of(database::Session& session, const std::string& tenant,
                                            const std::string& after, std::int64_t limit) {
  const Result<Rows> rows = session.run(kKeysOfTenant, after, limit, tenant);
  if (!rows.ok()) return rows.failure();
  return records_of<KeyRecord>(rows.value());
}

template <typename Record>
Result<std::optional<Record>> read_record(database::Session& session, const std::string& key) {
  return first_of<Record>(session.run(kStatements<Record>.seen, key));
}

template <typename Record>
Result<std::optional<Record>> find_record(database::Session& session, const std::string& key) {
  return first_of<Record>(session.run(kStatements<Record>.one, key));
}

template <typename Record>
Status add_record(database::Session& session, const Record& record) {
  const Result<Rows> counted = session.run(kStatements<Record>.count);
  if (!counted.ok()) return counted.failure();
  if (number(counted.value().front().front()) >= Table<Record>::kMost) {
    return Failure{Code::resource_exhausted, "there are " + std::to_string(Table<Record>::kMost) + " " +
                                                 std::string(Table<Record>::kTopic) + " already, which is the most"};
  }
  return run_one(session, kStatements<Record>.add, Table<Record>::row_of(record));
}

template <typename Record>
Status change_record(database::Session& session, const Record& record) {
  return run_one(session, kStatements<Record>.change, Table<Record>::row_of(record));
}

template <typename Record>
Status remove_record(database::Session& session, const std::string& key) {
  return run_one(session, kStatements<Record>.remove, {key});
}

template <>
Result<std::vector<OverrideRecord>> take_expired(database::Session& session, TimePoint now) {
  const Result<Rows> rows = session.run(kExpiredOverrides, micros(now));
  if (!rows.ok()) return rows.failure();
  return records_of<OverrideRecord>(rows.value());
}

template <>
Result<std::vector<BlockRecord>> take_expired(database::Session& session, TimePoint now) {
  const Result<Rows> rows = session.run(kExpiredBlocks, micros(now));
  if (!rows.ok()) return rows.failure();
  return records_of<BlockRecord>(rows.value());
}

template <>
Status add_use<OverrideRecord>(database::Session& session, const std::string& key, TimePoint last, std::int64_t) {
  return run_one(session, kOverrideUsed, {key, micros(last)});
}
template <>
Status add_use<BlockRecord>(database::Session& session, const std::string& key, TimePoint last, std::int64_t uses) {
  return run_one(session, kBlockUsed, {key, micros(last), uses});
}
template <>
Status add_use<KeyRecord>(database::Session& session, const std::string& key, TimePoint last, std::int64_t) {
  return run_one(session, kKeyUsed, {key, micros(last)});
}

template Result<Rows> read_table<OverrideRecord>(database::Session&);
template Result<Rows> read_table<BlockRecord>(database::Session&);
template Result<Rows> read_table<TenantRecord>(database::Session&);
template Result<Rows> read_table<KeyRecord>(database::Session&);
template Result<std::vector<OverrideRecord>> read_page(database::Session&, const std::string&, std::int64_t);
template Result<std::vector<BlockRecord>> read_page(database::Session&, const std::string&, std::int64_t);
template Result<std::vector<TenantRecord>> read_page(database::Session&, const std::string&, std::int64_t);
template Result<std::vector<KeyRecord>> read_page(database::Session&, const std::string&, std::int64_t);
template Result<std::optional<OverrideRecord>> read_record(database::Session&, const std::string&);
template Result<std::optional<BlockRecord>> read_record(database::Session&, const std::string&);
template Result<std::optional<TenantRecord>> read_record(database::Session&, const std::string&);
template Result<std::optional<KeyRecord>> read_record(database::Session&, const std::string&);
template Result<std::optional<OverrideRecord>> find_record(database::Session&, const std::string&);
template Result<std::optional<BlockRecord>> find_record(database::Session&, const std::string&);
template Result<std::optional<TenantRecord>> find_record(database::Session&, const std::string&);
template Result<std::optional<KeyRecord>> find_record(database::Session&, const std::string&);
template Status add_record(database::Session&, const OverrideRecord&);
template Status add_record(database::Session&, const BlockRecord&);
template Status add_record(database::Session&, const TenantRecord&);
template Status add_record(database::Session&, const KeyRecord&);
template Status change_record(database::Session&, const OverrideRecord&);
template Status change_record(database::Session&, const BlockRecord&);
template Status change_record(database::Session&, const TenantRecord&);
template Status change_record(database::Session&, const KeyRecord&);
template Status remove_record<OverrideRecord>(database::Session&, const std::string&);
template Status remove_record<BlockRecord>(database::Session&, const std::string&);
template Status remove_record<TenantRecord>(database::Session&, const std::string&);
template Status remove_record<KeyRecord>(database::Session&, const std::string&);

}  // namespace weir::control
