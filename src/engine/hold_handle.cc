#include "engine/hold_handle.h"

#include <cstring>

#include "base/protobuf_wire.h"
#include "weir/hold.h"

namespace weir::engine {
namespace {

using base::bytes_field;
using base::varint_field;

enum Field : std::uint32_t {
  kUse = 1,
  kId = 2,
  kToken = 3,
  kTtl = 4,
  kExpires = 5,
  kNamed = 6,
  kCharge = 7,
  kEstimated = 8,
  kRecordTag = 9,
  kHoldsQuota = 10,
  kTaken = 11,
};
enum ChargeField : std::uint32_t {
  kKey = 1,
  kTag = 2,
  kRule = 3,
  kCost = 4,
  kKind = 5,
  kNotBinding = 6,
  kAlgorithm = 7,
  kLimit = 8,
  kWindow = 9,
  kBurst = 10,  // with those below: only where the algorithm has it
  kQueue = 11,  // plus one: -1 is a queue without a place
  kBuckets = 12,
  kFollows = 13,
  kOverdraft = 14,  // plus one: 0 is none
  kChargesLapsed = 15,
  kLearned = 16,  // these four: of a reservation
};

constexpr std::size_t kMaxRuleId = 64;
constexpr std::uint64_t kLatestTime = std::uint64_t{1} << 53;

std::string_view view_of(const BucketKey& key) { return {reinterpret_cast<const char*>(&key), sizeof(key)}; }

bool read_key(std::string_view bytes, BucketKey& key) {
  if (bytes.size() != sizeof(key)) return false;
  std::memcpy(&key, bytes.data(), sizeof(key));
  return true;
}

// Into `number`, if it is at most `most`.
template <typename T>
bool read_number(std::uint64_t value, std::uint64_t most, T& number) {
  if (value > most) return false;
  number = static_cast<T>(value);
  return true;
}

void write_charge(base::WireWriter& out, const HeldCharge& charge) {
  const std::size_t begun = out.begin(kCharge);
  out.put_bytes(kKey, view_of(charge.key));
  if (charge.tag.high != charge.key.high) {
    out.put_bytes(kTag, {reinterpret_cast<const char*>(&charge.tag.high), sizeof(charge.tag.high)});
  }
  out.text(kRule, charge.rule);
  out.number(kCost, static_cast<std::uint64_t>(charge.cost));
  out.number(kKind, static_cast<std::uint64_t>(charge.kind));
  out.boolean(kNotBinding, !charge.binding);
  const Allowance& allowance = charge.allowance;
  out.number(kLimit, static_cast<std::uint64_t>(allowance.limit));
  out.number(kWindow, static_cast<std::uint64_t>(allowance.window.count()));
  if (charge.kind == ChargeKind::bucket) {
    out.number(kAlgorithm, static_cast<std::uint64_t>(allowance.algorithm));
    out.number(kBurst, static_cast<std::uint64_t>(allowance.burst));
    out.number(kQueue, static_cast<std::uint64_t>(allowance.queue + 1));
    out.number(kBuckets, static_cast<std::uint64_t>(allowance.buckets));
    out.boolean(kFollows, charge.follows);
    out.number(kOverdraft, static_cast<std::uint64_t>(allowance.overdraft + 1));
    out.boolean(kChargesLapsed, allowance.charges_lapsed);
    if (charge.learned != BucketKey{}) out.put_bytes(kLearned, view_of(charge.learned));
  }
  out.end(begun);
}

// The numbers of an allowance as its author gave them.
std::optional<Allowance> remake(ChargeKind kind, const Allowance& read) {
  AllowanceSpec spec;
  spec.limit = read.limit;
  if (kind == ChargeKind::lease) {
    const Result<Allowance> made = make_concurrency(spec, read.window);
    return made.ok() ? std::optional(made.value()) : std::nullopt;
  }
  spec.algorithm = read.algorithm;
  spec.window = read.window;
  const bool open = read.limit > 0;
  if (open && (read.algorithm == Algorithm::token_bucket || read.algorithm == Algorithm::gcra)) spec.burst = read.burst;
  if (open && read.algorithm == Algorithm::leaky_bucket) spec.queue = read.queue;
  if (read.algorithm == Algorithm::bucketed_window) spec.buckets = read.buckets;
  const Result<Allowance> made = make_allowance(spec);
  if (!made.ok()) return std::nullopt;
  Allowance allowance = made.value();
  if (read.overdraft > 0) allowance.overdraft = read.overdraft - 1;
  allowance.charges_lapsed = read.charges_lapsed;
  return allowance;
}

bool read_charge_field(const base::WireReader& in, HeldCharge& charge, bool& tagged) {
  Allowance& allowance = charge.allowance;
  std::int64_t window_us = 0;
  switch (in.tag()) {
    case bytes_field(kKey):
      return read_key(in.bytes(), charge.key);
    case bytes_field(kTag):
      tagged = true;
      if (in.bytes().size() != sizeof(charge.tag.high)) return false;
      std::memcpy(&charge.tag.high, in.bytes().data(), sizeof(charge.tag.high));
      return true;
    case bytes_field(kRule):
      charge.rule = in.bytes();
      return charge.rule.size() <= kMaxRuleId;
    case varint_field(kCost):
      return read_number(in.number(), kMaxUnits, charge.cost);
    case varint_field(kKind):
      return read_number(in.number(), static_cast<std::uint64_t>(ChargeKind::lease), charge.kind);
    case varint_field(kNotBinding):
      charge.binding = in.number() == 0;
      return true;
    case varint_field(kAlgorithm):
      return read_number(in.number(), kAlgorithmCount - 1, allowance.algorithm);
    case varint_field(kLimit):
      return read_number(in.number(), kMaxUnits, allowance.limit);
    case varint_field(kWindow):
      if (!read_number(in.number(), static_cast<std::uint64_t>(kMaxWindow.count()), window_us)) return false;
      allowance.window = Duration{window_us};
      return true;
    case varint_field(kBurst):
      return read_number(in.number(), kMaxUnits, allowance.burst);
    case varint_field(kQueue):
      if (!read_number(in.number(), kMaxUnits + 1, allowance.queue)) return false;
      --allowance.queue;
      return true;
    case varint_field(kBuckets):
      return read_number(in.number(), kMaxSubBuckets, allowance.buckets);
    case varint_field(kFollows):
      charge.follows = in.number() != 0;
      return true;
    case varint_field(kOverdraft):
      return read_number(in.number(), kMaxUnits + 1, allowance.overdraft);
    case bytes_field(kLearned):
      return read_key(in.bytes(), charge.learned);
    case varint_field(kChargesLapsed):
      allowance.charges_lapsed = in.number() != 0;
      return true;
    default:
      return true;  // of a later version
  }
}

bool read_charge(std::string_view bytes, HeldCharge& charge) {
  base::WireReader in(bytes);
  bool tagged = false;
  charge.cost = 0;
  charge.allowance.algorithm = Algorithm::fixed_window;  // number 0, which is not written
  while (in.next()) {
    if (!read_charge_field(in, charge, tagged)) return false;
  }
  if (in.failed()) return false;
  if (!tagged) charge.tag = charge.key;
  const std::optional<Allowance> allowance = remake(charge.kind, charge.allowance);
  if (allowance) charge.allowance = *allowance;
  return allowance.has_value();
}

bool read_field(const base::WireReader& in, HoldHandle& handle) {
  std::int64_t micros_read = 0;
  switch (in.tag()) {
    case varint_field(kUse):
      return in.number() >= 1 && read_number(in.number(), 2, handle.use);
    case bytes_field(kId):
      return read_key(in.bytes(), handle.id);
    case varint_field(kToken):
      return read_number(in.number(), kLatestTime, handle.token);
    case varint_field(kTtl):
      if (!read_number(in.number(), static_cast<std::uint64_t>(kMaxHoldTtl.count()), micros_read)) return false;
      handle.ttl = Duration{micros_read};
      return true;
    case varint_field(kExpires):
      if (!read_number(in.number(), kLatestTime, micros_read)) return false;
      handle.expires = from_micros(micros_read);
      return true;
    case varint_field(kNamed):
      handle.named = in.number() != 0;
      return true;
    case varint_field(kTaken):
      if (!read_number(in.number(), kLatestTime, micros_read)) return false;
      handle.taken = from_micros(micros_read);
      return true;
    case varint_field(kHoldsQuota):
      handle.quota = in.number() != 0;
      return true;
    case varint_field(kEstimated):
      handle.estimated = in.number() != 0;
      return true;
    case bytes_field(kRecordTag):
      if (in.bytes().size() != sizeof(handle.record_tag)) return false;
      std::memcpy(&handle.record_tag, in.bytes().data(), sizeof(handle.record_tag));
      return true;
    case bytes_field(kCharge):
      return handle.charges.size() < kMaxHeldCharges && read_charge(in.bytes(), handle.charges.append());
    default:
      return true;  // of a later version
  }
}

}  // namespace

std::string encode_handle(const HoldHandle& handle) {
  std::string bytes;
  bytes.reserve(64 + handle.charges.size() * 64);
  base::WireWriter out(bytes);
  out.number(kUse, static_cast<std::uint64_t>(handle.use));
  out.put_bytes(kId, view_of(handle.id));
  out.number(kToken, handle.token);
  out.number(kTtl, static_cast<std::uint64_t>(handle.ttl.count()));
  out.number(kExpires, static_cast<std::uint64_t>(micros(handle.expires)));
  out.boolean(kNamed, handle.named);
  out.boolean(kEstimated, handle.estimated);
  if (handle.record_tag != 0) {
    out.put_bytes(kRecordTag, {reinterpret_cast<const char*>(&handle.record_tag), sizeof(handle.record_tag)});
  }
  out.boolean(kHoldsQuota, handle.quota);
  if (handle.taken != TimePoint{}) out.number(kTaken, static_cast<std::uint64_t>(micros(handle.taken)));
  for (const HeldCharge& charge : handle.charges) write_charge(out, charge);
  return bytes;
}

std::optional<HoldHandle> decode_handle(std::string_view bytes) {
  HoldHandle handle;
  bool used = false;
  base::WireReader in(bytes);
  while (in.next()) {
    if (!read_field(in, handle)) return std::nullopt;
    used = used || in.tag() == varint_field(kUse);
  }
  if (in.failed() || !used || handle.ttl < kMinHoldTtl) return std::nullopt;
  return handle;
}

}  // namespace weir::engine
