#include "observe/decision_log.h"

#include <optional>
#include <utility>

#include "base/ascii.h"
#include "observe/traceparent.h"

namespace weir::observe {
namespace {

std::string_view shadow_denied(const Decision& decision) {
  for (const RuleOutcome& rule : decision.rules) {
    if (rule.mode == Mode::shadow && !rule.allowed) return rule.rule;
  }
  return {};
}

std::string_view text_of(const SubjectDigits& digits) { return {digits.data(), digits.size()}; }

std::optional<std::string_view> find(const RequestContext& context, std::string_view name) {
  for (const Attribute& each : context.attributes) {
    if (each.name == name) return each.value;
  }
  return std::nullopt;
}

// The fields of one line, and the texts that they refer to.
class DecisionLine {
 public:
  DecisionLine(const Decision& decision, const RequestContext& context) : decision_(decision), context_(context) {
    fields_.reserve(24);
  }

  void add_decision();
  void add_request(const DecisionLogOptions& options, const keys::KeyEncoder& encoder);
  void add_node(const DecisionLogOptions& options);
  void add_omitted(std::int64_t count) { fields_.emplace_back("omitted", count); }
  std::span<const Field> fields() const { return fields_; }

 private:
  const Decision& decision_;
  const RequestContext& context_;
  std::vector<Field> fields_;
  SubjectDigits digits_{};
  std::string_view subject_;
  SubjectDigits tenant_{};
  std::string subject_type_;
  std::string subject_values_;
  std::string rules_hash_;
  std::string trace_;
};

void DecisionLine::add_decision() {
  fields_.emplace_back("outcome", decision_.allowed ? "allowed" : "denied");
  fields_.emplace_back("reason", reason_name(decision_.reason));
  if (const RuleOutcome* rule = decision_.decisive()) {
    fields_.emplace_back("rule", rule->rule);
    if (const auto name = algorithm_name(*rule); !name.empty()) fields_.emplace_back("algorithm", name);
    if (!rule->unlimited) {
      fields_.emplace_back("limit", rule->limit);
      fields_.emplace_back("remaining", rule->remaining);
    }
    subject_ = subject_text(*rule, digits_);
  }
  fields_.emplace_back("cost", decision_.cost);
  fields_.emplace_back("retry_after_ms", ceil_ms(decision_.retry_after));
  if (decision_.delay.count() > 0) fields_.emplace_back("delay_ms", ceil_ms(decision_.delay));
  if (decision_.degraded) fields_.emplace_back("degraded", true);
  if (const std::string_view rule = shadow_denied(decision_); !rule.empty()) {
    fields_.emplace_back("shadow_denied", rule);
  }
  fields_.emplace_back("source", decision_.source);
  if (decision_.deciding >= 0) fields_.emplace_back("subject", subject_);
}

void DecisionLine::add_request(const DecisionLogOptions& options, const keys::KeyEncoder& encoder) {
  if (decision_.deciding >= 0) subject_type_ = subject_type(context_);
  if (!subject_type_.empty()) fields_.emplace_back("subject_type", subject_type_);
  if (options.plain && decision_.deciding >= 0) subject_values_ = subject_values(context_, options.secrets, encoder);
  if (!subject_values_.empty()) fields_.emplace_back("subject_values", subject_values_);
  if (const auto tenant = find(context_, "tenant")) {
    if (options.plain && !options.secrets.contains("tenant")) {
      fields_.emplace_back("tenant", cut_value(*tenant));
    } else {
      tenant_ = value_digits("tenant", *tenant, encoder);
      fields_.emplace_back("tenant_hash", text_of(tenant_));
    }
  }
  if (const auto action = find(context_, "action"); action && !options.secrets.contains("action")) {
    fields_.emplace_back("action", cut_value(*action));
  }
}

void DecisionLine::add_node(const DecisionLogOptions& options) {
  if (!options.region.empty()) fields_.emplace_back("region", options.region);
  if (context_.store_latency) fields_.emplace_back("store_us", context_.store_latency->count());
  fields_.emplace_back("rules_version", context_.rules_version);
  if (context_.rules_hash != 0) {
    rules_hash_ = base::hex_text(context_.rules_hash);
    fields_.emplace_back("rules_hash", rules_hash_);
  }
  if (context_.trace == nullptr) return;
  trace_ = trace_id_text(context_.trace->trace);
  fields_.emplace_back("trace_id", trace_);
}

}  // namespace

DecisionLog::DecisionLog(Log& log, Log& degraded, DecisionLogOptions options)
    : log_(log),
      degraded_(degraded),
      options_(std::move(options)),
      encoder_(options_.hash_key),
      random_(options_.seed) {}

void DecisionLog::on_decision(const Decision& decision, const RequestContext& context) {
  const DecisionSample& sample = options_.sample;
  std::int64_t share = decision.allowed ? sample.allowed : sample.denied;
  if (share < sample.denied && !shadow_denied(decision).empty()) share = sample.denied;
  if (drawn(share)) {
    write(log_, Level::info, "decision", decision, context);
  } else if (decision.degraded && admit_degraded(decision.at)) {
    write(degraded_, Level::warn, "degraded_decision", decision, context);
    omitted_ = 0;
  }
}

// SplitMix64: one multiplication chain per decision, no state beyond a word.
bool DecisionLog::drawn(std::int64_t share) {
  if (share == 0) return false;
  random_ += 0x9E3779B97F4A7C15;
  std::uint64_t mixed = random_;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB;
  mixed ^= mixed >> 31;
  return static_cast<std::int64_t>(mixed % kWholeShare) < share;
}

// Counted here and not by the log: an outage makes every decision degraded, and the loops must not wait for each other.
bool DecisionLog::admit_degraded(TimePoint at) {
  if (options_.degraded_per_second == 0) return false;
  const std::int64_t second = micros(at) / 1'000'000;
  if (second != second_) {
    second_ = second;
    written_ = 0;
  }
  if (written_ == options_.degraded_per_second) {
    ++omitted_;
    return false;
  }
  ++written_;
  return true;
}

void DecisionLog::write(Log& log, Level level, std::string_view event, const Decision& decision,
                        const RequestContext& context) {
  DecisionLine line(decision, context);
  line.add_decision();
  line.add_request(options_, encoder_);
  line.add_node(options_);
  if (level == Level::warn && omitted_ > 0) line.add_omitted(omitted_);
  log.write(level, event, level == Level::warn ? "decided without the store" : "decision", line.fields());
}

}  // namespace weir::observe
