#include "frontends/resp/check_command.h"

#include <optional>
#include <string>
#include <utility>

#include "base/attributes.h"
#include "frontends/resp/command_table.h"
#include "frontends/resp/throttle.h"

namespace weir::resp {
namespace {

constexpr std::size_t kAnswerFields = 12;  // and `message`, if the rule that denied has one

Failure refuse(std::string message) { return {Code::invalid_argument, std::move(message)}; }

Failure given_twice(std::string_view option) {
  return refuse(std::string(option) + ": is given twice; an attribute of this name cannot be the first one");
}

void put(ReplyWriter& reply, std::string_view name, std::int64_t value) {
  reply.bulk(name);
  reply.integer(value);
}

void put(ReplyWriter& reply, std::string_view name, std::optional<TimePoint> moment) {
  reply.bulk(name);
  moment ? reply.integer(ceil_unix_ms(*moment)) : reply.null();
}

}  // namespace

Result<ReportCommand> ReportCommand::read(std::span<const std::string_view> words) {
  ReportCommand report;
  const bool failure = words.size() > 1 && is_word(words[1], "failure");
  report.success = words.size() > 1 && is_word(words[1], "success");
  if (!failure && !report.success) return refuse("the outcome must be FAILURE or SUCCESS");
  report.rest = words.subspan(1);
  if (words.size() > 3 && is_word(words[2], "duration")) {
    constexpr std::int64_t kMostMs = 3'600'000;
    const Result<std::int64_t> ms = read_integer("DURATION", words[3], 0, kMostMs);
    if (!ms.ok()) return ms.failure();
    report.duration = std::chrono::milliseconds(ms.value());
    report.rest = words.subspan(3);
    if (words.size() > 4 && is_word(words[4], "duration")) return given_twice("DURATION");
  }
  return report;
}

Result<Request> CheckCommand::read(std::span<const std::string_view> words, bool peek_allowed) {
  Request request;
  bool cost_given = false;
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    if (is_word(words[at], "cost") && at + 1 < words.size()) {
      if (std::exchange(cost_given, true)) return given_twice("COST");
      const Result<std::int64_t> cost = read_integer("COST", words[++at], 0, kMaxUnits);
      if (!cost.ok()) return cost.failure();
      request.cost.units = cost.value();
    } else if (peek_allowed && is_word(words[at], "peek")) {
      if (std::exchange(request.peek, true)) return given_twice("PEEK");
    } else {
      break;
    }
  }
  const std::span<const std::string_view> pairs = words.subspan(at);
  if (pairs.empty()) return refuse("no attribute is given; expected attribute value …");
  if (pairs.size() % 2 != 0) return refuse("the last attribute has no value; expected attribute value …");
  const std::size_t count = pairs.size() / 2;
  if (count > kMaxAttributes) return refuse(std::string(base::kTooManyAttributes));
  for (std::size_t i = 0; i < count; ++i) {
    const Attribute attribute{pairs[2 * i], pairs[2 * i + 1]};
    if (const std::string_view wrong = base::attribute_name_fault(attribute.name); !wrong.empty()) {
      return refuse("the name of attribute " + std::to_string(i + 1) + " " + std::string(wrong));
    }
    if (const std::string_view wrong = base::attribute_value_fault(attribute.value); !wrong.empty()) {
      return refuse("the value of '" + std::string(attribute.name) + "' " + std::string(wrong));
    }
    attributes_[i] = attribute;
  }
  request.attributes = {attributes_.data(), count};
  return request;
}

void CheckCommand::write(ReplyWriter& reply, const Decision& decision, std::size_t more) {
  const RuleOutcome* const rule = decision.decisive();
  const bool counted = rule != nullptr && !rule->unlimited;
  const std::string message = denial_message(decision);
  reply.map(kAnswerFields + (message.empty() ? 0 : 1) + more);
  put(reply, "allowed", decision.allowed ? 1 : 0);
  reply.bulk("reason");
  reply.bulk(reason_name(decision.reason));
  reply.bulk("rule");
  rule != nullptr ? reply.bulk(rule->rule) : reply.null();
  reply.bulk("limit");
  counted ? reply.integer(rule->limit) : reply.null();
  reply.bulk("remaining");
  counted ? reply.integer(rule->remaining) : reply.null();
  put(reply, "retry_after_ms", ceil_ms(decision.retry_after));
  put(reply, "reset_after_ms", counted ? ceil_ms(rule->reset_after) : 0);
  put(reply, "delay_ms", ceil_ms(decision.delay));
  put(reply, "degraded", decision.degraded ? 1 : 0);
  put(reply, "retry_at_ms", decision.retry_at());
  put(reply, "reset_at_ms", decision.reset_at());
  reply.bulk("subject");
  if (counted) {
    SubjectDigits room;
    reply.bulk(subject_text(*rule, room));
  } else {
    reply.null();
  }
  if (message.empty()) return;
  reply.bulk("message");
  reply.bulk(message);
}

}  // namespace weir::resp
