// The words of answers, logs and metrics are part of the contract: each is written out here.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "weir/decision.h"
#include "weir/hold.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir {
namespace {

// The names of the first `count` values.
template <typename Value, typename Name>
std::vector<std::string> names_of(std::size_t count, Name name) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.emplace_back(name(static_cast<Value>(i)));
  return names;
}

using Names = std::vector<std::string>;

TEST(Names, OfCodes) {
  EXPECT_EQ(names_of<Code>(1, code_name), Names{"ok"});
  const std::pair<Code, const char*> kCodes[] = {
      {Code::cancelled, "cancelled"},
      {Code::invalid_argument, "invalid_argument"},
      {Code::deadline_exceeded, "deadline_exceeded"},
      {Code::not_found, "not_found"},
      {Code::already_exists, "already_exists"},
      {Code::permission_denied, "permission_denied"},
      {Code::resource_exhausted, "resource_exhausted"},
      {Code::failed_precondition, "failed_precondition"},
      {Code::aborted, "aborted"},
      {Code::out_of_range, "out_of_range"},
      {Code::unimplemented, "unimplemented"},
      {Code::internal, "internal"},
      {Code::unavailable, "unavailable"},
      {Code::data_loss, "data_loss"},
      {Code::unauthenticated, "unauthenticated"},
  };
  for (const auto& [code, name] : kCodes) EXPECT_STREQ(code_name(code), name);
  EXPECT_STREQ(code_name(static_cast<Code>(99)), "unknown");
}

TEST(Names, OfReasons) {
  EXPECT_EQ(names_of<Reason>(kReasonCount, reason_name),
            (Names{"ok", "no_rule", "limit_exceeded", "quota_exceeded", "concurrency_exceeded", "blocked", "penalized",
                   "shed", "store_unavailable", "cost_too_large", "too_many_reservations", "challenge"}));
}

TEST(Names, OfHolds) {
  EXPECT_EQ(names_of<HoldFault>(kHoldFaultCount, hold_fault_name),
            (Names{"none", "invalid", "forged", "gone", "closed", "running", "other_body", "full", "unavailable"}));
  EXPECT_EQ(names_of<ReservationState>(4, reservation_state_name), (Names{"open", "committed", "released", "expired"}));
}

TEST(Names, OfModesAndFailurePolicies) {
  EXPECT_EQ(names_of<Mode>(3, mode_name), (Names{"enforce", "shadow", "off"}));
  EXPECT_EQ(names_of<FailurePolicy>(kFailurePolicyCount, failure_policy_name),
            (Names{"allow", "deny", "local", "degrade", "static"}));
}

TEST(Names, AnOutcomeIsCalledByItsAlgorithmOrItsKind) {
  RuleOutcome outcome;
  EXPECT_EQ(algorithm_name(outcome), "") << "an unlimited rule has none";
  outcome.algorithm = Algorithm::sliding_log;
  EXPECT_EQ(algorithm_name(outcome), "sliding-log");
  outcome.kind = ChargeKind::lease;
  EXPECT_EQ(algorithm_name(outcome), charge_kind_name(ChargeKind::lease));
  outcome.kind = ChargeKind::quota;
  EXPECT_EQ(algorithm_name(outcome), "quota");
}

}  // namespace
}  // namespace weir
