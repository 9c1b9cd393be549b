#include "ledger/committer.h"

#include <algorithm>
#include <random>

#include "base/ascii.h"
#include "ledger/books.h"
#include "ledger/posting.h"
#include "ledger/rows.h"
#include "ledger/tables.h"

namespace weir::ledger {
namespace {

using database::Access;
using database::Dialect;
using database::Outcome;
using database::Rows;
using database::Session;
using database::Statement;

const Statement kRegister{
    "INSERT INTO ledger_committer (id, last_number, seen_at) VALUES ($1, $2, $3)"
    " ON CONFLICT (id) DO UPDATE SET last_number = $2, seen_at = $3"};
const Statement kLastNumber{"SELECT last_number FROM ledger_committer WHERE id = $1 FOR UPDATE"};

constexpr auto kResolvePause = std::chrono::milliseconds(20);
constexpr auto kWatchPause = std::chrono::milliseconds(20);
// For a transaction. Callers do not wait for it longer than to their deadlines.
constexpr auto kPatience = std::chrono::seconds(30);
constexpr int kMaxAttempts = 3;

std::string random_id() {
  std::random_device random;
  std::string id(32, '0');
  for (int half = 0; half < 2; ++half) {
    base::write_hex(id.data() + 16 * half, (std::uint64_t{random()} << 32) | random());
  }
  return id;
}

// True if the group may contain one operation that the database refuses and others that it does not.
bool blames_one(const Failure& failure) {
  switch (failure.code) {
    case Code::already_exists:
    case Code::failed_precondition:
    case Code::invalid_argument:
    case Code::internal:
      return true;
    default:
      return false;
  }
}

}  // namespace

Committer::Committer(database::Database& database, Clock* clock, const CommitterLimits& limits)
    : database_(database),
      clock_(clock),
      limits_(limits),
      id_(random_id()),
      thread_([this] { work(); }),
      watcher_([this] { watch(); }) {}

Committer::~Committer() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  filled_.notify_all();
  closing_.notify_all();
  thread_.join();
  watcher_.join();
}

Committer::Counts Committer::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

std::size_t Committer::queued() const {
  const std::lock_guard lock(mutex_);
  return queue_.size();
}

void Committer::finish(Operation& operation, const Result<Answer>& answer) {
  if (operation.done) operation.done(answer);
}

void Committer::fail(Group& group, const Failure& failure) {
  for (const auto& operation : group) finish(*operation, failure);
  group.clear();
}

void Committer::submit(std::unique_ptr<Operation> operation) {
  Status accepted = operation->check();
  if (accepted.ok()) {
    const std::lock_guard lock(mutex_);
    if (stopped_) {
      accepted = Failure{Code::cancelled, "the ledger is being closed"};
    } else if (queue_.size() >= limits_.max_queued) {
      accepted = Failure{Code::resource_exhausted,
                         "too many operations are waiting for the ledger (" + std::to_string(limits_.max_queued) + ")"};
    } else {
      queue_.push_back(std::move(operation));
      filled_.notify_one();
      return;
    }
  }
  finish(*operation, accepted.failure());
}

