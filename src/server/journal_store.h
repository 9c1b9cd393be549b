// JournalStore: writes entries of the journal to the database, in batches, and finds them there again: after a restart,
// and those of other nodes.
//
// write() is for the background thread: it takes what is new and hands it to the database, which no event loop waits
// for. An entry is written when the second in which it counts repeated denials has passed. While the database does not
// answer, at most kMaxPending entries wait; more are lost, and counted. find() waits for the database: not for a loop.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "observe/journal.h"
#include "weir/result.h"

namespace weir::server {

enum class StoredEntries { none, audited, denials, all };
StoredEntries stored_entries_from_name(std::string_view name);

class JournalStore {
 public:
  static constexpr std::size_t kMaxPending = 20'000;
  static constexpr std::size_t kMaxBatch = 500;  // rows of one transaction

  struct Options {
    StoredEntries which = StoredEntries::audited;
    Duration keep{0};
    std::string node;
    std::function<bool(std::string_view rule)> is_audited;
  };
  // As the admin API shows it, with its place in the order of a search.
  struct Found {
    observe::JournalPlace place;
    std::string node;
    std::string json;
  };

  // The journal and the database are borrowed.
  JournalStore(const observe::Journal& journal, database::Database& database, Options options);

  // From one thread at a time.
  void write(TimePoint now);
  // The same, and waits until everything is written.
  void finish(TimePoint now);

  Result<std::vector<Found>> find(const observe::JournalQuery& query, std::size_t count,
                                  const std::optional<observe::JournalPlace>& after) const;

  // Since the start.
  std::uint64_t written() const { return written_->load(std::memory_order_relaxed); }
  std::uint64_t lost() const { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Pending;
  using Batch = std::vector<observe::JournalEntry>;

  bool is_wanted(const observe::JournalEntry& entry) const;
  void take_new();
  Batch due(TimePoint now, bool all);
  Status store(database::Session& session, const Batch& batch, TimePoint oldest) const;

  const observe::Journal& journal_;
  database::Database& database_;
  const Options options_;
  const observe::Journal::Filter everything_;
  observe::Journal::Follower follower_;
  std::deque<observe::JournalEntry> pending_;
  std::shared_ptr<std::atomic<bool>> busy_ = std::make_shared<std::atomic<bool>>(false);  // a batch is being written
  std::shared_ptr<std::atomic<std::uint64_t>> written_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace weir::server
