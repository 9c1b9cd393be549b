#include "control/change_watch.h"

#include <utility>

#include "base/atomic_file.h"
#include "base/bounded_file.h"
#include "control/change_log.h"

namespace weir::control {
namespace {

constexpr std::size_t kMaxKeptBytes = std::size_t{256} << 20;
constexpr std::chrono::seconds kLookPatience{5};

}  // namespace

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
  if (Status applied = watched.topic->apply(text.value()); !applied.ok()) tell(watched.name, applied.failure());
}

// Topics that have never changed are read once, too: their text may say so.
Status ChangeWatch::read_changed(database::Session& session, std::vector<Seen>& seen) {
  const Result<std::map<std::string, std::int64_t>> changes = read_changes(session);
  if (!changes.ok()) return changes.failure();
  for (std::size_t i = 0; i < watched_.size(); ++i) {
    const auto found = changes.value().find(watched_[i].name);
    const std::int64_t version = found == changes.value().end() ? 0 : found->second;
    {
      const std::lock_guard applying(applying_);
      if (watched_[i].version == version) continue;
    }
    Result<std::string> text = watched_[i].topic->read(session);
    if (!text.ok()) return text.failure();
    seen.push_back({i, version, std::move(text).value()});
  }
  return success();
}

void ChangeWatch::take(std::vector<Seen> seen) {
  const std::lock_guard applying(applying_);
  for (const Seen& each : seen) {
    Watched& watched = watched_[each.index];
    // Also when it cannot be applied: the same text would fail again.
    watched.version = each.version;
    Status applied = watched.topic->apply(each.text);
    if (applied.ok()) applied = base::write_file_atomically(folder_ / watched.name, each.text);
    if (applied.ok()) {
      told_.erase(watched.name);
    } else {
      tell(watched.name, applied.failure());
    }
  }
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
  const Status queued = database_.submit(
      {.access = database::Access::read,
       .work =
           [this, seen](database::Session& session) {
             seen->clear();
             return read_changed(session, *seen);
           },
       .done = [this, seen](const database::Outcome& outcome) { finish_look(outcome, std::move(*seen)); },
       .deadline = std::chrono::steady_clock::now() + kLookPatience});
  if (!queued.ok()) finish_look({queued}, {});
}

void ChangeWatch::finish_look(const database::Outcome& outcome, std::vector<Seen> seen) {
  if (outcome.ok()) take(std::move(seen));
  std::vector<std::function<void()>> waiting;
  bool again = false;
  {
    const std::lock_guard lock(mutex_);
    if (outcome.ok()) synced_ = clock_->now();
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
