// HoldHandle: what the sealed handle (keys/sealer.h) of a lease or a reservation says: its id, and every bucket that it
// has a part in, so that any node can renew or end it without looking anything up.
//
// Encoded as a protobuf message (base/protobuf_wire.h), so that later versions can add fields. The numbers of the
// fields are in hold_handle.cc. Decoding checks everything, also what a seal has authenticated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/allowance.h"
#include "weir/bucket_key.h"
#include "weir/inline_vector.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir::engine {

struct HeldCharge {
  BucketKey key;
  BucketKey tag;          // only its high half is kept
  std::string_view rule;  // decoded: refers to the bytes
  std::int64_t cost = 1;
  Allowance allowance;
  ChargeKind kind = ChargeKind::bucket;
  bool binding = true;
  bool follows = false;  // a reservation's: the cost is its amount
  BucketKey learned;     // what its rule learns by (estimates.h); zero: nothing
};

struct HoldHandle {
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
  InlineVector<HeldCharge, 4> charges;  // at most kMaxHeldCharges
};

std::string encode_handle(const HoldHandle& handle);
// None: not what encode_handle() of this version or a later one writes.
std::optional<HoldHandle> decode_handle(std::string_view bytes);

}  // namespace weir::engine
