#include "control/change_watch.h"

#include <algorithm>
#include <utility>

#include "base/atomic_file.h"
#include "base/bounded_file.h"
#include "control/change_log.h"
#include "control/kept_change.h"

namespace weir::control {
namespace {

constexpr std::size_t kMaxKeptBytes = std::size_t{256} << 20;

}  // namespace

Result<std::string> Topic::read_some(database::Session& session, const std::vector<std::string>&) {
  return read(session);
}

Status Topic::change(const std::vector<std::string>&, std::string_view text) { return apply(text); }

ChangeWatch::ChangeWatch(database::Database& database, std::filesystem::path folder, std::shared_ptr<Clock> clock,
                         Report report)
    : database_(database),
      folder_(std::move(folder)),
      clock_(std::move(clock)),
      report_(std::move(report)),
      started_(clock_->now()) {}

void ChangeWatch::add(std::string topic, Topic& of) { watched_.push_back({std::move(topic), &of, -1}); }

void ChangeWatch::start(bool ready) {
  if (ready) {
    std::vector<Seen> seen;
    const database::Outcome outcome = database_.run(database::Access::read, [&](database::Session& session) {
      seen.clear();
      return read_changed(session, seen);
    });
    if (outcome.ok()) {
      const std::lock_guard lock(mutex_);
      synced_ = clock_->now();
    }
    if (outcome.ok()) return take(std::move(seen));
    const std::lock_guard applying(applying_);
    tell("", outcome.status.failure());
  }
  const std::lock_guard applying(applying_);
  for (const Watched& each : watched_) load_file(each);
}

void ChangeWatch::load_file(const Watched& watched) {
  const Result<std::string> text = base::read_bounded_file(folder_ / watched.name, kMaxKeptBytes);
  if (!text.ok()) {
    if (text.failure().code != Code::not_found) tell(watched.name, text.failure());
    return;
  }
  if (Status applied = watched.topic->apply(text.value()); !applied.ok()) return tell(watched.name, applied.failure());
  if (watched.topic->takes_changes()) load_changes(watched);
}

// What was being written when the process ended is left out.
void ChangeWatch::load_changes(const Watched& watched) {
  const Result<std::string> text = base::read_bounded_file(changes_path(watched), kMaxKeptBytes);
  if (!text.ok()) return;
  for (std::string_view rest = text.value(); !rest.empty();) {
    const std::optional<KeptChange> change = take_kept_change(rest);
    if (!change) return;
    if (Status applied = watched.topic->change(change->keys, change->text); !applied.ok()) {
      return tell(watched.name, applied.failure());
    }
  }
}

// Topics that have never changed are read once, too: their text may say so.
Status ChangeWatch::read_changed(database::Session& session, std::vector<Seen>& seen) {
  const Result<std::map<std::string, std::int64_t>> changes = read_changes(session);
  if (!changes.ok()) return changes.failure();
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const auto found = changes.value().find(watched_[i].name);
    const std::int64_t version = found == changes.value().end() ? 0 : found->second;
    std::int64_t known = -1;
    {
      const std::lock_guard applying(applying_);
      if (watched_[i].version == version) continue;
      if (watched_[i].kept_records <= kMostKept) known = watched_[i].version;
    }
    Result<Seen> read = read_topic(session, i, known, version);
    if (!read.ok()) return read.failure();
    seen.push_back(std::move(read).value());
  }
  return success();
}

Result<ChangeWatch::Seen> ChangeWatch::read_topic(database::Session& session, std::size_t index, std::int64_t from,
                                                  std::int64_t to) {
  Topic& topic = *watched_[index].topic;
  Seen seen{index, to, {}, {}};
  if (from >= 0 && to > from && topic.takes_changes()) {
    auto keys = read_changed_records(session, watched_[index].name, from, to, kMostRecords);
    if (!keys.ok()) return keys.failure();
    seen.keys = std::move(keys).value();
  }
  Result<std::string> text = seen.keys ? topic.read_some(session, *seen.keys) : topic.read(session);
  if (!text.ok()) return text.failure();
  seen.text = std::move(text).value();
  return seen;
}

