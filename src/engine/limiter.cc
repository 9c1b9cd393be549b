// The public calls of Limiter and AdHocLimiter, made from begin() and begin_group() once for every implementation.
#include "weir/limiter.h"

#include <cassert>
#include <utility>

#include "engine/waiter.h"
#include "weir/ad_hoc.h"
#include "weir/ask.h"

namespace weir {
namespace {

void wait_for(Limiter& limiter, Action action, std::span<const Request> requests, std::span<Decision> decisions) {
  engine::BlockingCall<CheckCall> call;
  call.action = action;
  call.requests = requests;
  call.decisions = decisions;
  if (!limiter.begin(call)) call.wait();
}

void run(Limiter& limiter, Action action, const Request& request, Limiter::Completion& done) {
  ask(limiter, action, request, done, [&] { return std::move(done); });
}

}  // namespace

Decision Limiter::check(const Request& request) {
  Decision decision;
  wait_for(*this, Action::take, {&request, 1}, {&decision, 1});
  return decision;
}

Decision Limiter::refund(const Request& request) {
  Decision decision;
  wait_for(*this, Action::refund, {&request, 1}, {&decision, 1});
  return decision;
}

Decision Limiter::reset(const Request& request) {
  Decision decision;
  wait_for(*this, Action::reset, {&request, 1}, {&decision, 1});
  return decision;
}

void Limiter::check(const Request& request, Completion done) { run(*this, Action::take, request, done); }

void Limiter::refund(const Request& request, Completion done) { run(*this, Action::refund, request, done); }

void Limiter::check_batch(std::span<const Request> requests, std::span<Decision> decisions) {
  assert(requests.size() == decisions.size());
  renew(decisions);
  if (!requests.empty()) wait_for(*this, Action::take, requests, decisions);
}

ChargeOutcome AdHocLimiter::charge(const AdHocCharge& charge) {
  ChargeOutcome outcome;
  engine::BlockingCall<GroupCall> call;
  call.charges = {&charge, 1};
  call.outcomes = {&outcome, 1};
  if (!begin_group(call)) call.wait();
  return outcome;
}

void AdHocLimiter::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  ask(*this, charge, done, [&] { return std::move(done); });
}

}  // namespace weir
