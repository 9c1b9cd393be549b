#include "frontends/resp/throttle.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "base/attributes.h"

namespace weir::resp {
namespace {

constexpr std::string_view kSpace = "cl.throttle";
constexpr std::string_view kUsage = "; usage: CL.THROTTLE key max_burst count period [quantity]";
constexpr std::string_view kArguments[] = {"key", "max_burst", "count", "period"};
constexpr std::size_t kMostWords = 6;
constexpr std::int64_t kMaxPeriodSeconds = kMaxWindow / std::chrono::seconds(1);
constexpr std::size_t kMaxQuotedNumber = 40;

Failure wrong_count(std::size_t words) {
  std::string message = "wrong number of arguments for 'cl.throttle' command: ";
  if (words < kMostWords) {
    message.append(kArguments[words - 1]).append(" is missing");
  } else {
    message += "unexpected argument after quantity";
  }
  return {Code::invalid_argument, message.append(kUsage)};
}

// A negative quantity gives back, as with redis-cell: its users undo one key's charge when another key denies.
Action action_of(std::int64_t quantity) {
  if (quantity == 0) return Action::peek;
  return quantity > 0 ? Action::take : Action::refund;
}

// redis-cell's rounding, kept because callers compare with it.
std::int64_t seconds_of(Duration duration) {
  constexpr std::int64_t kSecond = 1'000'000;
  constexpr std::int64_t kMillisecond = 1'000;
  return duration.count() / kSecond + (duration.count() % kSecond >= kMillisecond ? 1 : 0);
}

// The allowance speaks of its own fields; the caller knows them by the command's names.
Failure in_caller_words(const Failure& failure) {
  const std::size_t colon = failure.message.find(':');
  const std::string_view field = std::string_view(failure.message).substr(0, colon);
  const std::string_view rest = std::string_view(failure.message).substr(colon);
  if (field == "burst") return {failure.code, std::string("max_burst: with one more unit").append(rest)};
  if (field == "limit") return {failure.code, std::string("count").append(rest)};
  return {failure.code, std::string("period").append(rest)};
}

}  // namespace

Result<std::int64_t> read_integer(std::string_view name, std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= least && value <= most) return value;
  std::string message(name);
  message.append(": is '").append(text.substr(0, kMaxQuotedNumber)).append("', expected an integer from ");
  return Failure{Code::invalid_argument, message + std::to_string(least) + " to " + std::to_string(most)};
}

Result<AdHocCharge> Throttle::read(std::span<const std::string_view> words) {
  if (words.size() < kMostWords - 1 || words.size() > kMostWords) return wrong_count(words.size());
  key_ = words[1];
  if (const std::string_view wrong = base::attribute_value_fault(key_); !wrong.empty()) {
    return Failure{Code::invalid_argument, "key: " + std::string(wrong)};
  }
  const Terms terms(words.subspan<2, 3>());
  if (!settled(terms)) {
    if (Status status = settle(terms); !status.ok()) return status.failure();
  }
  std::int64_t quantity = 1;
  if (words.size() == kMostWords) {
    const Result<std::int64_t> given = read_integer("quantity", words[5], -kMaxUnits, kMaxUnits);
    if (!given.ok()) return given.failure();
    quantity = given.value();
  }
  return AdHocCharge{.space = kSpace,
                     .subject = {&key_, 1},
                     .allowance = &allowance_,
                     .cost = {std::abs(quantity)},
                     .action = action_of(quantity)};
}

bool Throttle::settled(Terms terms) const {
  return !terms_[0].empty() && std::equal(terms.begin(), terms.end(), terms_.begin());
}

Status Throttle::settle(Terms terms) {
  const Result<std::int64_t> max_burst = read_integer("max_burst", terms[0], 0, kMaxUnits - 1);
  if (!max_burst.ok()) return max_burst.failure();
  const Result<std::int64_t> count = read_integer("count", terms[1], 1, kMaxUnits);
  if (!count.ok()) return count.failure();
  const Result<std::int64_t> period = read_integer("period", terms[2], 1, kMaxPeriodSeconds);
  if (!period.ok()) return period.failure();
  AllowanceSpec spec;
  spec.algorithm = Algorithm::gcra;
  spec.limit = count.value();
  spec.window = std::chrono::seconds(period.value());
  spec.burst = max_burst.value() + 1;
  const Result<Allowance> made = make_allowance(spec);
  if (!made.ok()) return in_caller_words(made.failure());
  allowance_ = made.value();
  std::copy(terms.begin(), terms.end(), terms_.begin());
  return success();
}

void Throttle::write(ReplyWriter& reply, std::int64_t limit, const ChargeOutcome& outcome) {
  if (outcome.status == Code::resource_exhausted) {
    return reply.error("UNAVAILABLE the store has no room for this bucket");
  }
  if (outcome.status != Code::ok) return reply.error("UNAVAILABLE the store did not answer");
  std::int64_t retry_s = -1;
  if (!outcome.admitted && !outcome.too_large) retry_s = std::max<std::int64_t>(1, seconds_of(outcome.retry_after));
  reply.integers({outcome.admitted ? 0 : 1, limit, outcome.remaining, retry_s, seconds_of(outcome.reset_after)});
}

}  // namespace weir::resp
