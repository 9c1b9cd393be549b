#include "stores/redis/stored_bucket.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"

namespace weir::redis {
namespace {

constexpr std::size_t kIdleBytes = 7;
constexpr std::size_t kLogEntryBytes = 10;
constexpr std::size_t kCounterBytes = 5;
constexpr std::size_t kTagHexDigits = 16;
constexpr std::size_t kHashHexDigits = 32;

// Reads little-endian numbers one after the other. Precondition of take(): there are so many bytes.
class StoredNumbers {
 public:
  explicit StoredNumbers(std::string_view bytes) : bytes_(bytes) {}

  std::int64_t take(std::size_t size) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value |= std::uint64_t{static_cast<unsigned char>(bytes_[at_ + i])} << (8 * i);
    }
    at_ += size;
    return static_cast<std::int64_t>(value);
  }
  TimePoint time() { return from_micros(take(7)); }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::string_view bytes_;
  std::size_t at_ = 1;  // after the letter
};

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::optional<StoredBucket> read_debt(std::string_view value, Algorithm algorithm) {
  if (value.size() != 35) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.algorithm = algorithm;
  const std::int64_t owed = numbers.take(6);
  const std::int64_t rest = numbers.take(7);
  numbers.take(7);
  bucket.used = rest > 0 ? owed + 1 : owed;
  bucket.last_change = numbers.time();
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_fixed(std::string_view value) {
  if (value.size() != 20) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.algorithm = Algorithm::fixed_window;
  bucket.used = numbers.take(kCounterBytes);
  bucket.last_change = numbers.time();
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_counter(std::string_view value) {
  if (value.size() != 25) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.algorithm = Algorithm::sliding_counter;
  bucket.used = numbers.take(kCounterBytes);
  bucket.used_before = numbers.take(kCounterBytes);
  bucket.last_change = numbers.time();
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_log(std::string_view value) {
  if (value.size() < 20 || value.size() % kLogEntryBytes != 0) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.algorithm = Algorithm::sliding_log;
  bucket.last_change = numbers.time();
  bucket.used = numbers.take(5);
  while (numbers.left() > kIdleBytes) {
    const TimePoint at = numbers.time();
    bucket.entries.push_back({at, numbers.take(3)});
  }
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_bucketed(std::string_view value) {
  if (value.size() < 24) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.algorithm = Algorithm::bucketed_window;
  const std::int64_t width = numbers.take(7);
  const std::int64_t count = numbers.take(2);
  bucket.width = Duration(width);
  bucket.last_change = numbers.time();
  if (width <= 0 || count <= 0 || value.size() != 24 + kCounterBytes * static_cast<std::size_t>(count)) {
    return std::nullopt;
  }
  std::vector<std::int64_t> units;
  for (std::int64_t i = 0; i < count; ++i) units.push_back(numbers.take(kCounterBytes));
  bucket.idle_from = numbers.time();
  // The sub-bucket of index i = time / width is at i % count, and the newest is that of the last change.
  const std::int64_t newest = micros(bucket.last_change) / width;
  for (std::int64_t index = std::max<std::int64_t>(0, newest - count + 1); index <= newest; ++index) {
    const std::int64_t taken = units[static_cast<std::size_t>(index % count)];
    if (taken == 0) continue;
    bucket.entries.push_back({from_micros(index * width), taken});
    bucket.used += taken;
  }
  return bucket;
}

std::optional<StoredBucket> read_leases(std::string_view value) {
  constexpr std::size_t kHeadBytes = 36;
  constexpr std::size_t kEntryBytes = 37;
  constexpr std::size_t kIdBytes = 16;
  const bool whole = value.size() >= kHeadBytes + kIdleBytes && value[1] == 1 &&
                     (value.size() - kHeadBytes - kIdleBytes) % kEntryBytes == 0;
  if (!whole) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.kind = ChargeKind::lease;
  numbers.take(1);
  bucket.used = numbers.take(3);
  numbers.take(7);
  bucket.last_change = numbers.time();
  for (std::size_t at = kHeadBytes; at + kIdleBytes < value.size(); at += kEntryBytes) {
    StoredLease lease;
    for (const char byte : value.substr(at, kIdBytes)) base::append_hex(lease.id, static_cast<unsigned char>(byte));
    StoredNumbers entry(value.substr(at + kIdBytes - 1));  // which begins after a letter
    lease.expires = entry.time();
    lease.token = entry.take(7);
    lease.units = entry.take(2);
    bucket.leases.push_back(std::move(lease));
  }
  bucket.idle_from = StoredNumbers(value.substr(value.size() - kIdleBytes - 1)).time();
  return bucket;
}

std::optional<Algorithm> algorithm_of_letter(char letter) {
  switch (letter) {
    case 'T':
      return Algorithm::token_bucket;
    case 'G':
      return Algorithm::gcra;
    case 'K':
      return Algorithm::leaky_bucket;
    case 'F':
      return Algorithm::fixed_window;
    case 'C':
      return Algorithm::sliding_counter;
    case 'L':
      return Algorithm::sliding_log;
    case 'B':
      return Algorithm::bucketed_window;
    default:
      return std::nullopt;
  }
}

// As an algorithm writes it.
std::optional<StoredBucket> parse_plain_bucket(std::string_view value) {
  const std::optional<Algorithm> algorithm = algorithm_of_letter(value[0]);
  if (!algorithm) return std::nullopt;
  switch (*algorithm) {
    case Algorithm::fixed_window:
      return read_fixed(value);
    case Algorithm::sliding_counter:
      return read_counter(value);
    case Algorithm::sliding_log:
      return read_log(value);
    case Algorithm::bucketed_window:
      return read_bucketed(value);
    default:
      return read_debt(value, *algorithm);
  }
}

std::string hex_of(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) base::append_hex(hex, static_cast<unsigned char>(byte));
  return hex;
}

// A bucket with open reservations (scripts/held.lua): their columns, then the bucket itself.
std::optional<StoredBucket> read_held(std::string_view value) {
  constexpr std::size_t kHeadBytes = 19;
  constexpr std::size_t kEntryBytes = 42;
  constexpr std::size_t kMostEntries = 1'000;
  if (value.size() < kHeadBytes + kIdleBytes || value[1] != 1) return std::nullopt;
  StoredNumbers head(value);
  head.take(2);
  const auto count = static_cast<std::size_t>(head.take(2));
  const std::size_t body = kHeadBytes + kEntryBytes * count;
  if (count == 0 || count > kMostEntries || value.size() < body + kIdleBytes) return std::nullopt;
  // Where an algorithm has written nothing yet, only its letter is known.
  std::optional<StoredBucket> bucket;
  if (value.size() > body + kIdleBytes) {
    if (value[body] != value[2]) return std::nullopt;
    bucket = parse_plain_bucket(value.substr(body));
  } else if (const std::optional<Algorithm> algorithm = algorithm_of_letter(value[2])) {
    bucket.emplace().algorithm = *algorithm;
    bucket->idle_from = StoredNumbers(value.substr(value.size() - kIdleBytes - 1)).time();
  }
  if (!bucket) return std::nullopt;
  // The columns, each of which begins after those before it.
  const auto number = [&](std::size_t before, std::size_t size, std::size_t i) {
    return StoredNumbers(value.substr(kHeadBytes + before * count + size * i - 1)).take(size);
  };
  for (std::size_t i = 0; i < count; ++i) {
    bucket->holds.push_back({.id = hex_of(value.substr(kHeadBytes + 16 * i, 16)),
                             .units = number(16, 5, i),
                             .reserved = from_micros(number(28, 7, i)),
                             .expires = from_micros(number(35, 7, i))});
  }
  return bucket;
}

std::optional<StoredBucket> read_record(std::string_view value) {
  if (value.size() != 54 || value[1] != 1) return std::nullopt;
  StoredNumbers numbers(value);
  numbers.take(1);
  const std::int64_t state = numbers.take(1);
  if (state > static_cast<std::int64_t>(ReservationState::expired)) return std::nullopt;
  StoredBucket bucket;
  bucket.kind = ChargeKind::record;
  bucket.record.state = static_cast<ReservationState>(state);
  bucket.used = numbers.take(5);
  bucket.record.expires = numbers.time();
  numbers.take(7);
  numbers.take(5);
  bucket.record.actual = numbers.take(5);
  bucket.record.returned = numbers.take(5);
  bucket.record.debt = numbers.take(5);
  bucket.record.uncharged = numbers.take(5);
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_penalty(std::string_view value) {
  if (value.size() != 25) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.kind = ChargeKind::penalty;
  bucket.penalty.until = numbers.time();
  bucket.penalty.first = numbers.time();
  bucket.penalty.strikes = numbers.take(2);
  bucket.penalty.step = numbers.take(1);
  bucket.idle_from = numbers.time();
  return bucket;
}

std::optional<StoredBucket> read_distinct(std::string_view value) {
  constexpr std::size_t kValueBytes = 14;
  if (value.size() < 15 || value.size() % kValueBytes != 1) return std::nullopt;
  StoredNumbers numbers(value);
  StoredBucket bucket;
  bucket.distinct = true;
  bucket.last_change = numbers.time();
  while (numbers.left() > kIdleBytes) {
    numbers.take(7);  // a hash says nothing
    bucket.entries.push_back({numbers.time(), 1});
    ++bucket.used;
  }
  bucket.idle_from = numbers.time();
  return bucket;
}

}  // namespace

std::optional<StoredName> parse_bucket_name(std::string_view key) {
  if (!key.starts_with("w1:")) return std::nullopt;
  const std::size_t open = key.find('{');
  const std::size_t close = key.find("}:");
  if (open == key.npos || close != open + 1 + kTagHexDigits || key.size() < close + 2 + kHashHexDigits + 2) {
    return std::nullopt;
  }
  StoredName name;
  if (open > 3) {
    if (key[open - 1] != ':') return std::nullopt;
    name.name_space = key.substr(3, open - 4);
  }
  name.tag = key.substr(open + 1, kTagHexDigits);
  name.hash = key.substr(key.size() - kHashHexDigits);
  const std::size_t rule = close + 2;
  const std::size_t colon = key.size() - kHashHexDigits - 1;
  if (colon <= rule || key[colon] != ':' || !is_hex(name.tag) || !is_hex(name.hash)) return std::nullopt;
  name.rule = key.substr(rule, colon - rule);
  return name;
}

std::optional<StoredBucket> parse_stored_bucket(std::string_view value) {
  if (value.empty()) return std::nullopt;
  if (value[0] == 'S') return read_leases(value);
  if (value[0] == 'H') return read_held(value);
  if (value[0] == 'P') return read_penalty(value);
  if (value[0] == 'D') return read_distinct(value);
  return value[0] == 'R' ? read_record(value) : parse_plain_bucket(value);
}

}  // namespace weir::redis
