// HoldStep: the part of a StoreCall (store.h) that is about a lease or a reservation. The store takes, renews and ends
// holds in the same atomic step as the call's charges.
//
// A lease is an entry in each lease charge's bucket: so many units until a time. A hold has one id in all its buckets.
//
// A reservation is such an entry in each of its buckets, and a record: a charge of kind `record`, the last of the call,
// whose key is the reservation's id. The record decides whether the reservation is open, and remembers for one ttl
// after its end how it was closed. It is in the cluster slot of the call's first charge.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/bucket_key.h"
#include "weir/hold.h"
#include "weir/time.h"

namespace weir {

// What a call found or made of a hold.
enum class HoldState : std::uint8_t {
  none,   // no such hold, or the call was denied
  taken,  // by this call
  live,   // it was there: taken before, and renewed by this call if that was asked for
  gone,   // released, lapsed, or lost with no room to take it again
  ended,  // by this call
  other,  // the id has a lease of another cost, or a reservation of another amount; nothing changed
};

struct ListedHold {
  std::uint32_t charge = 0;  // index of the call's charge whose bucket has it
  BucketKey id;
  std::int64_t units = 0;
  std::uint64_t token = 0;
  TimePoint expires;
  TimePoint reserved{};  // of a reservation
};

struct HoldStep {
  // Asked.
  BucketKey id;     // random, or a keyed hash of the id that a client made
  Duration ttl{0};  // take, renew: lives until now + ttl; also how long an id made by a client is known after its end
  bool named = false;  // a client made the id: it is not taken again for one ttl after its end, and a peek finds it
  TimePoint
      expires{};  // renew: the last expiry that the caller knows. A hold that the store lost is taken again before
  std::uint64_t token = 0;                    // renew: the hold's own; take: the next one is larger
  std::vector<ListedHold>* listed = nullptr;  // list: where to; null: what is known of the reservation `id`

  // Asked of a reservation.
  bool reservation = false;
  bool partial = false;                                    // take, renew: as much of `amount` as fits, at least 1
  std::int64_t amount = 0;                                 // take, renew: the cost of every charge that follows it
  ReservationState closing = ReservationState::committed;  // settle: that, or released
  std::int64_t actual = 0;  // settle, committed: the real cost. take: 1 + the amount to compare with; 0: any

  // Answered. `expires` and `token` as well.
  HoldState state = HoldState::none;
  TimePoint at{};  // the moment of the call by the store's clock, which `expires` is counted by

  // Answered about a reservation. `state` is `gone` if it was closed before this call, `actual` is what it was closed
  // with, and the last three are the most of any bucket.
  ReservationState reserved = ReservationState::open;
  std::int64_t granted = 0;    // units that each charge that follows holds, or held when it was closed
  std::int64_t returned = 0;   // units given back
  std::int64_t debt = 0;       // units charged beyond what was held
  std::int64_t uncharged = 0;  // units beyond the overdraft
};

}  // namespace weir
