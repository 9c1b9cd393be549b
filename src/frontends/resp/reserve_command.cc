#include "frontends/resp/reserve_command.h"

#include <string>

#include "frontends/resp/command_table.h"
#include "frontends/resp/throttle.h"

namespace weir::resp {
namespace {

constexpr std::size_t kReservationFields = 10;

std::string_view reservation_error(HoldFault fault) {
  switch (fault) {
    case HoldFault::forged:
      return "NOTFOUND ";
    case HoldFault::gone:
      return "GONE ";
    case HoldFault::closed:
      return "CLOSED ";
    case HoldFault::unavailable:
    case HoldFault::full:
      return "UNAVAILABLE ";
    default:
      return "ERR ";
  }
}

void put_text_or_null(ReplyWriter& reply, std::string_view name, std::string_view text) {
  reply.bulk(name);
  text.empty() ? reply.null() : reply.bulk(text);
}

void put_units_or_null(ReplyWriter& reply, std::string_view name, bool known, std::int64_t value) {
  reply.bulk(name);
  known ? reply.integer(value) : reply.null();
}

}  // namespace

Result<ReservationQuestion> ReserveCommand::read(Verb verb, std::span<const std::string_view> words) {
  if (verb == Verb::reserve) return read_reserve(words);
  ReservationQuestion question;
  question.verb = verb;
  question.handle = words[1];
  if (verb == Verb::release) return question;
  const Result<std::int64_t> actual = read_integer("actual", words[2], 0, kMaxUnits);
  if (!actual.ok()) return actual.failure();
  question.actual = actual.value();
  return question;
}

Result<ReservationQuestion> ReserveCommand::read_reserve(std::span<const std::string_view> words) {
  ReservationQuestion question;
  if (!is_word(words[1], "auto")) {
    const Result<std::int64_t> amount = read_integer("amount", words[1], 0, kMaxUnits);
    if (!amount.ok()) return amount.failure();
    question.amount = amount.value();
  }
  words_.assign(words.begin(), words.begin() + 1);
  std::size_t at = 2;
  for (bool is_option = true; is_option && at + 1 < words.size();) {
    if (is_word(words[at], "partial") && !question.partial) {
      question.partial = true;
      at += 1;
    } else if (is_word(words[at], "dryrun") && !question.dry_run) {
      question.dry_run = true;
      at += 1;
    } else if (is_word(words[at], "id") && question.id.empty()) {
      question.id = words[at + 1];
      at += 2;
    } else if (is_word(words[at], "ttl") && question.ttl == Duration::zero()) {
      const Result<std::int64_t> ms = read_integer("TTL", words[at + 1], kMinHoldTtl / std::chrono::milliseconds(1),
                                                   kMaxHoldTtl / std::chrono::milliseconds(1));
      if (!ms.ok()) return ms.failure();
      question.ttl = std::chrono::milliseconds(ms.value());
      at += 2;
    } else if (is_word(words[at], "cost")) {
      words_.insert(words_.end(), {words[at], words[at + 1]});
      at += 2;
    } else {
      is_option = false;
    }
  }
  words_.insert(words_.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  const Result<Request> request = check_.read(words_, /*peek_allowed=*/false);
  if (!request.ok()) return request.failure();
  question.request = request.value();
  return question;
}

void ReserveCommand::write(ReplyWriter& reply, Verb verb, const ReservationAnswer& answer) {
  if (answer.fault != HoldFault::none)
    return reply.error(std::string(reservation_error(answer.fault)) + answer.message);
  const bool held = verb != Verb::reserve || answer.decision.allowed;
  const bool closed = held && answer.state != ReservationState::open;
  CheckCommand::write(reply, answer.decision, kReservationFields);
  put_text_or_null(reply, "reservation", answer.handle);
  put_text_or_null(reply, "id", held ? std::string_view(answer.id) : std::string_view());
  put_text_or_null(reply, "state", held ? reservation_state_name(answer.state) : std::string_view());
  put_units_or_null(reply, "granted", held, answer.granted);
  put_units_or_null(reply, "expires_at_ms", held && !closed, micros(answer.expires) / 1'000);
  put_units_or_null(reply, "actual", held && answer.state == ReservationState::committed, answer.actual);
  put_units_or_null(reply, "returned", closed, answer.returned);
  put_units_or_null(reply, "debt", closed, answer.debt);
  put_units_or_null(reply, "uncharged", closed, answer.uncharged);
  put_units_or_null(reply, "fencing_token", held && answer.fencing_token.has_value(),
                    static_cast<std::int64_t>(answer.fencing_token.value_or(0)));
}

}  // namespace weir::resp
