// ChangeWatch: keeps what operators change (tokens, rules, overrides, blocks …) in the memory of this node, as it is in
// the database.
//
//   class Tokens : public Topic { … };
//   watch.add("tokens", tokens);                     // before start()
//   watch.start(ready);
//   watch.look();                                    // now and then, and as soon as something may have changed
//
// Code that changes a topic calls note_change() in the same transaction (change_log.h). A look reads the numbers of all
// topics, and what has changed; nodes look several times a second, so that every change is known everywhere within a
// second. PostgreSQL also notifies, so that it usually takes milliseconds.
//
// Of a topic that takes_changes() only the records that have changed are read, where the change log knows them.
//
// What was read last is kept in files: the whole topic, and the changes since. A node that starts while the database is
// away goes on with that. The age of what it knows is reported.
//
// add() before start(); look(), age() and the rest from any thread. Borrows the database and the topics.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "database/database.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::control {

// Something that a node keeps in memory.
class Topic {
 public:
  virtual ~Topic() = default;

  // All of it as text, from the database. On a database thread, inside a transaction that reads; perhaps more than
  // once.
  virtual Result<std::string> read(database::Session& session) = 0;
  // Makes such a text active. One call at a time, on a database thread or on the thread that starts. A failure keeps
  // what was active before.
  virtual Status apply(std::string_view text) = 0;

  // True: what has changed can be read and applied alone, record by record.
  virtual bool takes_changes() const { return false; }
  // As read(), only the records with these keys. Those that are gone are left out.
  virtual Result<std::string> read_some(database::Session& session, const std::vector<std::string>& keys);
  // As apply(): the records with these keys are now what the text has of them, and all others as they were.
  virtual Status change(const std::vector<std::string>& keys, std::string_view text);
  // What is active, as read() would give it; nothing: it is not known. One call at a time with the two that apply.
  virtual std::optional<std::string> whole_text() const { return std::nullopt; }
};

// How long a look may take. Reading tables of a million records takes longer than the first of these; each look that
// was not done in time gives the next one twice as long, until one succeeds. A plain value.
class LookPatience {
 public:
  static constexpr std::chrono::seconds kFirst{5};
  static constexpr std::chrono::seconds kMost{160};

  std::chrono::seconds now() const { return patience_; }
  void note(bool succeeded, std::chrono::steady_clock::duration took) {
    if (succeeded) {
      patience_ = kFirst;
    } else if (took >= patience_) {
      patience_ = std::min(2 * patience_, kMost);
    }
  }

 private:
  std::chrono::seconds patience_ = kFirst;
};

class ChangeWatch {
 public:
  using Report = std::function<void(std::string_view topic, const Failure& failure)>;

  static constexpr Duration kStaleAfter = std::chrono::seconds(5);
  // Beyond that, a whole topic is read.
  static constexpr std::size_t kMostRecords = 200;  // in one look
  // Beyond that, the file of the whole topic is written again, from memory where the topic has it.
  static constexpr std::size_t kMostKept = 2'000;

  // Files are kept in `folder`, which must exist. `report` is told what went wrong, once for each cause, from any
  // thread.
  ChangeWatch(database::Database& database, std::filesystem::path folder, std::shared_ptr<Clock> clock, Report report);

  void add(std::string topic, Topic& of);

  // Loads every topic: from the database if it is `ready`, waiting for that; otherwise from the files. A topic that has
  // no file stays as it is.
  void start(bool ready);
  // Reads what has changed since, without waiting for it. `then`, if given, is called on a database thread when all
  // that was committed before this call is active, or reading it has failed.
  void look(std::function<void()> then = {});

  // When what this node knows was last compared with the database; nothing: not since the start.
  std::optional<TimePoint> synced() const;
  Duration age() const;  // since then, or since the start
  bool is_stale() const { return age() > kStaleAfter; }

 private:
  struct Watched {
    std::string name;
    Topic* topic;
    std::int64_t version = -1;     // applied; -1: none
    std::size_t kept_records = 0;  // changes in the file since the whole topic was read
  };
  // What a look has read.
  struct Seen {
    std::size_t index;
    std::int64_t version;
    std::string text;
    std::optional<std::vector<std::string>> keys;  // none: the whole topic
  };

  Status read_changed(database::Session& session, std::vector<Seen>& seen);
  Result<Seen> read_topic(database::Session& session, std::size_t index, std::int64_t from, std::int64_t to);
  void take(std::vector<Seen> seen);
  Status keep(Watched& watched, const Seen& seen);
  Status keep_whole(Watched& watched, std::string_view text);
  void load_changes(const Watched& watched);
  std::filesystem::path changes_path(const Watched& watched) const { return folder_ / (watched.name + ".changes"); }
  void finish_look(const database::Outcome& outcome, std::vector<Seen> seen);
  void submit_look();
  void load_file(const Watched& watched);
  void tell(std::string_view topic, const Failure& failure);

  database::Database& database_;
  const std::filesystem::path folder_;
  const std::shared_ptr<Clock> clock_;
  const Report report_;
  const TimePoint started_;

  std::mutex applying_;           // held while topics are applied
  std::vector<Watched> watched_;  // constant after start() but for the versions, which applying_ guards
  std::map<std::string, std::string, std::less<>> told_;  // guarded by applying_

  mutable std::mutex mutex_;
  bool looking_ = false;  // guarded by mutex_, like all below
  bool look_again_ = false;
  std::vector<std::function<void()>> waiting_;  // for the look that runs
  std::vector<std::function<void()>> waiting_next_;
  std::optional<TimePoint> synced_;
  LookPatience patience_;  // of the look that runs, or of the next one
  std::chrono::steady_clock::time_point begun_{};
};

}  // namespace weir::control