void ChangeWatch::take(std::vector<Seen> seen) {
  const std::lock_guard applying(applying_);
  for (const Seen& each : seen) {
    Watched& watched = watched_[each.index];
    // Also when it cannot be applied: the same text would fail again.
    watched.version = each.version;
    Status applied = each.keys ? watched.topic->change(*each.keys, each.text) : watched.topic->apply(each.text);
    if (applied.ok()) applied = keep(watched, each);
    if (applied.ok()) {
      told_.erase(watched.name);
    } else {
      tell(watched.name, applied.failure());
    }
  }
}

// Changes are never kept with a whole topic that is newer than they are.
Status ChangeWatch::keep(Watched& watched, const Seen& seen) {
  if (!seen.keys) return keep_whole(watched, seen.text);
  watched.kept_records += seen.keys->size();
  if (watched.kept_records > kMostKept) {
    if (const std::optional<std::string> text = watched.topic->whole_text()) return keep_whole(watched, *text);
  }
  return append_kept_change(changes_path(watched), *seen.keys, seen.text);
}

Status ChangeWatch::keep_whole(Watched& watched, std::string_view text) {
  std::error_code error;
  std::filesystem::remove(changes_path(watched), error);
  watched.kept_records = 0;
  return base::write_file_atomically(folder_ / watched.name, text);
}

// Precondition: applying_ is held.
void ChangeWatch::tell(std::string_view topic, const Failure& failure) {
  std::string& last = told_[std::string(topic)];
  if (std::exchange(last, failure.message) != failure.message && report_) report_(topic, failure);
}

void ChangeWatch::look(std::function<void()> then) {
  {
    const std::lock_guard lock(mutex_);
    // A look that runs may have begun before what the caller has in mind.
    if (looking_) {
      look_again_ = look_again_ || then != nullptr;
      if (then) waiting_next_.push_back(std::move(then));
      return;
    }
    looking_ = true;
    if (then) waiting_.push_back(std::move(then));
  }
  submit_look();
}

void ChangeWatch::submit_look() {
  const auto seen = std::make_shared<std::vector<Seen>>();
  std::chrono::seconds patience;
  {
    const std::lock_guard lock(mutex_);
    patience = patience_.now();
    begun_ = std::chrono::steady_clock::now();
  }
  const Status queued = database_.submit(
      {.access = database::Access::read,
       .work =
           [this, seen](database::Session& session) {
             seen->clear();
             return read_changed(session, *seen);
           },
       .done = [this, seen](const database::Outcome& outcome) { finish_look(outcome, std::move(*seen)); },
       .deadline = std::chrono::steady_clock::now() + patience});
  if (!queued.ok()) finish_look({queued}, {});
}

void ChangeWatch::finish_look(const database::Outcome& outcome, std::vector<Seen> seen) {
  if (outcome.ok()) take(std::move(seen));
  std::vector<std::function<void()>> waiting;
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    if (outcome.ok()) {
      synced_ = clock_->now();
    }
    patience_.note(outcome.ok(), std::chrono::steady_clock::now() - begun_);
    waiting.swap(waiting_);
    waiting_.swap(waiting_next_);
    again = std::exchange(look_again_, false) && outcome.ok();
    looking_ = again;
    if (!again) {
      for (auto& each : waiting_) waiting.push_back(std::move(each));
      waiting_.clear();
    }
  }
  for (const std::function<void()>& then : waiting) then();
  if (again) submit_look();
}

std::optional<TimePoint> ChangeWatch::synced() const {
  const std::lock_guard lock(mutex_);
  return synced_;
}

Duration ChangeWatch::age() const { return clock_->now() - synced().value_or(started_); }

}  // namespace weir::control