Committer::Group Committer::next_group() {
  std::unique_lock lock(mutex_);
  filled_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
  Group group;
  while (!queue_.empty() && group.size() < limits_.max_group) {
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return group;
}

void Committer::work() {
  while (true) {
    if (!resolve()) {
      std::unique_lock lock(mutex_);
      if (stopped_) break;
      filled_.wait_for(lock, kResolvePause, [this] { return stopped_; });
      continue;
    }
    Group group = next_group();
    if (group.empty()) break;
    execute(std::move(group));
  }
  Group left;
  {
    const std::lock_guard lock(mutex_);
    std::move(queue_.begin(), queue_.end(), std::back_inserter(left));
    queue_.clear();
  }
  fail(left, {Code::cancelled, "the ledger is being closed"});
  if (!underway_) return;
  const Underway unknown = take_underway();
  for (std::size_t i = 0; i < unknown.group.size(); ++i) {
    if (unknown.refused[i]) continue;
    finish(*unknown.group[i], Failure{Code::unavailable, "it is not known whether the ledger recorded this"});
  }
}

Committer::Underway Committer::take_underway() {
  const std::lock_guard lock(mutex_);
  Underway taken = *std::move(underway_);
  underway_.reset();
  return taken;
}

void Committer::execute(Group group, int attempt) {
  const auto now = std::chrono::steady_clock::now();
  for (auto& operation : group) {
    if (operation->deadline > now) continue;
    finish(*operation, Failure{Code::deadline_exceeded, "the ledger was not reached in time"});
    operation.reset();
  }
  std::erase(group, nullptr);
  if (group.empty()) return;

  std::vector<Answer> answers;
  const std::int64_t number = ++last_number_;
  {
    const std::lock_guard lock(mutex_);
    underway_ = {.group = std::move(group), .refused = std::vector<bool>(), .number = number};
    underway_->refused.resize(underway_->group.size());
  }
  const Group& executed = underway_->group;
  const Outcome outcome = database_.run(
      Access::write, [&](Session& session) { return perform(session, executed, number, answers); }, kPatience);
  {
    const std::lock_guard lock(mutex_);
    counts_.operations += executed.size();
    ++counts_.groups;
    if (outcome.unknown) {
      ++counts_.unknown;
      underway_->answers = std::move(answers);
      return;
    }
  }
  Underway done = take_underway();
  if (outcome.ok()) return conclude(done, answers);
  Group failed;
  for (std::size_t i = 0; i < done.group.size(); ++i) {
    if (!done.refused[i]) failed.push_back(std::move(done.group[i]));
  }
  const Failure& failure = outcome.status.failure();
  // A key or a row that another node added at the same time is there the next time.
  const bool alone_helps = blames_one(failure) && (failed.size() > 1 || failure.code == Code::already_exists);
  if (alone_helps && attempt < kMaxAttempts) return execute_alone(std::move(failed), attempt + 1);
  fail(failed, failure);
}

void Committer::conclude(Underway& done, std::vector<Answer>& answers) {
  for (std::size_t i = 0; i < done.group.size(); ++i) {
    if (!done.refused[i]) {
      finish(*done.group[i], std::move(answers[i]));
      continue;
    }
    std::unique_ptr<Operation> undo = done.group[i]->undo(answers[i]);
    if (undo == nullptr) continue;
    undo->deadline = Operation::Deadline::max();
    const std::lock_guard lock(mutex_);
    ++counts_.undone;
    queue_.push_front(std::move(undo));
  }
}

void Committer::execute_alone(Group group, int attempt) {
  {
    const std::lock_guard lock(mutex_);
    ++counts_.alone;
  }
  for (auto& operation : group) {
    if (underway_) {  // those that follow a lost answer wait for it, as operations that come later do
      const std::lock_guard lock(mutex_);
      queue_.push_front(std::move(operation));
      continue;
    }
    Group alone;
    alone.push_back(std::move(operation));
    execute(std::move(alone), attempt);
  }
}

Result<TimePoint> Committer::begin_number(Session& session, std::int64_t number) {
  TimePoint now;
  if (clock_ != nullptr) {
    now = clock_->wall();
  } else {
    const Result<Rows> time = session.run(kPostgresTime);
    if (!time.ok()) return time.failure();
    now = from_micros(database::number(time.value()[0][0]));
  }
  now = std::max(now, last_time_);
  const Result<Rows> registered = session.run(kRegister, id_, number, micros(now));
  if (!registered.ok()) return registered.failure();
  return now;
}

Status Committer::perform(Session& session, const Group& group, std::int64_t number, std::vector<Answer>& answers) {
  const Result<TimePoint> now = begin_number(session, number);
  if (!now.ok()) return now.failure();
  last_time_ = now.value();
  Books books(now.value());
  Needs needs;
  for (const auto& operation : group) {
    operation->declare(needs);
    if (operation->once) needs.keys.insert(operation->once->key);
  }
  if (Status read = read_needs(session, needs, books); !read.ok()) return read;
  answers.clear();
  for (const auto& operation : group) answers.push_back(perform_one(*operation, books));
  if (Status written = write_changes(session, books); !written.ok()) return written;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (!group[i]->also || answers[i].verdict != Verdict::done || answers[i].replayed) continue;
    if (Status done = group[i]->also(session, books, answers[i]); !done.ok()) return done;
  }
  return success();
}

