#include "stores/redis/answer.h"

#include <iterator>

namespace weir::redis {
namespace {

bool is_number(const ReplyItem& item, std::int64_t most) {
  return item.kind == ReplyKind::integer && item.number >= 0 && item.number <= most;
}

enum Verdict : std::int64_t {
  kDenied = 0,
  kAdmitted = 1,
  kTooLarge = 2,
  kNewcomer = 3,
  kCrowded = 4,
  kPenalized = 5,
  kChallenge = 6,
};

bool is_verdict(const ReplyItem& item, MayAnswer may) {
  if (!is_number(item, kChallenge)) return false;
  return (item.number != kNewcomer || may.newcomer) && (item.number != kCrowded || may.crowded);
}

}  // namespace

bool read_outcome(Reply numbers, const Allowance& allowance, ChargeOutcome& outcome, MayAnswer may) {
  if (!is_verdict(numbers[0], may) || !is_number(numbers[1], allowance.largest_cost())) return false;
  for (const ReplyItem& wait : numbers.subspan(2)) {
    if (!is_number(wait, kMostMicros)) return false;
  }
  outcome = ChargeOutcome{};
  if (numbers[0].number == kNewcomer) outcome.status = Code::out_of_range;
  outcome.admitted = numbers[0].number == kAdmitted;
  outcome.too_large = numbers[0].number == kTooLarge;
  outcome.crowded = numbers[0].number == kCrowded;
  outcome.penalized = numbers[0].number >= kPenalized;
  outcome.challenge = numbers[0].number == kChallenge;
  outcome.remaining = numbers[1].number;
  outcome.retry_after = Duration{numbers[2].number};
  outcome.reset_after = Duration{numbers[3].number};
  outcome.delay = Duration{numbers[4].number};
  return true;
}

bool read_draw(Reply numbers, const Allowance& allowance, DrawStep& draw) {
  if (!is_number(numbers[0], allowance.largest_cost()) || !is_number(numbers[1], kMaxWindow.count()) ||
      !is_number(numbers[2], kMostMicros) || !is_number(numbers[3], 1)) {
    return false;
  }
  draw.existed = numbers[3].number == 1;
  draw.granted = numbers[0].number;
  draw.lasts = Duration{numbers[1].number};
  draw.at = from_micros(numbers[2].number);
  return true;
}

bool read_standing(Reply numbers, const Allowance& allowance, Standing& standing) {
  if (!is_number(numbers[0], allowance.largest_cost()) || !is_number(numbers[1], kMostMicros) ||
      !is_number(numbers[2], kMostMicros)) {
    return false;
  }
  standing = {numbers[0].number, numbers[1].number, numbers[2].number};
  return true;
}

bool read_hold(Reply numbers, HoldAnswer& answer) {
  if (!is_number(numbers[0], static_cast<std::int64_t>(HoldState::other))) return false;
  for (const ReplyItem& each : numbers.subspan(1, kHoldAnswer - 1)) {
    if (!is_number(each, kMostMicros)) return false;
  }
  answer.state = static_cast<HoldState>(numbers[0].number);
  answer.token = static_cast<std::uint64_t>(numbers[1].number);
  answer.expires_us = numbers[2].number;
  answer.at_us = numbers[3].number;
  if (numbers.size() == kHoldAnswer) return true;
  if (!is_number(numbers[4], static_cast<std::int64_t>(ReservationState::expired))) return false;
  answer.reserved = static_cast<ReservationState>(numbers[4].number);
  std::int64_t* const units[] = {&answer.granted, &answer.actual, &answer.returned, &answer.debt, &answer.uncharged};
  for (std::size_t i = 0; i < std::size(units); ++i) {
    const ReplyItem& item = numbers[kHoldAnswer + 1 + i];
    if (!is_number(item, kMaxUnits)) return false;
    *units[i] = item.number;
  }
  return true;
}

bool read_listed(Reply items, std::size_t buckets, bool reserved, ListedHold& listed) {
  if (!is_number(items[0], static_cast<std::int64_t>(buckets) - 1) || items[1].kind != ReplyKind::text ||
      items[1].text.size() != 16 || !is_number(items[2], kMaxUnits) || !is_number(items[3], kMostMicros) ||
      !is_number(items[4], kMostMicros)) {
    return false;
  }
  listed = {};
  listed.charge = static_cast<std::uint32_t>(items[0].number);
  for (std::size_t i = 0; i < 16; ++i) {
    std::uint64_t& half = i < 8 ? listed.id.high : listed.id.low;
    half = half << 8 | static_cast<unsigned char>(items[1].text[i]);
  }
  listed.units = items[2].number;
  if (reserved) {
    listed.reserved = from_micros(items[3].number);
  } else {
    listed.token = static_cast<std::uint64_t>(items[3].number);
  }
  listed.expires = from_micros(items[4].number);
  return true;
}

}  // namespace weir::redis
