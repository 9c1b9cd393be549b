// The gate's own thread: epochs, the usage log, usage batches, renewal, and slices that are idle or over.
//
// All times are by the gate's clock; the thread wakes every group_period.
#include <algorithm>
#include <map>

#include "ledger/gate/leased_call.h"
#include "ledger/gate/ledger_gate.h"

namespace weir::ledger {
namespace {

constexpr Duration kTidyPeriod = std::chrono::milliseconds(100);
constexpr Duration kRetryPeriod = std::chrono::milliseconds(500);
constexpr auto kStopPatience = std::chrono::seconds(3);
constexpr Duration kForgetAfter = std::chrono::seconds(60);
constexpr std::size_t kMostRecords = 5'000;  // of a segment; below UsageBatch::kMaxRecords

using Shard = SliceTable::Shard;

}  // namespace

void LedgerGate::work() {
  while (true) {
    {
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, options_.group_period, [this] { return stopped_; });
      if (stopped_) break;
    }
    const TimePoint now = clock_.now();
    log_group();
    if (!has_epoch_ && now >= try_at_) {
      try_at_ = now + kRetryPeriod;
      if (open_epoch()) note("");
    }
    if (!has_epoch_) {
      if (log_->broken()) send_segments();  // what the disk may have twice is to be settled before a new epoch
      continue;
    }
    if (now >= send_at_) {
      send_at_ = now + options_.send_period;
      send_segments();
    }
    if (now >= renew_at_) renew();
    if (now >= tidy_at_) {
      tidy_at_ = now + kTidyPeriod;
      tidy(now);
    }
  }
  // What was spent is logged and sent, and what is left is given back, as far as the ledger answers.
  usable_.store(false);
  const auto deadline = std::chrono::steady_clock::now() + kStopPatience;
  if (epoch_.load() > 0) {
    log_group();
    for (Shard& shard : table_.all()) {
      std::vector<std::tuple<Terms, std::int64_t, std::int64_t>> returns;
      {
        const std::lock_guard lock(shard.mutex);
        for (auto& [key, slice] : shard.current) {
          if (slice->left > 0) returns.emplace_back(slice->terms, slice->epoch, std::exchange(slice->left, 0));
        }
      }
      for (const auto& [terms, epoch, amount] : returns) give_back(terms, epoch, amount, nullptr);
    }
    while (std::chrono::steady_clock::now() < deadline) {
      log_group();
      send_segments();
      const bool sent = segments_.empty() && !sending_.load() && !log_->has_records();
      if (sent && (unlogged_.empty() || !log_->broken())) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    send_unlogged();
  }
  // Answers that come after this would find nothing.
  while (sending_.load() || renewing_.load() || underway_.load() > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

// The process ends: what the disk does not take goes to the ledger directly.
void LedgerGate::send_unlogged() {
  if (unlogged_.empty() || log_->broken() || sending_.load()) return;
  auto batch = std::make_unique<UsageBatch>();
  batch->node = options_.node;
  batch->epoch = epoch_.load();
  batch->seq = log_->take_seq();
  batch->records = std::move(unlogged_);
  batch->name_itself();
  batch->deadline = std::chrono::steady_clock::now() + options_.patience;
  const Result<Answer> sent = ledger_.run(std::move(batch));
  if (!sent.ok() || sent.value().verdict != Verdict::done) {
    say("quota_usage_lost", "usage could neither be logged nor sent before the server stopped, and is not billed");
  }
}

// A new epoch, after what earlier ones left was sent. False: the ledger does not answer, or something of the last epoch
// is still under way; tried again later.
bool LedgerGate::open_epoch() {
  if (sending_.load() || log_failed_ || !is_settled()) return false;
  sent_.store(Sent::no);
  log_->leave_segment();
  auto open = std::make_unique<OpenEpoch>();
  open->id = "epoch " + prefix_ + std::to_string(operations_.fetch_add(1));
  open->node = options_.node;
  open->deadline = std::chrono::steady_clock::now() + options_.patience;
  const Result<Answer> opened = ledger_.run(std::move(open));
  if (!opened.ok()) {
    note("the ledger does not answer: " + opened.failure().message);
    return false;
  }
  if (!replay()) return false;
  const Result<std::int64_t> expired = ledger_.close_epochs(options_.node, opened.value().epoch);
  if (!expired.ok()) {
    note("the ledger does not answer: " + expired.failure().message);
    return false;
  }
  log_->begin_epoch(opened.value().epoch);
  epoch_.store(opened.value().epoch);
  {
    const std::lock_guard lock(mutex_);
    counts_.expired += expired.value();
  }
  if (expired.value() > 0) {
    say("quota_expired", std::to_string(expired.value()) +
                             " units that an earlier run of this node held and did not report count against their "
                             "limits and are not billed");
  }
  renew_at_ = clock_.now() + options_.slice_ttl / 6;
  has_epoch_ = true;
  usable_.store(true, std::memory_order_release);
  return true;
}

// True if nothing of the epoch that has ended can still be spent or has to be logged under it.
bool LedgerGate::is_settled() {
  bool settled = true;
  for (Shard& shard : table_.all()) {
    const std::lock_guard lock(shard.mutex);
    std::vector<BucketKey> keys;
    for (const auto& [key, slice] : shard.current) {
      if (slice->waiters.empty() && !slice->asking) keys.push_back(key);
      settled = settled && slice->waiters.empty() && !slice->asking;
    }
    for (const BucketKey& key : keys) SliceTable::retire(shard, key);
    for (const auto& slice : shard.retired) settled = settled && slice->pending == 0 && slice->spent == 0;
  }
  return settled;
}

// Batches of earlier epochs, in their order.
bool LedgerGate::replay() {
  const Result<std::vector<UsageSegment>> left = log_->leftovers();
  if (!left.ok()) {
    note("the usage log cannot be read: " + left.failure().message);
    return false;
  }
  std::int64_t units = 0;
  for (const UsageSegment& segment : left.value()) {
    auto batch = std::make_unique<UsageBatch>();
    batch->node = segment.node;
    batch->epoch = segment.epoch;
    batch->seq = segment.seq;
    batch->records = segment.records;
    batch->name_itself();
    const Result<Answer> sent = ledger_.run(std::move(batch));
    if (!sent.ok()) {
      note("usage of an earlier run cannot be sent: " + sent.failure().message);
      return false;
    }
    if (!sent.value().replayed) units += sent.value().granted;
    finish_segment(segment, sent.value().verdict == Verdict::done);
  }
  segments_.clear();
  log_full_ = false;
  const std::lock_guard lock(mutex_);
  unsent_.clear();
  counts_.replayed += units;
  counts_.unsent = 0;
  counts_.log_bytes = 0;
  return true;
}

// The ledger has it, or will never take it: then an operator has to look.
void LedgerGate::finish_segment(const UsageSegment& segment, bool taken) {
  if (taken) {
    if (Status removed = UsageLog::remove(segment); !removed.ok()) note(removed.failure().message);
    return;
  }
  std::error_code ignored;
  const std::filesystem::path kept = segment.path.string() + ".refused";
  std::filesystem::rename(segment.path, kept, ignored);
  say("quota_usage_refused", kept.string() + ": the ledger does not know an account of this usage; the file is kept");
}

// What was spent since the last group, and what could not be logged before; one record for each account.
void LedgerGate::take_group(UsageRecords& group) {
  std::map<AccountKey, std::size_t> places;
  for (std::size_t i = 0; i < group.size(); ++i) places[group[i].account] = i;
  for (Shard& shard : table_.all()) {
    const std::lock_guard lock(shard.mutex);
    for (HeldSlice* const slice : shard.dirty) {
      slice->dirty = false;
      if (slice->spent == 0 && slice->without == 0) continue;
      const auto [place, added] = places.try_emplace(slice->terms.key, group.size());
      UsageBatch::Record& record = added ? group.emplace_back() : group[place->second];
      record.account = slice->terms.key;
      record.spent += std::exchange(slice->spent, 0);
      record.without += std::exchange(slice->without, 0);
      if (record.without > 0) record.terms = slice->terms;
    }
    shard.dirty.clear();
  }
}

// At the bound of the log, what a failure policy has admitted is taken out of the group and waits in memory. What was
// spent of slices is little then, because nothing more is taken from them, and is logged in any case.
UsageRecords LedgerGate::beyond_bound(UsageRecords& group) const {
  UsageRecords waiting;
  std::size_t bytes = log_->open_bytes();
  for (const UsageSegment& segment : segments_) bytes += segment.bytes;
  if (bytes < options_.max_log_bytes) return waiting;
  for (UsageBatch::Record& record : group) {
    if (record.without == 0) continue;
    UsageBatch::Record& later = waiting.emplace_back(record);
    later.spent = 0;
    record.without = 0;
    record.terms.reset();
  }
  std::erase_if(group, [](const UsageBatch::Record& record) { return record.spent == 0; });
  return waiting;
}

// If the log cannot be written, nothing more is admitted until it can.
void LedgerGate::log_group() {
  moving_.store(true);
  UsageRecords group = std::move(unlogged_);
  unlogged_.clear();
  take_group(group);
  if (group.empty()) return moving_.store(false);
  begun_.fetch_add(1);
  if (epoch_.load() == 0) {  // admitted by a failure policy, before the ledger has answered for the first time
    unlogged_ = std::move(group);
    return;
  }
  UsageRecords waiting = beyond_bound(group);
  if (group.empty()) {
    unlogged_ = std::move(waiting);
    return;
  }
  const Status logged = log_->append(group);
  {
    const std::lock_guard lock(mutex_);
    if (logged.ok()) ++counts_.groups;
    if (!logged.ok()) ++counts_.log_failures;
    for (const UsageBatch::Record& record : group) {
      if (logged.ok() && record.spent > 0) unsent_[record.account] += record.spent;
    }
  }
  if (!logged.ok()) {
    unlogged_ = std::move(group);
    unlogged_.insert(unlogged_.end(), waiting.begin(), waiting.end());
    log_failed_ = true;
    usable_.store(false);
    note("the usage log cannot be written: " + logged.failure().message);
    return;
  }
  unlogged_ = std::move(waiting);
  moving_.store(!unlogged_.empty());
  if (std::exchange(log_failed_, false) && has_epoch_ && !log_full_) {
    note("");
    usable_.store(true, std::memory_order_release);
  }
  if (log_->open_bytes() > UsageLog::kMaxSegmentBytes) {  // one that grew on would be too large to be read again
    if (std::optional<UsageSegment> closed = log_->close_segment()) segments_.push_back(*std::move(closed));
  }
  if (log_->open_bytes() > UsageLog::kMaxSegmentBytes || group.size() > kMostRecords) send_at_ = {};
  bound_log();
}

// The log is bounded: close to its bound nothing more is admitted. What is spent already, and what a failure policy
// admits, is still written.
void LedgerGate::bound_log() {
  std::size_t bytes = log_->open_bytes();
  for (const UsageSegment& segment : segments_) bytes += segment.bytes;
  {
    const std::lock_guard lock(mutex_);
    counts_.log_bytes = bytes;
    counts_.unsent = segments_.size();
  }
  const std::size_t most = options_.max_log_bytes;
  if (!log_full_ && bytes > most - most / 8) {
    log_full_ = true;
    usable_.store(false);
    note("the usage log is full (" + std::to_string(bytes) + " of " + std::to_string(most) +
         " bytes): leased quotas admit nothing until the ledger has taken its usage");
  } else if (log_full_ && bytes < most / 2) {
    log_full_ = false;
    note("");
    if (has_epoch_ && !log_failed_) usable_.store(true, std::memory_order_release);
  }
}

void LedgerGate::note_sent(const UsageSegment& segment) {
  const std::lock_guard lock(mutex_);
  for (const UsageBatch::Record& record : segment.records) {
    const auto found = unsent_.find(record.account);
    if (found == unsent_.end()) continue;
    found->second -= record.spent;
    if (found->second <= 0) unsent_.erase(found);
  }
}

// One batch is on its way at a time. While it is, later usage gathers in the open segment.
void LedgerGate::send_segments() {
  if (sending_.load()) return;
  const Sent sent = sent_.exchange(Sent::no);
  if (sent != Sent::no && !segments_.empty()) {
    note_sent(segments_.front());
    if (segments_.front().uncertain && sent == Sent::done) log_->mend();
    finish_segment(segments_.front(), sent == Sent::done);
    segments_.pop_front();
    bound_log();
  }
  if (segments_.empty()) {
    std::optional<UsageSegment> closed = log_->close_segment();
    if (!closed) return;
    segments_.push_back(*std::move(closed));
    bound_log();
  }
  const UsageSegment& segment = segments_.front();
  auto batch = std::make_unique<UsageBatch>();
  batch->node = segment.node;
  batch->epoch = segment.epoch;
  batch->seq = segment.seq;
  batch->records = segment.records;
  batch->name_itself();
  begun_.fetch_add(1);
  sending_.store(true);
  batch->done = [this](const Result<Answer>& answer) {
    {
      const std::lock_guard lock(mutex_);
      if (answer.ok()) ++counts_.batches;
    }
    if (!answer.ok()) note("usage cannot be sent to the ledger: " + answer.failure().message);
    sent_.store(answer.ok() ? (answer.value().verdict == Verdict::done ? Sent::done : Sent::refused) : Sent::no);
    sending_.store(false);
  };
  ledger_.submit_later(std::move(batch));
}

void LedgerGate::renew() {
  if (renewing_.exchange(true)) return;
  auto renewal = std::make_unique<RenewSlices>();
  renewal->id = "renew " + prefix_ + std::to_string(operations_.fetch_add(1));
  renewal->node = options_.node;
  renewal->epoch = epoch_.load();
  renewal->ttl = options_.slice_ttl;
  renewal->deadline = std::chrono::steady_clock::now() + options_.patience;
  const TimePoint asked_at = clock_.now();
  renew_at_ = asked_at + options_.slice_ttl / 6;
  renewal->done = [this, asked_at](const Result<Answer>& answer) {
    const TimePoint now = clock_.now();
    if (!answer.ok()) note("slices cannot be renewed: " + answer.failure().message);
    if (answer.ok() && answer.value().verdict == Verdict::stale) note(answer.value().message);
    if (answer.ok() && answer.value().verdict == Verdict::done) {
      for (Shard& shard : table_.all()) {
        const std::lock_guard lock(shard.mutex);
        for (auto& [key, slice] : shard.current) {
          // One that has expired here may have expired there.
          if (slice->valid_until <= now) continue;
          slice->valid_until = std::max(slice->valid_until, asked_at + options_.slice_ttl - options_.margin);
        }
      }
    }
    renewing_.store(false);
  };
  ledger_.submit_later(std::move(renewal));
}

// Gives back what is idle, retires what is over, and forgets what is not used any more.
void LedgerGate::tidy(TimePoint now) {
  const TimePoint wall = clock_.wall();
  moving_.store(true);
  bool lapsed = false;
  for (Shard& shard : table_.all()) {
    std::vector<std::tuple<Terms, std::int64_t, std::int64_t, HeldSlice*>> returns;
    {
      const std::lock_guard lock(shard.mutex);
      std::vector<BucketKey> over;
      for (auto& [key, slice] : shard.current) {
        const bool quiet = !slice->asking && slice->waiters.empty();
        if (slice->left > 0 && now >= slice->valid_until) lapsed = true;
        const bool ended = wall >= slice->terms.ends && slice->waiters.empty();
        const bool unused = quiet && !slice->in_use() && slice->left == 0 && now - slice->last_used > kForgetAfter &&
                            now - slice->refilled_at > kForgetAfter;
        if (ended || unused) {
          over.push_back(key);
        } else if (quiet && !slice->returning && slice->left > 0 && now - slice->last_used > options_.idle_after) {
          returns.emplace_back(slice->terms, slice->epoch, std::exchange(slice->left, 0), slice.get());
          slice->returning = true;
          slice->want = 0;
        }
      }
      for (const BucketKey& key : over) {
        const Terms terms = shard.current[key]->terms;
        const std::int64_t epoch = shard.current[key]->epoch;
        const std::int64_t left = SliceTable::retire(shard, key);
        if (left > 0) returns.emplace_back(terms, epoch, left, nullptr);
      }
      const std::size_t gone = std::erase_if(shard.retired, [](const auto& slice) { return !slice->in_use(); });
      slices_.fetch_sub(gone, std::memory_order_relaxed);
    }
    for (const auto& [terms, epoch, amount, slice] : returns) give_back(terms, epoch, amount, slice);
  }
  moving_.store(!unlogged_.empty());
  if (lapsed) end_epoch("the ledger was unavailable for longer than slices live");
}

// What this node holds may be expired in the ledger: it is not spent any more, and a new epoch begins.
void LedgerGate::end_epoch(const std::string& why) {
  usable_.store(false);
  has_epoch_ = false;
  try_at_ = {};
  note(why);
  const std::lock_guard lock(mutex_);
  ++counts_.lapses;
}

}  // namespace weir::ledger
