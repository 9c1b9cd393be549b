// ReservationRecord: what is known of one reservation, in the three head words of a slot of its own. It decides who
// closes the reservation, and tells later closers how it was closed.
//
// Low bits first. Open: {state (2 bits), granted (40), ttl bits 0–21}, {expires (53), ttl bits 22–32}, {token (53), ttl
// bits 33–42, as_asked (1)}. Closed: {state, granted, actual bits 0–21}, {returned or debt (40), actual bits 22–39},
// {uncharged (40), whether it is the debt}. A settlement either returns units or charges some; if a bucket was lost in
// between, others may have done the opposite, and what was returned is remembered.
//
// Pure. Any words are safe to read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithms/arithmetic.h"
#include "algorithms/bucket.h"
#include "weir/hold.h"

namespace weir::algorithms {

struct ReservationRecord {
  ReservationState state = ReservationState::open;
  std::int64_t granted = 0;
  // While it is open.
  std::int64_t expires_us = 0;
  std::uint64_t token = 0;
  std::int64_t ttl_us = 0;
  bool as_asked = false;  // `granted` is the amount that its id was made with: one that asks for another is refused
  // When it was closed.
  std::int64_t actual = 0;
  std::int64_t returned = 0;
  std::int64_t debt = 0;
  std::int64_t uncharged = 0;

  static constexpr std::uint64_t low(std::uint64_t word, unsigned bits) {
    return word & ((std::uint64_t{1} << bits) - 1);
  }

  static ReservationRecord read(ConstHead head) {
    const auto a = static_cast<std::uint64_t>(head[0]);
    const auto b = static_cast<std::uint64_t>(head[1]);
    const auto c = static_cast<std::uint64_t>(head[2]);
    const auto units = [](std::uint64_t word) { return bounded(static_cast<std::int64_t>(low(word, 40)), kMaxUnits); };
    ReservationRecord record;
    record.state = static_cast<ReservationState>(low(a, 2));
    record.granted = units(a >> 2U);
    if (record.state == ReservationState::open) {
      record.expires_us = static_cast<std::int64_t>(low(b, 53));
      record.token = low(c, 53);
      record.ttl_us = bounded(static_cast<std::int64_t>(a >> 42U | (b >> 53U) << 22U | low(c >> 53U, 10) << 33U),
                              kMaxHoldTtl.count());
      record.as_asked = c >> 63U != 0;
      return record;
    }
    record.actual = units(a >> 42U | low(b >> 40U, 18) << 22U);
    (low(c >> 40U, 1) != 0 ? record.debt : record.returned) = units(b);
    record.uncharged = units(c);
    return record;
  }

  void write(Head head) const {
    const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const std::uint64_t first = word(static_cast<std::int64_t>(state)) | word(granted) << 2U;
    if (state == ReservationState::open) {
      const std::uint64_t expires = low(word(expires_us), 53);
      head[0] = static_cast<std::int64_t>(first | word(ttl_us) << 42U);
      head[1] = static_cast<std::int64_t>(expires | low(word(ttl_us) >> 22U, 11) << 53U);
      head[2] = static_cast<std::int64_t>(low(token, 53) | low(word(ttl_us) >> 33U, 10) << 53U |
                                          word(as_asked ? 1 : 0) << 63U);
      return;
    }
    const bool is_debt = returned == 0 && debt > 0;
    head[0] = static_cast<std::int64_t>(first | word(actual) << 42U);
    head[1] = static_cast<std::int64_t>(word(is_debt ? debt : returned) | low(word(actual) >> 22U, 18) << 40U);
    head[2] = static_cast<std::int64_t>(word(uncharged) | word(is_debt ? 1 : 0) << 40U);
  }
};

}  // namespace weir::algorithms
