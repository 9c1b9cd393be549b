// Kept: the records of one kind in the memory of this node, as a topic of the ChangeWatch. Whoever acts on them is told
// when they change; the marks of records that stay are kept.
//
// Thread-safe.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "control/change_watch.h"
#include "control/record_tables.h"
#include "control/row_text.h"

namespace weir::control {

template <typename Record>
class Kept final : public Topic {
 public:
  using Records = std::vector<Record>;
  // Makes them active. A failure keeps those before.
  using Act = std::function<Status(const std::shared_ptr<const Records>&)>;

  explicit Kept(Act act) : act_(std::move(act)) {}

  Result<std::string> read(database::Session& session) override {
    const Result<database::Rows> rows = read_table<Record>(session);
    if (!rows.ok()) return rows.failure();
    return write_rows(rows.value());
  }

  Status apply(std::string_view text) override {
    const Result<database::Rows> rows = read_rows(text);
    if (!rows.ok()) return rows.failure();
    auto records = std::make_shared<Records>();
    records->reserve(rows.value().size());
    for (const database::Row& row : rows.value()) {
      Result<Record> record = Table<Record>::record_of(row);
      if (!record.ok()) return record.failure();
      records->push_back(std::move(record).value());
    }
    std::sort(records->begin(), records->end(), [](const Record& a, const Record& b) { return a.key() < b.key(); });
    return act_on(std::move(records));
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
    const Result<database::Rows> rows = read_rows(text);
    if (!rows.ok()) return rows.failure();
    std::map<std::string, std::optional<Record>> changes;
    for (const std::string& key : keys) changes[key] = std::nullopt;
    for (const database::Row& row : rows.value()) {
      Result<Record> record = Table<Record>::record_of(row);
      if (!record.ok()) return record.failure();
      std::string key = record.value().key();
      changes[std::move(key)] = std::move(record).value();
    }
    return act_on(changed(changes));
  }

  // By key, ascending. Never null.
  std::shared_ptr<const Records> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }

  // The mark of a record that this node knows; null: there is none.
  std::shared_ptr<UseMark> mark_of(const std::string& key) const requires requires(Record record) { record.use; }
  {
    const std::shared_ptr<const Records> records = current();
    const auto found =
        std::lower_bound(records->begin(), records->end(), key,
                         [](const Record& record, const std::string& wanted) { return record.key() < wanted; });
    return found == records->end() || found->key() != key ? nullptr : found->use;
  }

 private:
  static constexpr bool kHasMark = requires(Record record) { record.use; };

  // The records as they are, but for the changes: both are by key, ascending.
  std::shared_ptr<Records> changed(std::map<std::string, std::optional<Record>>& changes) const {
    const std::shared_ptr<const Records> before = current();
    auto records = std::make_shared<Records>();
    records->reserve(before->size() + changes.size());
    auto next = changes.begin();
    const auto add_next = [&] {
      if (next->second) records->push_back(std::move(*next->second));
      ++next;
    };
    for (const Record& record : *before) {
      while (next != changes.end() && next->first < record.key()) add_next();
      if (next != changes.end() && next->first == record.key()) {
        add_next();
      } else {
        records->push_back(record);
      }
    }
    while (next != changes.end()) add_next();
    return records;
  }

  Status act_on(std::shared_ptr<Records> records) {
    if constexpr (kHasMark) keep_marks(*records);
    if (Status acted = act_(records); !acted.ok()) return acted;
    const std::lock_guard lock(mutex_);
    current_ = std::move(records);
    return success();
  }

  void keep_marks(Records& records) const {
    const std::shared_ptr<const Records> before = current();
    auto known = before->begin();
    for (Record& record : records) {
      while (known != before->end() && known->key() < record.key()) ++known;
      const bool same = known != before->end() && known->key() == record.key();
      record.use = same ? known->use : std::make_shared<UseMark>(record.key());
    }
  }

  const Act act_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Records> current_ = std::make_shared<const Records>();  // guarded by mutex_
};

}  // namespace weir::control
