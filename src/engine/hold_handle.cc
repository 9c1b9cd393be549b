#include "engine/hold_handle.h"

#include <bit>
#include <cassert>
#include <optional>

#include "base/paged_id.h"

// The format, version 2:
//
//   handle  flags (1 byte: kVersionMark, the use, and those of HandleFlag), id (16, or the first 8 of a short one),
//           token, ttl (in milliseconds, doubled; or in microseconds, doubled and one more), expires as a signed number
//           that is counted from token + ttl, [tag of the record (8)], charges until the end
//   charge  flags (1: those of ChargeFlag), key (16), [tag (8)], length of the rule's id (1) and the id, cost, limit;
//           of a lease: window, 0 if it is the ttl;
//           of a bucket: algorithm, window, [burst, queue + 1 or buckets, by the algorithm], overdraft + 1 (0: the
//           default), [what it learns by (16)]
//
// Numbers below 0xf8 are one byte; others are 0xf7 + n and n bytes, the lowest first. A signed one is doubled, plus one
// if it is negative. Times are microseconds.
namespace weir::engine {
namespace {

constexpr std::uint8_t kVersionMark = 0x80;
enum HandleFlag : std::uint8_t {
  kUse = 3,
  kNamed = 4,
  kEstimated = 8,
  kHoldsQuota = 16,
  kHasRecordTag = 32,
  kShortId = 64
};
enum ChargeFlag : std::uint8_t {
  kIsLease = 1,
  kNotBinding = 2,
  kFollows = 4,
  kHasTag = 8,
  kLearns = 16,
  kChargesLapsed = 32,
};

constexpr std::uint8_t kLongNumber = 0xf8;
constexpr std::size_t kMaxRuleId = 64;
constexpr std::uint64_t kLatestTime = std::uint64_t{1} << 53;
constexpr std::size_t kMaxHeader = 1 + 16 + 8 + 4 * 9;
constexpr std::size_t kMaxCharge = 1 + 16 + 8 + 1 + kMaxRuleId + 7 * 9 + 16;
static_assert(kMaxHeader + kMaxHeldCharges * kMaxCharge + 8 <= kMaxEncodedHandle);

bool has_burst(Algorithm algorithm) { return algorithm == Algorithm::token_bucket || algorithm == Algorithm::gcra; }

// Into room that is large enough for all, with eight bytes more.
class HandleWriter {
 public:
  explicit HandleWriter(char* at) : at_(at) {}

  void byte(std::uint8_t value) { *at_++ = static_cast<char>(value); }
  void word(std::uint64_t value) {
    std::memcpy(at_, &value, 8);
    at_ += 8;
  }
  void key(const BucketKey& key) {
    word(key.high);
    word(key.low);
  }
  void number(std::uint64_t value) {
    if (value < kLongNumber) return byte(static_cast<std::uint8_t>(value));
    const int bytes = (71 - std::countl_zero(value)) / 8;
    byte(static_cast<std::uint8_t>(kLongNumber - 1 + bytes));
    std::memcpy(at_, &value, 8);
    at_ += bytes;
  }
  void number(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
  void signed_number(std::int64_t value) {
    number(static_cast<std::uint64_t>(value) << 1U ^ static_cast<std::uint64_t>(value >> 63));
  }
  void text(std::string_view text) {
    assert(text.size() <= kMaxRuleId);
    byte(static_cast<std::uint8_t>(text.size()));
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  const char* at() const { return at_; }

 private:
  char* at_;
};

// Beyond the end everything is zero, and done() tells.
class HandleReader {
 public:
  explicit HandleReader(std::string_view bytes) : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool more() const { return at_ < end_; }
  bool failed() const { return failed_; }
  std::uint8_t byte() { return has(1) ? static_cast<std::uint8_t>(*at_++) : std::uint8_t{0}; }
  std::uint64_t word() { return has(8) ? low_bytes(8) : 0; }
  BucketKey key() {
    BucketKey key;
    key.high = word();
    key.low = word();
    return key;
  }
  // At most `most`; larger ones fail, and are not computed with.
  std::uint64_t number(std::uint64_t most) {
    std::uint64_t value = byte();
    if (value >= kLongNumber) {
      const std::size_t bytes = value - (kLongNumber - 1);
      value = has(bytes) ? low_bytes(bytes) : 0;
    }
    if (value <= most) return value;
    failed_ = true;
    return 0;
  }
  std::int64_t units(std::int64_t most) { return static_cast<std::int64_t>(number(static_cast<std::uint64_t>(most))); }
  std::int64_t signed_number() {
    const std::uint64_t value = number(4 * kLatestTime);
    return static_cast<std::int64_t>(value >> 1U) ^ -static_cast<std::int64_t>(value & 1U);
  }
  std::string_view text(std::size_t most) {
    const std::size_t size = byte();
    if (size > most || !has(size)) {
      failed_ = true;
      return {};
    }
    at_ += size;
    return {at_ - size, size};
  }

 private:
  bool has(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) >= bytes) return true;
    failed_ = true;
    return false;
  }
  std::uint64_t low_bytes(std::size_t bytes) {
    std::uint64_t value = 0;
    if (end_ - at_ >= 8) {
      std::memcpy(&value, at_, 8);
      value &= ~std::uint64_t{0} >> (64 - 8 * bytes);
    } else {
      std::memcpy(&value, at_, bytes);
    }
    at_ += bytes;
    return value;
  }

