// The tables of fields that are maps themselves: a local limit, an estimate, what happens when the store does not
// answer.
#include "rules/compile/rule_check.h"
#include "rules/read/field_values.h"
#include "rules/read/rule_fields.h"
#include "rules/read/yaml_values.h"

namespace weir::rules {
namespace {

using WrittenPart = std::optional<YamlText>;

WrittenPart number_unless(std::int64_t number, std::int64_t usual) {
  return number == usual ? std::nullopt : WrittenPart(YamlText::number(number));
}

constexpr Field<LocalLimit> kLocalLimitFields[] = {
    {"limit", "units per window on this node", "required",
     [](const FieldAt& at, LocalLimit& limit) { at.take(limit.limit, read_whole_number(at.node(), 1, kMaxUnits)); },
     [](const LocalLimit& limit) -> WrittenPart { return YamlText::number(limit.limit); }},
    {"window", "a duration", "required",
     [](const FieldAt& at, LocalLimit& limit) { at.take(limit.window, read_duration(at.node())); },
     [](const LocalLimit& limit) -> WrittenPart { return YamlText::duration(limit.window); }},
    {"burst", "capacity", "`limit`",
     [](const FieldAt& at, LocalLimit& limit) { at.take(limit.burst, read_whole_number(at.node(), 1, kMaxUnits)); },
     [](const LocalLimit& limit) { return limit.burst ? WrittenPart(YamlText::number(*limit.burst)) : std::nullopt; }},
};

constexpr Field<Estimate> kEstimateFields[] = {
    {"by", "learn for each value of this attribute", "for all requests together",
     [](const FieldAt& at, Estimate& estimate) { at.take(estimate.by, read_text(at.node())); },
     [](const Estimate& estimate) { return estimate.by.empty() ? WrittenPart() : YamlText::text(estimate.by); }},
    {"quantile", "percent of the settled reservations that the estimate should cover, 1 to 100", "95",
     [](const FieldAt& at, Estimate& estimate) { at.take(estimate.quantile, read_whole_number(at.node(), 1, 100)); },
     [](const Estimate& estimate) { return number_unless(estimate.quantile, Estimate().quantile); }},
    {"default", "units before anything is learned", "1000",
     [](const FieldAt& at, Estimate& estimate) {
       at.take(estimate.initial, read_whole_number(at.node(), 1, kMaxUnits));
     },
     [](const Estimate& estimate) { return number_unless(estimate.initial, Estimate().initial); }},
    {"max", "the largest estimate, as a share of the limit, 1% to 100%", "`50%`",
     [](const FieldAt& at, Estimate& estimate) { at.take(estimate.most, read_percent(at.node(), 1, 100)); },
     [](const Estimate& estimate) {
       return estimate.most == Estimate().most ? WrittenPart() : YamlText::text(std::to_string(estimate.most) + "%");
     }},
};

constexpr Field<OnStoreFailure> kStoreFailureFields[] = {
    {"policy", "the policy at the beginning of an outage", "required",
     [](const FieldAt& at, OnStoreFailure& failure) { read_choice(at, kFailurePolicies, failure.policy); },
     [](const OnStoreFailure& failure) -> WrittenPart { return write_choice(kFailurePolicies, failure.policy); }},
    {"for", "how long the outage lasts before `then` applies, from 1 s to 365 days", "no end",
     [](const FieldAt& at, OnStoreFailure& failure) {
       if (!at.take(failure.term, read_duration(at.node()))) failure.term = kMinPolicyTerm;
     },
     [](const OnStoreFailure& failure) {
       return failure.term ? WrittenPart(YamlText::duration(*failure.term)) : std::nullopt;
     }},
    {"then", "the policy after that time", "required with `for`",
     [](const FieldAt& at, OnStoreFailure& failure) {
       FailurePolicy then = failure.policy == FailurePolicy::deny ? FailurePolicy::allow : FailurePolicy::deny;
       read_choice(at, kFailurePolicies, then);
       failure.then = then;
     },
     [](const OnStoreFailure& failure) {
       return failure.then ? WrittenPart(write_choice(kFailurePolicies, *failure.then)) : std::nullopt;
     }},
};

}  // namespace

std::span<const Field<LocalLimit>> local_limit_fields() { return kLocalLimitFields; }
std::span<const Field<OnStoreFailure>> store_failure_fields() { return kStoreFailureFields; }
std::span<const Field<Estimate>> estimate_fields() { return kEstimateFields; }

}  // namespace weir::rules
