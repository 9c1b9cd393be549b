// Kept: the records of one kind in the memory of this node, as a topic of the ChangeWatch. Code that acts on them is
// told when they change; the marks of records that stay are kept.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "control/change_watch.h"
#include "control/record_list.h"
#include "control/record_tables.h"
#include "control/row_text.h"

namespace weir::control {

template <typename Record>
class Kept final : public Topic {
 public:
  using Records = RecordList<Record>;
  // Makes them active. `changed` has the keys of those that were added, changed or removed since the last call that
  // succeeded; none: perhaps all. A failure keeps those before.
  using Act =
      std::function<Status(const std::shared_ptr<const Records>& records, std::span<const std::string> changed)>;

  explicit Kept(Act act) : act_(std::move(act)) {}

  Result<std::string> read(database::Session& session) override {
    const Result<database::Rows> rows = read_table<Record>(session);
    if (!rows.ok()) return rows.failure();
    return write_rows(rows.value());
  }

  Status apply(std::string_view text) override {
    Result<std::vector<Made>> made = records_of(text);
    if (!made.ok()) return made.failure();
    std::sort(made.value().begin(), made.value().end(),
              [](const Made& a, const Made& b) { return a->key() < b->key(); });
    const std::shared_ptr<const Records> before = current();
    if constexpr (kHasMark) {
      for (const Made& each : made.value()) keep_mark(*each, *before);
    }
    return act_on({made.value().begin(), made.value().end()}, {});
  }

  bool takes_changes() const override { return true; }

  Result<std::string> read_some(database::Session& session, const std::vector<std::string>& keys) override {
    database::Rows rows;
    for (const std::string& key : keys) {
      Result<std::optional<Record>> found = read_record<Record>(session, key);
      if (!found.ok()) return found.failure();
      if (found.value()) rows.push_back(Table<Record>::row_of(*found.value()));
    }
    return write_rows(rows);
  }

  Status change(const std::vector<std::string>& keys, std::string_view text) override {
    Result<std::vector<Made>> made = records_of(text);
    if (!made.ok()) return made.failure();
    const std::shared_ptr<const Records> before = current();
    std::map<std::string, Pointer> changes;  // null: it is gone
    for (const std::string& key : keys) changes[key] = nullptr;
    for (Made& each : made.value()) {
      if constexpr (kHasMark) keep_mark(*each, *before);
      std::string key = each->key();
      changes[std::move(key)] = std::move(each);
    }
    return act_on(changed(*before, changes), keys);
  }

  std::optional<std::string> whole_text() const override {
    const std::shared_ptr<const Records> records = current();
    database::Rows rows;
    rows.reserve(records->size());
    for (const Record& record : *records) rows.push_back(Table<Record>::row_of(record));
    return write_rows(rows);
  }

  // Never null.
  std::shared_ptr<const Records> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // The mark of a record that this node knows; null: there is none.
  std::shared_ptr<UseMark> mark_of(const std::string& key) const requires requires(Record record) { record.use; }
  {
    const std::shared_ptr<const Records> records = current();
    const Record* const found = records->find(key);
    return found == nullptr ? nullptr : found->use;
  }

 private:
  using Pointer = typename Records::Pointer;
  using Made = std::shared_ptr<Record>;
  static constexpr bool kHasMark = requires(Record record) { record.use; };

  static Result<std::vector<Made>> records_of(std::string_view text) {
    const Result<database::Rows> rows = read_rows(text);
    if (!rows.ok()) return rows.failure();
    std::vector<Made> records;
    records.reserve(rows.value().size());
    for (const database::Row& row : rows.value()) {
      Result<Record> record = Table<Record>::record_of(row);
      if (!record.ok()) return record.failure();
      records.push_back(std::make_shared<Record>(std::move(record).value()));
    }
    return records;
  }

  // The records as they are, but for the changes: both are by key, ascending.
  static std::vector<Pointer> changed(const Records& before, const std::map<std::string, Pointer>& changes) {
    std::vector<Pointer> records;
    records.reserve(before.size() + changes.size());
    auto from = before.pointers().begin();
    const auto end = before.pointers().end();
    for (const auto& [key, record] : changes) {
      const auto place =
          std::lower_bound(from, end, key, [](const Pointer& a, const std::string& b) { return a->key() < b; });
      records.insert(records.end(), from, place);
      if (record != nullptr) records.push_back(record);
      from = place != end && (*place)->key() == key ? place + 1 : place;
    }
    records.insert(records.end(), from, end);
    return records;
  }

  Status act_on(std::vector<Pointer> sorted, std::span<const std::string> changed) {
    auto records = std::make_shared<const Records>(std::move(sorted));
    if (Status acted = act_(records, changed); !acted.ok()) return acted;
    const std::lock_guard lock(mutex_);
    current_.swap(records);
    return success();
  }

  static void keep_mark(Record& record, const Records& before) {
    const Record* const known = before.find(record.key());
    record.use = known != nullptr ? known->use : std::make_shared<UseMark>(record.key());
  }

  const Act act_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Records> current_ = std::make_shared<const Records>();  // guarded by mutex_
};

}  // namespace weir::control