Answer Committer::perform_one(Operation& operation, Books& books) {
  if (!operation.once) {
    Posting posting(books, operation);
    Answer answer = operation.apply(books, posting);
    posting.finish();
    return answer;
  }
  const Once& once = *operation.once;
  const Remembered* remembered = books.find_remembered(once.key);
  if (remembered != nullptr && books.now() < remembered->keep_until) {
    if (remembered->request == once.request) {
      if (std::optional<Answer> answer = parse_answer(remembered->answer)) {
        // Now someone else relies on it, so it is not undone any more.
        Remembered& row = books.remembered[once.key].now;
        row.answer = replayed_answer_text(row.answer);
        operation.show(books, *answer);
        return *answer;
      }
    }
    Answer conflict;
    conflict.verdict = Verdict::conflict;
    conflict.message = "this key was used for another request";
    return conflict;
  }
  Posting posting(books, operation);
  Answer answer = operation.apply(books, posting);
  posting.finish();
  TimePoint keep_until = once.keep_until;
  // What was denied is decided again when waiting may have helped.
  if (answer.verdict == Verdict::denied && !answer.accounts.empty()) {
    keep_until = std::min(keep_until, answer.accounts.front().ends);
  }
  books.remembered[once.key].now = {once.key, once.request, operation.id, answer_text(answer), keep_until};
  return answer;
}

bool Committer::resolve() {
  if (!underway_) return true;
  std::int64_t last = 0;
  const Outcome outcome = database_.run(
      Access::write,
      [&](Session& session) -> Status {
        const Result<Rows> rows = session.run(kLastNumber, id_);
        if (!rows.ok()) return rows.failure();
        last = rows.value().empty() ? 0 : database::number(rows.value()[0][0]);
        return success();
      },
      kPatience);
  if (!outcome.ok()) return false;
  settle(last == underway_->number);
  return !underway_;  // what was executed again may have lost its answer too
}

void Committer::settle(bool committed) {
  Underway settled = take_underway();
  if (committed) return conclude(settled, settled.answers);
  Group again;
  for (std::size_t i = 0; i < settled.group.size(); ++i) {
    if (!settled.refused[i]) again.push_back(std::move(settled.group[i]));
  }
  if (!again.empty()) execute(std::move(again));
}

void Committer::watch() {
  std::unique_lock lock(mutex_);
  while (!closing_.wait_for(lock, kWatchPause, [this] { return stopped_; })) fail_overdue(lock);
}

void Committer::fail_overdue(std::unique_lock<std::mutex>& lock) {
  const auto now = std::chrono::steady_clock::now();
  // Taken while the lock is held: the operations may be gone afterwards.
  std::vector<decltype(Operation::done)> late;
  if (underway_) {
    for (std::size_t i = 0; i < underway_->group.size(); ++i) {
      if (underway_->refused[i] || underway_->group[i]->deadline > now) continue;
      underway_->refused[i] = true;
      late.push_back(std::exchange(underway_->group[i]->done, nullptr));
    }
  }
  Group overdue;
  for (auto& operation : queue_) {
    if (operation->deadline <= now) overdue.push_back(std::move(operation));
  }
  if (late.empty() && overdue.empty()) return;
  std::erase(queue_, nullptr);
  lock.unlock();
  const Failure failure{Code::unavailable, "the ledger did not answer in time"};
  for (const auto& done : late) {
    if (done) done(failure);
  }
  fail(overdue, failure);
  lock.lock();
}

}  // namespace weir::ledger
