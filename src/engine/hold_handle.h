// HoldHandle: what the sealed handle (keys/sealer.h) of a lease or a reservation says: its id, and every bucket that it
// has a part in, so that any node can renew or end it without looking anything up.
//
// Encoded in as few bytes as possible, because every byte is sealed, sent and opened again: the format is in
// hold_handle.cc. Decoding checks everything, also what a seal has authenticated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "weir/allowance.h"
#include "weir/bucket_key.h"
#include "weir/hold.h"
#include "weir/inline_vector.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::engine {

struct HeldCharge {
  static constexpr std::uint32_t kNotNamed = ~std::uint32_t{0};

  BucketKey key;
  BucketKey tag;                      // only its high half is kept
  std::string_view rule;              // decoded: refers to the bytes until it is named
  std::uint32_t ordinal = kNotNamed;  // of the rule, whose id then is the one that all share (rules/rule_names.h)
  std::int64_t cost = 1;
  Allowance allowance;
  ChargeKind kind = ChargeKind::bucket;
  bool binding = true;
  bool follows = false;  // a reservation's: the cost is its amount
  BucketKey learned;     // what its rule learns by (estimates.h); zero: nothing
};

// All of a handle but its charges.
struct HoldTerms {
  enum class Use : std::uint8_t { lease = 1, reservation = 2 };
  Use use = Use::lease;
  BucketKey id;
  bool named = false;
  bool estimated = false;   // nothing was asked for: a rule has estimated what to reserve
  bool quota = false;       // of a reservation: the ledger holds a part of it, and decides whether it is open
  std::uint64_t token = 0;  // 0: given without the store
  Duration ttl{0};
  TimePoint expires;
  TimePoint taken{};             // by the store's clock; epoch: not known
  std::uint64_t record_tag = 0;  // of a reservation: the high half of its record's tag; 0: that of its first charge
};

struct HoldHandle : HoldTerms {
  InlineVector<HeldCharge, 4> charges;  // at most kMaxHeldCharges
};

// The bytes that an opened handle's texts refer to. Those of few rules need no heap. Does not move.
class HandleBytes {
 public:
  HandleBytes() {}  // NOLINT(modernize-use-equals-default): the room is not cleared
  HandleBytes(const HandleBytes&) = delete;
  HandleBytes& operator=(const HandleBytes&) = delete;

  std::string_view keep(std::string_view bytes) {
    if (bytes.size() > sizeof(few_)) return many_ = bytes;
    std::memcpy(few_, bytes.data(), bytes.size());
    return {few_, bytes.size()};
  }

 private:
  char few_[256];
  std::string many_;
};

// The most bytes that one is encoded in.
inline constexpr std::size_t kMaxEncodedHandle = 3'200;
// Into `room`, which has kMaxEncodedHandle bytes: those of it that were written.
std::string_view encode_handle(const HoldHandle& handle, char* room);
// Into a new `handle`. False: not what encode_handle() writes.
[[nodiscard]] bool decode_handle(std::string_view bytes, HoldHandle& handle);

}  // namespace weir::engine
