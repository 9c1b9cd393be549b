// The words by which answers, logs and metrics name things.
#include <array>

#include "weir/decision.h"
#include "weir/hold.h"
#include "weir/reservations.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir {

const char* code_name(Code code) {
  switch (code) {
    case Code::ok:
      return "ok";
    case Code::cancelled:
      return "cancelled";
    case Code::invalid_argument:
      return "invalid_argument";
    case Code::deadline_exceeded:
      return "deadline_exceeded";
    case Code::not_found:
      return "not_found";
    case Code::already_exists:
      return "already_exists";
    case Code::permission_denied:
      return "permission_denied";
    case Code::resource_exhausted:
      return "resource_exhausted";
    case Code::failed_precondition:
      return "failed_precondition";
    case Code::aborted:
      return "aborted";
    case Code::out_of_range:
      return "out_of_range";
    case Code::unimplemented:
      return "unimplemented";
    case Code::internal:
      return "internal";
    case Code::unavailable:
      return "unavailable";
    case Code::data_loss:
      return "data_loss";
    case Code::unauthenticated:
      return "unauthenticated";
  }
  return "unknown";
}

std::string_view reason_name(Reason reason) {
  static constexpr std::array<std::string_view, kReasonCount> kNames = {
      "ok",        "no_rule", "limit_exceeded",    "quota_exceeded", "concurrency_exceeded",  "blocked",
      "penalized", "shed",    "store_unavailable", "cost_too_large", "too_many_reservations", "challenge",
  };
  return kNames[static_cast<std::size_t>(reason)];
}

std::string_view algorithm_name(const RuleOutcome& outcome) {
  if (outcome.kind != ChargeKind::bucket) return charge_kind_name(outcome.kind);
  return outcome.algorithm ? algorithm_name(*outcome.algorithm) : std::string_view();
}

std::string_view hold_fault_name(HoldFault fault) {
  static constexpr std::array<std::string_view, kHoldFaultCount> kNames = {
      "none", "invalid", "forged", "gone", "closed", "running", "other_body", "full", "unavailable"};
  return kNames[static_cast<std::size_t>(fault)];
}

std::string_view reservation_state_name(ReservationState state) {
  static constexpr std::array<std::string_view, 4> kNames = {"open", "committed", "released", "expired"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string_view mode_name(Mode mode) {
  static constexpr std::array<std::string_view, 3> kNames = {"enforce", "shadow", "off"};
  return kNames[static_cast<std::size_t>(mode)];
}

std::string_view failure_policy_name(FailurePolicy policy) {
  static constexpr std::array<std::string_view, kFailurePolicyCount> kNames = {"allow", "deny", "local", "degrade",
                                                                               "static"};
  return kNames[static_cast<std::size_t>(policy)];
}

}  // namespace weir
