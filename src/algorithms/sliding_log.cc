#include "algorithms/sliding_log.h"

#include <cassert>

#include "algorithms/arithmetic.h"

namespace weir::algorithms {
namespace {

constexpr std::size_t kPlace = 0;
constexpr std::size_t kSum = 1;
constexpr std::size_t kLast = 2;

constexpr std::size_t kEntryWords = 2;
constexpr std::int64_t kMostOwed = 16'000'000;  // what one entry of the Redis store has room for
constexpr std::size_t kFirstEntries = 10;       // what an empty tail grows to, unless the limit is less
// Entries are moved to the front when at least this part of the tail is free there. If it is not, and the tail cannot
// grow, entries are merged until it is.
constexpr std::size_t kWorthMoving = 8;

// Read access to the entries, by position in the tail. Whatever the words are, positions stay inside the tail.
class Log {
 public:
  explicit Log(const ConstBucketWords& bucket)
      : tail_(bucket.tail), last_(clamp_tick(bucket.head[kLast])), sum_(bounded(bucket.head[kSum], kMaxUnits)) {
    const auto place = static_cast<std::uint64_t>(bucket.head[kPlace]);
    begin_ = std::min<std::size_t>(place >> 32, capacity());
    end_ = begin_ + std::min<std::size_t>(place & 0xffff'ffffU, capacity() - begin_);
    // No entry is without units. Only a damaged head claims such ones; they must not become entries when the tail
    // grows.
    while (end_ > begin_ && units(end_ - 1) == 0) --end_;
  }

  std::size_t capacity() const { return tail_.size() / kEntryWords; }
  std::size_t begin() const { return begin_; }
  std::size_t end() const { return end_; }
  std::int64_t time(std::size_t at) const { return bounded(tail_[at * kEntryWords], last_); }
  std::int64_t units(std::size_t at) const { return bounded(tail_[at * kEntryWords + 1], kMaxUnits); }
  std::int64_t sum() const { return sum_; }

 private:
  std::span<const std::int64_t> tail_;
  std::int64_t last_;
  std::int64_t sum_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

// The entries that still count at some moment, and their sum.
struct Live {
  std::size_t begin;
  std::int64_t sum;
};

Live live_at(const Log& log, std::int64_t time, std::int64_t window) {
  Live live{log.begin(), log.sum()};
  while (live.begin < log.end() && log.time(live.begin) + window <= time) {
    live.sum -= log.units(live.begin);
    ++live.begin;
  }
  // An empty log counts nothing, whatever a damaged head says.
  live.sum = live.begin == log.end() ? 0 : std::max<std::int64_t>(0, live.sum);
  return live;
}

// When enough of the oldest entries have left for `cost` to fit. Precondition: it is at most the limit and does not
// fit while all that is live counts.
std::int64_t fits_from(const Allowance& allowance, const Log& log, const Live& live, std::int64_t cost) {
  std::int64_t sum = live.sum;
  std::int64_t taken = 0;  // the latest so far: in a damaged log times may be out of order
  for (std::size_t at = live.begin; at < log.end() && sum + cost > allowance.limit; ++at) {
    sum -= log.units(at);
    taken = std::max(taken, log.time(at));
  }
  return taken + allowance.window.count();
}

bool shares_newest(const Log& log, const Live& live, std::int64_t time) {
  return live.begin < log.end() && log.time(log.end() - 1) == time;
}

// The live entry of what was charged at `time`, or the log's end. In a log that has brought its entries together there
// may be none, and what was charged then counts until it leaves.
std::size_t entry_of(const Log& log, const Live& live, std::int64_t time) {
  std::size_t first = live.begin;
  for (std::size_t count = log.end() - live.begin; count > 0;) {
    const std::size_t half = count / 2;
    if (log.time(first + half) < time) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first < log.end() && log.time(first) == time ? first : log.end();
}

void write_head(const BucketWords& bucket, std::size_t begin, std::size_t end, std::int64_t sum, std::int64_t time) {
  bucket.head[kPlace] = static_cast<std::int64_t>((begin << 32) | (end - begin));
  bucket.head[kSum] = sum;
  bucket.head[kLast] = time;
}

// Moving the live entries to the front frees room after them, enough to be worth the work.
bool room_before(const Log& log, const Live& live) {
  return live.begin > 0 && live.begin >= log.capacity() / kWorthMoving;
}

void put(const BucketWords& bucket, std::size_t at, std::int64_t time, std::int64_t units) {
  bucket.tail[at * kEntryWords] = time;
  bucket.tail[at * kEntryWords + 1] = units;
}

// Adds an entry by merging the live ones, as the header says. What is live at `time` spans one window (more
// if other allowances have longer ones), and that touches at most one part more than it has.
void append_closely(const BucketWords& bucket, const Log& log, const Live& live, std::int64_t time, std::int64_t units,
                    std::int64_t window) {
  const auto parts = static_cast<std::int64_t>(log.capacity() - log.capacity() / kWorthMoving) - 1;
  const std::int64_t span = std::max(window, time - log.time(live.begin) + 1);
  const std::int64_t width = parts == 0 ? kLatestTick + 1 : ceil_div(span, parts);
  std::size_t end = 0;
  std::int64_t newest = 0;
  std::int64_t gathered = 0;
  for (std::size_t at = live.begin; at <= log.end(); ++at) {
    const std::int64_t next = at < log.end() ? log.time(at) : time;
    if (gathered > 0 && next / width > newest / width) {
      put(bucket, end++, newest, gathered);
      gathered = 0;
    }
    newest = std::max(newest, next);
    gathered += at < log.end() ? log.units(at) : units;
  }
  assert(end < log.capacity());
  put(bucket, end++, newest, gathered);
  write_head(bucket, 0, end, live.sum + units, time);
}

// Adds an entry after the live ones. Precondition: the tail has room for one entry at least.
void append(const BucketWords& bucket, const Log& log, const Live& live, std::int64_t time, std::int64_t units,
            std::int64_t window) {
  std::size_t begin = live.begin;
  std::size_t end = log.end();
  if (shares_newest(log, live, time)) {
    bucket.tail[(end - 1) * kEntryWords + 1] = log.units(end - 1) + units;
  } else {
    if (begin == end) {
      begin = end = 0;
    } else if (end == log.capacity()) {
      if (!room_before(log, live)) return append_closely(bucket, log, live, time, units, window);
      const auto words = bucket.tail.begin();
      std::copy(words + static_cast<std::ptrdiff_t>(begin * kEntryWords),
                words + static_cast<std::ptrdiff_t>(end * kEntryWords), words);
      end -= begin;
      begin = 0;
    }
    assert(end < log.capacity());
    put(bucket, end++, time, units);
  }
  write_head(bucket, begin, end, live.sum + units, time);
}

}  // namespace

ChargeOutcome SlidingLog::evaluate(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                   std::int64_t cost) {
  ChargeOutcome outcome;
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const Live live = live_at(log, moment.time, allowance.window.count());
  std::int64_t used = live.sum;
  std::int64_t newest = live.begin < log.end() ? log.time(log.end() - 1) : moment.time;
  if (cost > allowance.limit) {
    outcome.admitted = false;
    outcome.too_large = true;
  } else if (cost > 0 && used + cost <= allowance.limit) {
    used += cost;
    newest = moment.time;
  } else if (cost > 0) {
    outcome.admitted = false;
    outcome.retry_after = moment.until(fits_from(allowance, log, live, cost));
  }
  outcome.remaining = std::max<std::int64_t>(0, allowance.limit - used);
  if (used > 0) outcome.reset_after = moment.until(newest + allowance.window.count());
  return outcome;
}

std::size_t SlidingLog::tail_words_needed(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                          std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const Live live = live_at(log, moment.time, allowance.window.count());
  const std::size_t capacity = log.capacity();
  const std::size_t count = log.end() - live.begin;
  const bool room_behind = log.end() < capacity || (count == 0 && capacity > 0);
  if (cost == 0 || room_behind || room_before(log, live) || shares_newest(log, live, moment.time)) {
    return bucket.tail.size();
  }
  const auto limit = static_cast<std::size_t>(allowance.limit);
  const std::size_t most = limit <= kFirstEntries ? limit : limit + limit / 4 + 1;
  const std::size_t doubled = std::max(kFirstEntries, capacity * 2);
  return std::max(std::min(doubled, most), count + 1) * kEntryWords;
}

void SlidingLog::charge(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  if (cost == 0) return;
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const std::int64_t window = allowance.window.count();
  append(bucket, log, live_at(log, moment.time, window), moment.time, cost, window);
}

// What is left of the limit, which may be nothing: entries that count are never displaced.
void SlidingLog::charge_denied(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                               std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const Live live = live_at(log, moment.time, allowance.window.count());
  const std::int64_t taken = bounded(allowance.limit - live.sum, cost);
  if (taken > 0) {
    append(bucket, log, live, moment.time, taken, allowance.window.count());
  } else {
    write_head(bucket, live.begin, log.end(), live.sum, moment.time);
  }
}

bool SlidingLog::refund(const Allowance& allowance, const BucketWords& bucket, TimePoint now, std::int64_t cost) {
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const Live live = live_at(log, moment.time, allowance.window.count());
  if (cost == 0 || live.begin == log.end()) return false;
  std::size_t end = log.end();
  std::int64_t sum = live.sum;
  while (cost > 0 && end > live.begin) {
    const std::int64_t units = log.units(end - 1);
    const std::int64_t given = std::min(units, cost);
    sum -= given;
    cost -= given;
    if (given < units) {
      bucket.tail[(end - 1) * kEntryWords + 1] = units - given;
    } else {
      --end;
    }
  }
  write_head(bucket, live.begin, end, std::max<std::int64_t>(0, sum), moment.time);
  return true;
}

std::int64_t SlidingLog::counted(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now,
                                 TimePoint since) {
  const Log log(bucket);
  const Live live = live_at(log, Moment(now, bucket.head[kLast]).time, allowance.window.count());
  const std::size_t at = entry_of(log, live, micros(since));
  return at == log.end() ? 0 : log.units(at);
}

// Entries without units are not kept: those after it move up.
void SlidingLog::give_back(const Allowance& allowance, const BucketWords& bucket, TimePoint now, TimePoint since,
                           std::int64_t units) {
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const Live live = live_at(log, moment.time, allowance.window.count());
  const std::size_t at = entry_of(log, live, micros(since));
  if (at == log.end()) return;
  const std::int64_t given = std::min(units, log.units(at));
  const auto words = bucket.tail.begin();
  std::size_t end = log.end();
  if (given < log.units(at)) {
    bucket.tail[at * kEntryWords + 1] = log.units(at) - given;
  } else {
    std::copy(words + static_cast<std::ptrdiff_t>((at + 1) * kEntryWords),
              words + static_cast<std::ptrdiff_t>(end * kEntryWords),
              words + static_cast<std::ptrdiff_t>(at * kEntryWords));
    --end;
  }
  write_head(bucket, live.begin, end, std::max<std::int64_t>(0, live.sum - given), moment.time);
}

std::int64_t SlidingLog::charge_beyond(const Allowance& allowance, const BucketWords& bucket, TimePoint now,
                                       std::int64_t units) {
  const Moment moment(now, bucket.head[kLast]);
  const Log log(bucket);
  const std::int64_t window = allowance.window.count();
  const Live live = live_at(log, moment.time, window);
  const std::int64_t most = std::min(allowance.limit + allowance.overdraft, kMostOwed);
  const std::int64_t charged = log.capacity() == 0 ? 0 : bounded(most - live.sum, units);
  if (charged > 0) append(bucket, log, live, moment.time, charged, window);
  return charged;
}

TimePoint SlidingLog::idle_from(const Allowance& allowance, const ConstBucketWords& bucket) {
  const Log log(bucket);
  const std::int64_t last = clamp_tick(bucket.head[kLast]);
  if (log.begin() == log.end()) return from_micros(last);
  return from_micros(std::max(last, log.time(log.end() - 1) + allowance.window.count()));
}

TimePoint SlidingLog::last_change(const ConstBucketWords& bucket) {
  return from_micros(clamp_tick(bucket.head[kLast]));
}

std::vector<LogEntry> SlidingLog::entries(const Allowance& allowance, const ConstBucketWords& bucket, TimePoint now) {
  const Log log(bucket);
  std::vector<LogEntry> entries;
  for (std::size_t at = live_at(log, clamp_tick(micros(now)), allowance.window.count()).begin; at < log.end(); ++at) {
    entries.push_back({from_micros(log.time(at)), log.units(at)});
  }
  return entries;
}

Duration SlidingLog::move_back(const BucketWords& bucket, Duration by) {
  const Log log(bucket);
  for (std::size_t at = log.begin(); at < log.end(); ++at) {
    bucket.tail[at * kEntryWords] = std::max<std::int64_t>(0, log.time(at) - by.count());
  }
  bucket.head[kLast] = clamp_tick(bucket.head[kLast]) - by.count();
  return by;
}

}  // namespace weir::algorithms
