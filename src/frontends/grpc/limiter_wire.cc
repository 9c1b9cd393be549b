#include "frontends/grpc/limiter_wire.h"

#include <optional>

#include "base/attributes.h"
#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "frontends/render/decision_json.h"
#include "weir/allowance.h"

namespace weir::grpc {
namespace {

constexpr std::uint64_t kReasonOffset = 1;  // weir.v1.Reason keeps 0 for "unspecified"

Failure invalid(std::string message) { return {Code::invalid_argument, std::move(message)}; }
Failure malformed() { return invalid("the message cannot be parsed"); }

Status read_attribute(std::string_view bytes, Attribute& attribute) {
  base::WireReader reader(bytes);
  while (reader.next()) {
    if (reader.tag() == base::bytes_field(1)) attribute.name = reader.bytes();
    if (reader.tag() == base::bytes_field(2)) attribute.value = reader.bytes();
  }
  if (reader.failed() || !base::is_utf8(attribute.name) || !base::is_utf8(attribute.value)) return malformed();
  const std::string_view name_fault = base::attribute_name_fault(attribute.name);
  if (!name_fault.empty()) return invalid("an attribute's name " + std::string(name_fault));
  const std::string_view value_fault = base::attribute_value_fault(attribute.value);
  if (!value_fault.empty()) return invalid("an attribute's value " + std::string(value_fault));
  return success();
}

std::uint64_t number(std::int64_t value) { return static_cast<std::uint64_t>(value); }

std::uint64_t unix_ms(std::optional<TimePoint> moment) { return moment ? number(ceil_unix_ms(*moment)) : 0; }

void write_rule(base::WireWriter& writer, const Decision& decision, const RuleOutcome& rule) {
  const std::size_t message = writer.begin(15);
  writer.text(1, rule.rule);
  writer.text(2, algorithm_name(rule));
  writer.text(3, mode_name(rule.mode));
  writer.boolean(4, rule.allowed);
  writer.boolean(5, rule.unlimited);
  writer.number(6, number(rule.limit));
  writer.number(7, number(rule.remaining));
  writer.number(8, number(ceil_ms(rule.retry_after)));
  writer.number(9, number(ceil_ms(rule.reset_after)));
  writer.number(10, unix_ms(decision.retry_at(rule)));
  writer.number(11, unix_ms(decision.reset_at(rule)));
  if (!rule.unlimited) {
    SubjectDigits room;
    writer.text(12, subject_text(rule, room));
  }
  writer.end(message);
}

}  // namespace

Status CheckMessages::read_one(std::string_view message) {
  attributes.clear();
  requests.clear();
  firsts_.clear();
  if (Status status = read(message); !status.ok()) return status;
  link();
  return success();
}

Status CheckMessages::read_batch(std::string_view message) {
  attributes.clear();
  requests.clear();
  firsts_.clear();
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() != base::bytes_field(1)) continue;
    if (requests.size() == kMaxBatch) return invalid("more than " + std::to_string(kMaxBatch) + " requests");
    if (Status status = read(reader.bytes()); !status.ok()) return status;
  }
  if (reader.failed()) return malformed();
  link();
  return success();
}

Status CheckMessages::read(std::string_view message) {
  Request request;
  firsts_.push_back(attributes.size());
  base::WireReader reader(message);
  while (reader.next()) {
    switch (reader.tag()) {
      case base::bytes_field(1):
        if (attributes.size() - firsts_.back() == kMaxAttributes) return invalid(std::string(base::kTooManyAttributes));
        if (Status status = read_attribute(reader.bytes(), attributes.emplace_back()); !status.ok()) return status;
        break;
      case base::varint_field(2):
        request.cost.units = static_cast<std::int64_t>(reader.number());
        break;
      case base::varint_field(3):
        request.peek = reader.number() != 0;
        break;
      default:
        break;
    }
  }
  if (reader.failed()) return malformed();
  if (request.cost.units < 0 || request.cost.units > kMaxUnits) {
    return invalid("cost: is " + std::to_string(request.cost.units) + ", expected 0 to " + std::to_string(kMaxUnits));
  }
  requests.push_back(request);
  return success();
}

// Last: `attributes` does not move any more.
void CheckMessages::link() {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t end = i + 1 < requests.size() ? firsts_[i + 1] : attributes.size();
    requests[i].attributes = {attributes.data() + firsts_[i], end - firsts_[i]};
  }
}

void write_decision(std::string& out, const Decision& decision) {
  base::WireWriter writer(out);
  writer.boolean(1, decision.allowed);
  writer.number(2, static_cast<std::uint64_t>(decision.reason) + kReasonOffset);
  const RuleOutcome* const rule = decision.decisive();
  if (rule != nullptr) {
    writer.text(3, rule->rule);
    if (rule->algorithm) writer.text(4, algorithm_name(*rule->algorithm));
    writer.number(5, number(rule->limit));
    writer.number(6, number(rule->remaining));
  }
  writer.number(7, number(ceil_ms(decision.retry_after)));
  if (rule != nullptr) writer.number(8, number(ceil_ms(rule->reset_after)));
  writer.number(9, number(render::told_cost(decision)));
  writer.number(10, number(ceil_ms(decision.delay)));
  writer.boolean(11, decision.degraded);
  writer.text(12, render::told_source(decision));
  writer.boolean(13, !decision.atomic);
  for (const RuleOutcome& asked : decision.rules) {
    if (asked.mode == Mode::shadow && !asked.allowed) writer.put_bytes(14, asked.rule);
  }
  for (const RuleOutcome& asked : decision.rules) write_rule(writer, decision, asked);
  writer.number(16, unix_ms(decision.retry_at()));
  writer.number(17, unix_ms(decision.reset_at()));
  if (!decision.message.empty()) [[unlikely]]
    writer.text(20, denial_message(decision));
}

}  // namespace weir::grpc
