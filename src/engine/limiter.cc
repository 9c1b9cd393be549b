// The public calls of the limiters, made from begin() and its siblings once for every implementation.
#include "weir/limiter.h"

#include <cassert>
#include <utility>

#include "engine/waiter.h"
#include "weir/ad_hoc.h"
#include "weir/ask.h"
#include "weir/leases.h"
#include "weir/reservations.h"

namespace weir {
namespace {

[[gnu::always_inline]] inline void wait_for(Limiter& limiter, Action action, std::span<const Request> requests,
                                            std::span<Decision> decisions) {
  engine::BlockingCall<CheckCall> call;
  call.action = action;
  call.requests = requests;
  call.decisions = decisions;
  if (!limiter.begin(call)) call.wait(limiter);
}

void run(Limiter& limiter, Action action, const Request& request, Limiter::Completion& done) {
  ask(limiter, action, request, done, [&] { return std::move(done); });
}

// Asks what `fill` makes of a new question.
template <typename Fill>
[[gnu::always_inline]] inline ReservationAnswer wait_for(ReservationLimiter& limiter, Fill fill) {
  engine::BlockingCall<ReservationCall> call;
  fill(call.question);
  if (!limiter.begin_reservation(call)) call.wait(limiter);
  return std::move(call.answer);
}

template <typename Fill>
[[gnu::always_inline]] inline LeaseAnswer wait_for(LeaseLimiter& limiter, Fill fill) {
  engine::BlockingCall<LeaseCall> call;
  fill(call.question);
  if (!limiter.begin_lease(call)) call.wait(limiter);
  return std::move(call.answer);
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

Decision Limiter::report(const Request& request, bool success) {
  Decision decision;
  wait_for(*this, success ? Action::report_success : Action::report_failure, {&request, 1}, {&decision, 1});
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
  if (!begin_group(call)) call.wait(*this);
  return outcome;
}

void AdHocLimiter::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  ask(*this, charge, done, [&] { return std::move(done); });
}

LeaseAnswer LeaseLimiter::ask(const LeaseQuestion& question) {
  return wait_for(*this, [&](LeaseQuestion& asked) { asked = question; });
}

void LeaseLimiter::ask(const LeaseQuestion& question, Completion done) {
  weir::ask(*this, question, done, [&] { return std::move(done); });
}

LeaseAnswer LeaseLimiter::renew(std::string_view handle, Duration ttl) {
  return wait_for(*this, [&](LeaseQuestion& asked) {
    asked.verb = LeaseQuestion::Verb::renew;
    asked.handle = handle;
    asked.ttl = ttl;
  });
}

LeaseAnswer LeaseLimiter::release(std::string_view handle) {
  return wait_for(*this, [&](LeaseQuestion& asked) {
    asked.verb = LeaseQuestion::Verb::release;
    asked.handle = handle;
  });
}

ReservationAnswer ReservationLimiter::ask(const ReservationQuestion& question) {
  return wait_for(*this, [&](ReservationQuestion& asked) { asked = question; });
}

void ReservationLimiter::ask(const ReservationQuestion& question, Completion done) {
  weir::ask(*this, question, done, [&] { return std::move(done); });
}

ReservationAnswer ReservationLimiter::commit(std::string_view handle, std::int64_t actual) {
  return wait_for(*this, [&](ReservationQuestion& asked) {
    asked.verb = ReservationQuestion::Verb::commit;
    asked.handle = handle;
    asked.actual = actual;
  });
}

ReservationAnswer ReservationLimiter::release(std::string_view handle) {
  return wait_for(*this, [&](ReservationQuestion& asked) {
    asked.verb = ReservationQuestion::Verb::release;
    asked.handle = handle;
  });
}

ReservationAnswer ReservationLimiter::extend(std::string_view handle, Duration ttl, std::int64_t add) {
  return wait_for(*this, [&](ReservationQuestion& asked) {
    asked.verb = ReservationQuestion::Verb::extend;
    asked.handle = handle;
    asked.ttl = ttl;
    asked.amount = add;
  });
}

ReservationAnswer ReservationLimiter::get(std::string_view handle) {
  return wait_for(*this, [&](ReservationQuestion& asked) {
    asked.verb = ReservationQuestion::Verb::get;
    asked.handle = handle;
  });
}

}  // namespace weir
