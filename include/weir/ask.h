// ask(): a question to a limiter from an event loop, answered now or later. The caller does not ask which: it says what
// to do with an answer that is there when ask() returns, and how to make the completion for one that is not.
//
//   ask(limiter, Action::take, request,
//       [&](const Decision& decision) { write(out, decision); },
//       [&] { return [held = link.hold()](const Decision& decision) { … }; });
//
// The second is called only if the answer comes later, before ask() returns; what it returns runs once, on the store's
// thread. An answer that is known costs no heap.
#pragma once

#include <cassert>
#include <iterator>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weir/ad_hoc.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/reservations.h"

namespace weir {

// A call that outlived its caller's stack: owns its answers, and itself until it is completed.
template <typename Call, typename Then>
class KeptCall final : public Call {
 public:
  KeptCall(const Call& from, Then then) : Call(from), then_(std::move(then)) {
    keep(this->decisions, decision_, decisions_);
    if constexpr (kIsGroup) keep(this->outcomes, outcome_, outcomes_);
  }
  KeptCall(const KeptCall&) = delete;
  KeptCall& operator=(const KeptCall&) = delete;

  Call& defer() override { return *this; }
  void complete() override {
    const std::unique_ptr<KeptCall> self(this);
    if constexpr (std::is_invocable_v<Then&, const Decision&>) {
      then_(this->decisions.front());
    } else if constexpr (!kIsGroup) {
      then_(std::span<const Decision>(this->decisions));
    } else if constexpr (std::is_invocable_v<Then&, const ChargeOutcome&>) {
      then_(this->outcomes.front());
    } else {
      then_(std::span<const Decision>(this->decisions), std::span<const ChargeOutcome>(this->outcomes));
    }
  }

 private:
  static constexpr bool kIsGroup = std::is_base_of_v<GroupCall, Call>;

  template <typename Answer>
  static void keep(std::span<Answer>& answers, Answer& one, std::vector<Answer>& many) {
    if (answers.size() == 1) {
      one = std::move(answers.front());
      answers = {&one, 1};
    } else {
      many.assign(std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end()));
      answers = many;
    }
  }

  Then then_;
  Decision decision_;
  ChargeOutcome outcome_;
  std::vector<Decision> decisions_;
  std::vector<ChargeOutcome> outcomes_;
};

// A call on its caller's stack.
template <typename Call, typename MakeThen>
class AskedCall final : public Call {
 public:
  explicit AskedCall(MakeThen& make_then) : make_then_(make_then) {}

  Call& defer() override { return *new KeptCall<Call, std::invoke_result_t<MakeThen&>>(*this, make_then_()); }
  void complete() override { assert(false && "after defer(), the call that it returned is completed"); }

 private:
  MakeThen& make_then_;
};

template <typename Now, typename MakeThen>
void ask(Limiter& limiter, Action action, const Request& request, Now&& now, MakeThen&& make_then) {
  Decision decision;
  AskedCall<CheckCall, std::remove_reference_t<MakeThen>> call(make_then);
  call.action = action;
  call.requests = {&request, 1};
  call.decisions = {&decision, 1};
  if (limiter.begin(call)) now(std::as_const(decision));
}

// As default constructors leave them, without touching the room for their rules.
inline void renew(std::span<Decision> decisions) {
  for (Decision& decision : decisions) {
    std::destroy_at(&decision);
    new (&decision) Decision;
  }
}

// Many independent requests. `decisions` has one place for each, used unless the answer comes later.
template <typename Now, typename MakeThen>
void ask(Limiter& limiter, Action action, std::span<const Request> requests, std::span<Decision> decisions, Now&& now,
         MakeThen&& make_then) {
  renew(decisions);
  AskedCall<CheckCall, std::remove_reference_t<MakeThen>> call(make_then);
  call.action = action;
  call.requests = requests;
  call.decisions = decisions;
  if (limiter.begin(call)) now(std::span<const Decision>(decisions));
}

// One ad-hoc charge.
template <typename Now, typename MakeThen>
void ask(AdHocLimiter& limiter, const AdHocCharge& charge, Now&& now, MakeThen&& make_then) {
  ChargeOutcome outcome;
  AskedCall<GroupCall, std::remove_reference_t<MakeThen>> call(make_then);
  call.charges = {&charge, 1};
  call.outcomes = {&outcome, 1};
  if (limiter.begin_group(call)) now(std::as_const(outcome));
}

// A question about leases or reservations that outlived its caller's stack.
template <typename Call, typename Then>
class KeptHoldCall final : public Call {
 public:
  KeptHoldCall(const Call& from, Then then) : Call(from), then_(std::move(then)) {}

  Call& defer() override { return *this; }
  void complete() override {
    const std::unique_ptr<KeptHoldCall> self(this);
    then_(std::as_const(this->answer));
  }

 private:
  Then then_;
};

// The same on its caller's stack.
template <typename Call, typename MakeThen>
class AskedHoldCall final : public Call {
 public:
  explicit AskedHoldCall(MakeThen& make_then) : make_then_(make_then) {}

  Call& defer() override { return *new KeptHoldCall<Call, std::invoke_result_t<MakeThen&>>(*this, make_then_()); }
  void complete() override { assert(false && "after defer(), the call that it returned is completed"); }

 private:
  MakeThen& make_then_;
};

template <typename Now, typename MakeThen>
void ask(LeaseLimiter& limiter, const LeaseQuestion& question, Now&& now, MakeThen&& make_then) {
  AskedHoldCall<LeaseCall, std::remove_reference_t<MakeThen>> call(make_then);
  call.question = question;
  if (limiter.begin_lease(call)) now(std::as_const(call.answer));
}

template <typename Now, typename MakeThen>
void ask(ReservationLimiter& limiter, const ReservationQuestion& question, Now&& now, MakeThen&& make_then) {
  AskedHoldCall<ReservationCall, std::remove_reference_t<MakeThen>> call(make_then);
  call.question = question;
  if (limiter.begin_reservation(call)) now(std::as_const(call.answer));
}

}  // namespace weir
