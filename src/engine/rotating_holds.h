// HoldRotation: one question about a lease or a reservation on its way through both limiters of a rotation
// (rotating_limiter.h). The one with the previous key is asked first and decides; what it has taken is taken under the
// current key too, and what only the previous one gave is given back.
//
// What the two kinds of hold do differently is in `Side` (rotating_leases.cc, rotating_reservations.cc):
//
//   using Limiter, using Call
//   static bool begin(Limiter&, Call&)               asks
//   static constexpr Verb kTake, kGiveBack           of Call's question
//   static bool is_over(question, first)             the current key need not be asked after this answer
//   static void follow(question, first)              changes what the current key is asked for a new hold
//   static void join(first, second)                  the answer of both, where both keys have the hold
//   static constexpr bool kJoinsLater                also for a hold that was taken before
//
// Owns itself; each step may be answered later, on another thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "engine/hold_ids.h"
#include "engine/rotated_request.h"

namespace weir::engine {

template <typename Side>
class HoldRotation final : public Side::Call {
 public:
  using Limiter = typename Side::Limiter;
  using Call = typename Side::Call;

  HoldRotation(Limiter& before, Limiter& after, Call& outer)
      : before_(before), after_(after), outer_(&outer), request_(outer.question.request) {}

  // True: answered.
  bool start() {
    ask(before_, request_.previous, &HoldRotation::asked_before);
    const bool answered = !deferred_;
    end_one();
    return answered;
  }

  HoldRotation& defer() override {
    if (std::exchange(deferred_, true)) return *this;
    request_.keep();
    id_ = outer_->question.id;
    caller_ = outer_->question.caller;
    handle_ = outer_->question.handle;
    Question kept = outer_->question;
    kept.id = id_;
    kept.caller = caller_;
    kept.handle = handle_;
    outer_ = &outer_->defer();
    outer_->question = kept;
    return *this;
  }
  void complete() override { (this->*next_)(); }

 private:
  using Question = decltype(Call::question);
  using Answer = decltype(Call::answer);
  using Step = void (HoldRotation::*)();

  void ask(Limiter& limiter, const Request& request, Step next) {
    Question asked = outer_->question;
    asked.request = request;
    if (next == &HoldRotation::taken_after) Side::follow(asked, first_);
    begin(limiter, asked, next);
  }
  void begin(Limiter& limiter, const Question& asked, Step next) {
    next_ = next;
    this->question = asked;
    this->answer = Answer();
    if (Side::begin(limiter, *this)) (this->*next)();
  }

  static bool is_held(const Answer& answer) { return answer.fault == HoldFault::none && answer.decision.allowed; }

  void asked_before() {
    first_ = std::move(this->answer);
    if (Side::is_over(outer_->question, first_)) return finish();
    const bool takes = outer_->question.verb == Side::kTake;
    ask(after_, request_.current, takes ? &HoldRotation::taken_after : &HoldRotation::asked_after);
  }

  // What only the previous key gave is given back, and the answer is the current key's.
  void taken_after() {
    if (is_held(this->answer)) {
      join();
      return finish();
    }
    handle_ = std::exchange(first_, std::move(this->answer)).handle;
    Question back;
    back.verb = Side::kGiveBack;
    back.handle = handle_;
    begin(before_, back, &HoldRotation::finish);
  }

  // The previous key decides. A handle may have one half only: from before the rotation, or from after it.
  void asked_after() {
    const bool undone = first_.fault == HoldFault::none && this->answer.fault == HoldFault::unavailable;
    if (first_.fault == HoldFault::forged || undone) {
      first_ = std::move(this->answer);
    } else if (Side::kJoinsLater && is_held(first_) && is_held(this->answer)) {
      join();
    }
    finish();
  }

  // A hold that both keys have lives as long as it does under both.
  void join() {
    const Answer& second = this->answer;
    if (second.fencing_token && first_.fencing_token) {
      first_.fencing_token = std::max(*first_.fencing_token, *second.fencing_token);
    }
    if (second.handle.empty()) return;
    first_.handle += HoldIds::kSeparator + second.handle;
    first_.expires = std::min(first_.expires, second.expires);
    Side::join(first_, second);
  }

  void finish() {
    outer_->answer = std::move(first_);
    end_one();
  }
  void end_one() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::unique_ptr<HoldRotation> self(this);
    if (deferred_) outer_->complete();
  }

  Limiter& before_;
  Limiter& after_;
  Call* outer_;
  RotatedRequest request_;
  Answer first_;
  Step next_ = nullptr;
  bool deferred_ = false;
  std::string id_;
  std::string caller_;
  std::string handle_;
  std::atomic<int> left_{2};  // start() and the last step
};

}  // namespace weir::engine
