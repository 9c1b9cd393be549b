// RuleKeeper: the server's rules, read at the start, on request and when their file changes. Invalid rules are logged
// (last_rejection.h says when) and rejected; the last good ones stay loaded. A file that cannot be read for a temporary
// reason (too many open files) is tried again, at growing intervals, until it is read or changes again. Warnings about
// the rules are logged once for each load.
//
// Call load() first. reload() and the const functions from any thread; poll() from one thread. Borrows the clock and
// the log.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
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
  RuleKeeper(std::filesystem::path path, Clock& clock, observe::Log& log,
             rules::RulesFormat format = rules::RulesFormat::weir);
  ~RuleKeeper();

  // A failure here is final: there are no earlier rules to fall back to.
  Status load();
  // Replaces the rules by texts that came from elsewhere, such as the database. The result is logged.
  Status replace(rules::SourceTexts texts, const std::string& source);
  // Called after each load that has replaced the rules, on the thread that loads. Set before load().
  void on_loaded(std::function<void()> call) { on_loaded_ = std::move(call); }
  // The result is logged, also when nothing changed.
  Status reload();
  // Reloads if the file has changed since the last call, or if it is time to try again. Frees replaced rules that no
  // thread uses any more.
  void poll();

  const std::shared_ptr<rules::RuleBook>& book() const { return book_; }
  // Of the rules that are loaded.
  std::shared_ptr<const observe::RuleLabels> labels() const { return labels_; }
  // The file could not be read and will be tried again.
  bool retrying() const { return retrying_.load(std::memory_order_relaxed); }

 private:
  enum class Why : std::uint8_t { asked, changed, retried };

  void prepare(const rules::LoadedRules& loaded, std::uint64_t version) override;
  bool has_file() const { return !path_.empty() && path_ != rules::kStandardInput; }
  Status read_again(Why why);
  void plan_retry(const Status& status, Why why);
  void log_loaded(const std::string& source);
  void log_own_loaded() { log_loaded(path_.empty() ? "quickstart" : path_.string()); }
  void log_rejected(const Failure& failure);

  const std::filesystem::path path_;
  const rules::RulesFormat format_;
  Clock& clock_;
  observe::Log& log_;
  const std::shared_ptr<rules::RuleBook> book_;
  const std::shared_ptr<observe::RuleLabels> labels_ = std::make_shared<observe::RuleLabels>();
  std::optional<rules::FileWatch> watch_;  // of the thread that polls
  LastRejection last_rejection_;
  std::function<void()> on_loaded_;  // constant after load()
  std::atomic<bool> retrying_{false};

  std::mutex mutex_;             // held while the rules are read
  Duration wait_ = kFirstRetry;  // guarded by mutex_, like the next
  std::optional<TimePoint> retry_at_;
};

}  // namespace weir::server
