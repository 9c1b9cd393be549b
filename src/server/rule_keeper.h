// RuleKeeper: the server's rules, read at the start, on request and when their file changes. Invalid rules are logged
// (last_rejection.h says when) and refused; the last good ones stay loaded. A file that cannot be read for a reason
// that may pass (too many open files) is tried again, at growing intervals, until it is read or changes again.
//
// load() before anything else; reload() and what only tells from any thread; poll() from one thread. Borrows the clock
// and the log.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "observe/log.h"
#include "observe/rule_labels.h"
#include "rules/read/file_watch.h"
#include "rules/rule_book.h"
#include "server/last_rejection.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class RuleKeeper final : private rules::RulesUser {
 public:
  static constexpr Duration kFirstRetry = std::chrono::milliseconds(250);
  static constexpr Duration kLastRetry = std::chrono::seconds(30);  // each wait is twice the one before, up to this

  // A file or a folder; an empty path means the quickstart rules, which never change.
  // `supported`: see RuleBook.
  RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log, rules::AllowanceCheck supported = {},
             rules::RulesFormat format = rules::RulesFormat::weir);
  ~RuleKeeper();

  // A failure here is final: there is nothing good to fall back to.
  Status load();
  // Whatever comes of it, the log has one line.
  Status reload();
  // Reloads if the file has changed since it was last looked at, or if it is time to try again. Frees replaced rules
  // that nobody uses any more.
  void poll();

  const std::shared_ptr<rules::RuleBook>& book() const { return book_; }
  // Of the rules that are loaded.
  std::shared_ptr<const observe::RuleLabels> labels() const { return labels_; }
  // The file could not be read and will be tried again.
  bool retrying() const { return retrying_.load(std::memory_order_relaxed); }

 private:
  enum class Why : std::uint8_t { asked, changed, retried };

  void prepare(const std::shared_ptr<const rules::RuleSet>& set, std::uint64_t version) override;
  Status read_again(Why why);
  void plan_retry(const Status& status, Why why);
  void tell_loaded();
  void tell_refused(const Failure& failure);

  const std::filesystem::path path_;
  const rules::RulesFormat format_;
  Clock& clock_;
  observe::Log& log_;
  const std::shared_ptr<rules::RuleBook> book_;
  const std::shared_ptr<observe::RuleLabels> labels_ = std::make_shared<observe::RuleLabels>();
  std::optional<rules::FileWatch> watch_;  // of the thread that polls
  LastRejection told_;
  std::atomic<bool> retrying_{false};

  std::mutex mutex_;             // held while the rules are read
  Duration wait_ = kFirstRetry;  // guarded by mutex_, like the next
  std::optional<TimePoint> retry_at_;
};

}  // namespace weir::server
