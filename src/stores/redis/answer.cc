#include "stores/redis/answer.h"

namespace weir::redis {
namespace {

bool is_number(const ReplyItem& item, std::int64_t most) {
  return item.kind == ReplyKind::integer && item.number >= 0 && item.number <= most;
}

enum Verdict : std::int64_t { kDenied = 0, kAdmitted = 1, kTooLarge = 2 };

}  // namespace

bool read_outcome(Reply numbers, const Allowance& allowance, ChargeOutcome& outcome) {
  if (!is_number(numbers[0], kTooLarge) || !is_number(numbers[1], allowance.largest_cost())) return false;
  for (const ReplyItem& wait : numbers.subspan(2)) {
    if (!is_number(wait, kMostMicros)) return false;
  }
  outcome = ChargeOutcome{};
  outcome.admitted = numbers[0].number == kAdmitted;
  outcome.too_large = numbers[0].number == kTooLarge;
  outcome.remaining = numbers[1].number;
  outcome.retry_after = Duration{numbers[2].number};
  outcome.reset_after = Duration{numbers[3].number};
  outcome.delay = Duration{numbers[4].number};
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

}  // namespace weir::redis
