#include "frontends/resp/lease_command.h"

#include <string>
#include <utility>

#include "frontends/resp/command_table.h"
#include "frontends/resp/throttle.h"

namespace weir::resp {
namespace {

constexpr std::size_t kLeaseFields = 5;

Result<Duration> read_ttl(std::string_view text) {
  const Result<std::int64_t> ms =
      read_integer("TTL", text, kMinHoldTtl / std::chrono::milliseconds(1), kMaxHoldTtl / std::chrono::milliseconds(1));
  if (!ms.ok()) return ms.failure();
  return Duration(std::chrono::milliseconds(ms.value()));
}

std::string_view error_code(HoldFault fault) {
  switch (fault) {
    case HoldFault::forged:
      return "NOTFOUND ";
    case HoldFault::gone:
    case HoldFault::closed:
      return "GONE ";
    case HoldFault::unavailable:
    case HoldFault::full:
      return "UNAVAILABLE ";
    default:
      return "ERR ";
  }
}

void put_or_null(ReplyWriter& reply, std::string_view name, bool known, std::int64_t value) {
  reply.bulk(name);
  known ? reply.integer(value) : reply.null();
}

}  // namespace

Result<LeaseQuestion> LeaseCommand::read(Verb verb, std::span<const std::string_view> words) {
  return verb == Verb::acquire ? read_acquire(words) : read_handle(verb, words);
}

Result<LeaseQuestion> LeaseCommand::read_acquire(std::span<const std::string_view> words) {
  LeaseQuestion question;
  bool has_ttl = false;
  bool has_id = false;
  words_.assign(words.begin(), words.begin() + 1);
  std::size_t at = 1;
  for (; at + 1 < words.size(); at += 2) {
    const bool ttl = is_word(words[at], "ttl");
    if (is_word(words[at], "cost")) {
      words_.insert(words_.end(), {words[at], words[at + 1]});
    } else if (ttl || is_word(words[at], "id")) {
      if (std::exchange(ttl ? has_ttl : has_id, true)) {
        return Failure{
            Code::invalid_argument,
            std::string(ttl ? "TTL" : "ID") + ": is given twice; an attribute of this name cannot be the first one"};
      }
      if (!ttl) {
        question.id = words[at + 1];
        continue;
      }
      const Result<Duration> read = read_ttl(words[at + 1]);
      if (!read.ok()) return read.failure();
      question.ttl = read.value();
    } else {
      break;
    }
  }
  words_.insert(words_.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  const Result<Request> request = check_.read(words_, /*peek_allowed=*/false);
  if (!request.ok()) return request.failure();
  question.request = request.value();
  return question;
}

Result<LeaseQuestion> LeaseCommand::read_handle(Verb verb, std::span<const std::string_view> words) {
  LeaseQuestion question;
  question.verb = verb;
  question.handle = words[1];
  if (words.size() == 2) return question;
  if (words.size() != 4 || !is_word(words[2], "ttl")) {
    return Failure{Code::invalid_argument, "syntax error; expected WEIR.RENEW handle [TTL milliseconds]"};
  }
  const Result<Duration> ttl = read_ttl(words[3]);
  if (!ttl.ok()) return ttl.failure();
  question.ttl = ttl.value();
  return question;
}

void LeaseCommand::write(ReplyWriter& reply, Verb verb, const LeaseAnswer& answer) {
  if (answer.fault != HoldFault::none) return reply.error(std::string(error_code(answer.fault)) + answer.message);
  if (verb == Verb::release) return reply.simple("OK");
  const bool held = !answer.handle.empty();
  CheckCommand::write(reply, answer.decision, kLeaseFields);
  reply.bulk("lease");
  held ? reply.bulk(answer.handle) : reply.null();
  put_or_null(reply, "fencing_token", held && answer.fencing_token.has_value(),
              static_cast<std::int64_t>(answer.fencing_token.value_or(0)));
  put_or_null(reply, "expires_at_ms", held, micros(answer.expires) / 1'000);
  put_or_null(reply, "ttl_ms", held, answer.ttl.count() / 1'000);
  put_or_null(reply, "created", held, answer.created ? 1 : 0);
}

}  // namespace weir::resp
