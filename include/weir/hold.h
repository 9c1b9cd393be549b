// Hold: what leases (leases.h) and reservations (reservations.h) have in common: units that a caller holds for a while
// and gives back, what can be wrong with such a call, and how it is answered now or later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir {

// How long a hold may live without being renewed or extended.
inline constexpr Duration kMinHoldTtl = std::chrono::milliseconds(10);
inline constexpr Duration kMaxHoldTtl = std::chrono::hours(24);
// Of an id made by a client, in bytes.
inline constexpr std::size_t kMaxHoldId = 256;
// Of an Idempotency-Key, in bytes.
inline constexpr std::size_t kMaxIdempotencyKey = 256;
// Of a sealed handle, in characters: it must fit in a path.
inline constexpr std::size_t kMaxHandle = 6'000;
// The most rules that one hold may have a part in.
inline constexpr std::size_t kMaxHeldCharges = 16;
// The most holds that a list has. A longer one is cut, and says so.
inline constexpr std::size_t kMaxListed = 1'000;

// Open reservations that one bucket holds; beyond them a reservation is denied with Reason::too_many_reservations.
// Units that are added to one later count as one more.
inline constexpr std::size_t kMaxHoldsPerBucket = 1'000;

enum class ReservationState : std::uint8_t { open, committed, released, expired };
// Such as "committed".
std::string_view reservation_state_name(ReservationState state);

// Why a call has no effect. A denial is not a fault: the call then has a Decision that is not allowed.
enum class HoldFault : std::uint8_t {
  none,
  invalid,      // 400: the message says what is wrong and what is expected
  forged,       // 404: not a handle that this service has sealed
  gone,         // 410: released, lapsed or lost; the message says what to do
  closed,       // 409: the reservation was closed by another call, which the answer's state tells
  running,      // 409: the first call with this Idempotency-Key is still running
  other_body,   // 422: this id, or this Idempotency-Key, was used for another question
  full,         // 503: there is no room for another Idempotency-Key
  unavailable,  // 503: the store did not answer, and whether anything has changed is not known
};
inline constexpr int kHoldFaultCount = 9;
// Such as "gone".
std::string_view hold_fault_name(HoldFault fault);

// One question and its answer, as CheckCall (call.h) is for checks: a limiter that can answer at once writes `answer`
// and returns true from its begin; else it calls defer() during it, returns false, and completes later.
template <typename Question, typename Answer>
class HoldCall {
 public:
  Question question;  // what it refers to is alive until the limiter's begin returns
  Answer answer;      // a new one, as its constructor leaves it

  // Returns the call that takes this one's place.
  virtual HoldCall& defer() = 0;
  // The answer is there. Only after defer(); the call may be gone afterwards.
  virtual void complete() = 0;

 protected:
  HoldCall() = default;
  HoldCall(const HoldCall&) = default;
  HoldCall& operator=(const HoldCall&) = default;
  ~HoldCall() = default;
};

}  // namespace weir
