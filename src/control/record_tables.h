// The tables of records: functions on a session, which belongs to its thread.
//
// Each is there for every kind of record: read() gives all rows, record_of() makes a record of a row, find() looks one
// up by its key, add() and change() write one, remove() deletes one. A writer calls note_change(session, topic) in the
// same transaction, and appends to the audit trail.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/records.h"
#include "database/session.h"
#include "weir/result.h"

namespace weir::control {

template <typename Record>
struct Table;

template <>
struct Table<OverrideRecord> {
  static constexpr std::string_view kTopic = "overrides";
  static constexpr std::int64_t kMost = 10'000;
  static Result<OverrideRecord> record_of(const database::Row& row);
  static database::Row row_of(const OverrideRecord& record);
};

template <>
struct Table<BlockRecord> {
  static constexpr std::string_view kTopic = "blocks";
  static constexpr std::int64_t kMost = 500'000;
  static Result<BlockRecord> record_of(const database::Row& row);
  static database::Row row_of(const BlockRecord& record);
};

template <>
struct Table<TenantRecord> {
  static constexpr std::string_view kTopic = "tenants";
  static constexpr std::int64_t kMost = 1'000'000;
  static Result<TenantRecord> record_of(const database::Row& row);
  static database::Row row_of(const TenantRecord& record);
};

template <>
struct Table<KeyRecord> {
  static constexpr std::string_view kTopic = "keys";
  static constexpr std::int64_t kMost = 1'000'000;
  static Result<KeyRecord> record_of(const database::Row& row);
  static database::Row row_of(const KeyRecord& record);
};

template <typename Record>
Result<database::Rows> read_table(database::Session& session);
// At most so many, by key, after this one.
template <typename Record>
Result<std::vector<Record>> read_page(database::Session& session, const std::string& after, std::int64_t limit);
Result<std::vector<KeyRecord>> read_keys_of(database::Session& session, const std::string& tenant,
                                            const std::string& after, std::int64_t limit);
template <typename Record>
Result<std::optional<Record>> read_record(database::Session& session, const std::string& key);
// The same in a transaction that writes: locks it until the transaction ends.
template <typename Record>
Result<std::optional<Record>> find_record(database::Session& session, const std::string& key);
// Failures: already_exists, resource_exhausted (Table::kMost).
template <typename Record>
Status add_record(database::Session& session, const Record& record);
// All but the key, and what uses have changed.
template <typename Record>
Status change_record(database::Session& session, const Record& record);
template <typename Record>
Status remove_record(database::Session& session, const std::string& key);

// Those whose `until` has passed; they are deleted, each by one node only.
template <typename Record>
Result<std::vector<Record>> take_expired(database::Session& session, TimePoint now);

// What this node has seen since it last said so. Never makes a time earlier.
template <typename Record>
Status add_use(database::Session& session, const std::string& key, TimePoint last, std::int64_t uses);

}  // namespace weir::control