  const char* at_;
  const char* end_;
  bool failed_ = false;
};

void write_bucket(HandleWriter& out, const HeldCharge& charge) {
  const Allowance& allowance = charge.allowance;
  out.byte(static_cast<std::uint8_t>(allowance.algorithm));
  out.number(allowance.window.count());
  if (has_burst(allowance.algorithm)) out.number(allowance.burst);
  if (allowance.algorithm == Algorithm::leaky_bucket) out.number(allowance.queue + 1);
  if (allowance.algorithm == Algorithm::bucketed_window) out.number(allowance.buckets);
  out.number(allowance.overdraft == allowance.largest_cost() ? 0 : allowance.overdraft + 1);
  if (charge.learned != BucketKey{}) out.key(charge.learned);
}

void write_charge(HandleWriter& out, const HeldCharge& charge, Duration ttl) {
  const bool is_lease = charge.kind == ChargeKind::lease;
  const bool tagged = charge.tag.high != charge.key.high;
  const bool learns = !is_lease && charge.learned != BucketKey{};
  out.byte(static_cast<std::uint8_t>((is_lease ? kIsLease : 0) | (charge.binding ? 0 : kNotBinding) |
                                     (charge.follows ? kFollows : 0) | (tagged ? kHasTag : 0) | (learns ? kLearns : 0) |
                                     (charge.allowance.charges_lapsed ? kChargesLapsed : 0)));
  out.key(charge.key);
  if (tagged) out.word(charge.tag.high);
  out.text(charge.rule);
  out.number(charge.cost);
  out.number(charge.allowance.limit);
  if (!is_lease) return write_bucket(out, charge);
  out.number(charge.allowance.window == ttl ? 0 : charge.allowance.window.count());
}

// The numbers of an allowance as its author gave them.
bool read_bucket(HandleReader& in, HeldCharge& charge, std::uint8_t flags) {
  AllowanceSpec spec;
  spec.limit = charge.allowance.limit;
  const std::uint8_t algorithm = in.byte();
  if (algorithm >= kAlgorithmCount) return false;
  spec.algorithm = static_cast<Algorithm>(algorithm);
  spec.window = Duration{in.units(kMaxWindow.count())};
  const bool open = spec.limit > 0;
  if (has_burst(spec.algorithm)) {
    const std::int64_t burst = in.units(kMaxUnits);
    if (open) spec.burst = burst;
  }
  if (spec.algorithm == Algorithm::leaky_bucket) {
    const std::int64_t queue = in.units(kMaxUnits + 1);
    if (open) spec.queue = queue - 1;
  }
  if (spec.algorithm == Algorithm::bucketed_window) spec.buckets = in.units(kMaxSubBuckets);
  const std::int64_t overdraft = in.units(kMaxUnits + 1);
  if ((flags & kLearns) != 0) charge.learned = in.key();
  if (in.failed()) return false;
  const Result<Allowance> made = make_allowance(spec);
  if (!made.ok()) return false;
  charge.allowance = made.value();
  if (overdraft > 0) charge.allowance.overdraft = overdraft - 1;
  charge.allowance.charges_lapsed = (flags & kChargesLapsed) != 0;
  return true;
}

bool read_lease(HandleReader& in, HeldCharge& charge, Duration ttl) {
  const Duration window{in.units(kMaxHoldTtl.count())};
  if (in.failed()) return false;
  AllowanceSpec spec;
  spec.limit = charge.allowance.limit;
  const Result<Allowance> made = make_concurrency(spec, window == Duration::zero() ? ttl : window);
  if (!made.ok()) return false;
  charge.allowance = made.value();
  return true;
}

bool read_charge(HandleReader& in, HeldCharge& charge, Duration ttl) {
  const std::uint8_t flags = in.byte();
  charge.kind = (flags & kIsLease) != 0 ? ChargeKind::lease : ChargeKind::bucket;
  charge.binding = (flags & kNotBinding) == 0;
  charge.follows = (flags & kFollows) != 0;
  charge.key = in.key();
  charge.tag = charge.key;
  if ((flags & kHasTag) != 0) charge.tag = {in.word(), 0};
  charge.rule = in.text(kMaxRuleId);
  charge.cost = in.units(kMaxUnits);
  charge.allowance.limit = in.units(kMaxUnits);
  return (flags & kIsLease) != 0 ? read_lease(in, charge, ttl) : read_bucket(in, charge, flags);
}

}  // namespace

[[gnu::hot]] std::string_view encode_handle(const HoldHandle& handle, char* room) {
  const bool is_short = base::is_paged(handle.id);
  const std::int64_t ttl_us = handle.ttl.count();
  assert(handle.charges.size() <= kMaxHeldCharges);
  HandleWriter out(room);
  out.byte(static_cast<std::uint8_t>(kVersionMark | static_cast<std::uint8_t>(handle.use) |
                                     (handle.named ? kNamed : 0) | (handle.estimated ? kEstimated : 0) |
                                     (handle.quota ? kHoldsQuota : 0) | (handle.record_tag != 0 ? kHasRecordTag : 0) |
                                     (is_short ? kShortId : 0)));
  out.word(handle.id.high);
  if (!is_short) out.word(handle.id.low);
  out.number(handle.token);
  out.number(ttl_us % 1'000 == 0 ? ttl_us / 1'000 * 2 : ttl_us * 2 + 1);
  out.signed_number(micros(handle.expires) - ttl_us - static_cast<std::int64_t>(handle.token));
  out.number(micros(handle.taken));
  if (handle.record_tag != 0) out.word(handle.record_tag);
  for (const HeldCharge& charge : handle.charges) write_charge(out, charge, handle.ttl);
  return {room, static_cast<std::size_t>(out.at() - room)};
}

bool decode_handle(std::string_view bytes, HoldHandle& handle) {
  HandleReader in(bytes);
  const std::uint8_t flags = in.byte();
  const std::uint8_t use = flags & kUse;
  if ((flags & kVersionMark) == 0 || use < 1 || use > 2) return false;
  handle.use = static_cast<HoldHandle::Use>(use);
  handle.named = (flags & kNamed) != 0;
  handle.estimated = (flags & kEstimated) != 0;
  handle.quota = (flags & kHoldsQuota) != 0;
  handle.id.high = in.word();
  handle.id.low = (flags & kShortId) != 0 ? base::low_half(handle.id.high) : in.word();
  handle.token = in.number(kLatestTime);
  const std::int64_t ttl = in.units(2 * kMaxHoldTtl.count() + 1);
  handle.ttl = Duration{ttl % 2 == 0 ? ttl / 2 * 1'000 : ttl / 2};
  const std::int64_t expires_us = in.signed_number() + handle.ttl.count() + static_cast<std::int64_t>(handle.token);
  handle.taken = from_micros(in.units(static_cast<std::int64_t>(kLatestTime)));
  if ((flags & kHasRecordTag) != 0) handle.record_tag = in.word();
  if (in.failed() || handle.ttl < kMinHoldTtl || handle.ttl > kMaxHoldTtl || expires_us < 0) return false;
  if (static_cast<std::uint64_t>(expires_us) > kLatestTime) return false;
  handle.expires = from_micros(expires_us);
  while (in.more()) {
    if (handle.charges.size() == kMaxHeldCharges || !read_charge(in, handle.charges.append(), handle.ttl)) return false;
  }
  return true;
}

}  // namespace weir::engine
