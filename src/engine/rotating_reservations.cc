// Reservations while the hash key is being rotated: RotatingLimiter::begin_reservation().
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "engine/hold_ids.h"
#include "engine/rotated_request.h"
#include "engine/rotating_limiter.h"

namespace weir::engine {
namespace {

// One question on its way through both limiters. Owns itself; each step may be answered later, on another thread.
class ReservationRotation final : public ReservationCall {
 public:
  ReservationRotation(ReservationLimiter& before, ReservationLimiter& after, ReservationCall& outer)
      : before_(before), after_(after), outer_(&outer), request_(outer.question.request) {}

  // True: answered.
  bool start() {
    ask(before_, request_.previous, &ReservationRotation::asked_before);
    const bool answered = !deferred_;
    end_one();
    return answered;
  }

  ReservationRotation& defer() override {
    if (std::exchange(deferred_, true)) return *this;
    request_.keep();
    id_ = outer_->question.id;
    caller_ = outer_->question.caller;
    handle_ = outer_->question.handle;
    outer_->question.id = id_;
    outer_->question.caller = caller_;
    outer_->question.handle = handle_;
    const ReservationQuestion kept = outer_->question;
    outer_ = &outer_->defer();
    outer_->question = kept;
    return *this;
  }
  void complete() override { (this->*next_)(); }

 private:
  using Step = void (ReservationRotation::*)();
  using Verb = ReservationQuestion::Verb;

  void ask(ReservationLimiter& limiter, const Request& request, Step next) {
    next_ = next;
    question = outer_->question;
    question.request = request;
    if (second_) {  // of the current key: what the previous one has granted
      question.partial = false;
      if (question.verb == Verb::reserve) question.amount = first_.granted;
    }
    answer = ReservationAnswer();
    if (limiter.begin_reservation(*this)) (this->*next)();
  }

  static bool is_held(const ReservationAnswer& answer) {
    return answer.fault == HoldFault::none && answer.decision.allowed;
  }

  void asked_before() {
    first_ = std::move(answer);
    const Verb verb = outer_->question.verb;
    const bool denied =
        (verb == Verb::reserve || verb == Verb::extend) && first_.fault == HoldFault::none && !first_.decision.allowed;
    if (verb == Verb::list || denied || outer_->question.dry_run ||
        (first_.fault != HoldFault::none && first_.fault != HoldFault::forged)) {
      return finish();
    }
    second_ = verb == Verb::reserve;
    ask(after_, request_.current,
        verb == Verb::reserve ? &ReservationRotation::reserved_after : &ReservationRotation::asked_after);
  }

  // What only the previous key gave is given back, and the answer is the current key's.
  void reserved_after() {
    if (is_held(answer)) {
      first_.handle += HoldIds::kSeparator + answer.handle;
      first_.expires = std::min(first_.expires, answer.expires);
      if (answer.fencing_token && first_.fencing_token) {
        first_.fencing_token = std::max(*first_.fencing_token, *answer.fencing_token);
      }
      return finish();
    }
    const std::string taken = std::exchange(first_, std::move(answer)).handle;
    next_ = &ReservationRotation::finish;
    question = ReservationQuestion();
    question.verb = Verb::release;
    handle_ = taken;
    question.handle = handle_;
    answer = ReservationAnswer();
    if (before_.begin_reservation(*this)) finish();
  }

  // The previous key decides. A handle may have one half only: from before the rotation, or from after it.
  void asked_after() {
    if (first_.fault == HoldFault::forged || answer.fault == HoldFault::unavailable) first_ = std::move(answer);
    finish();
  }

  void finish() {
    outer_->answer = std::move(first_);
    end_one();
  }
  void end_one() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::unique_ptr<ReservationRotation> self(this);
    if (deferred_) outer_->complete();
  }

  ReservationLimiter& before_;
  ReservationLimiter& after_;
  ReservationCall* outer_;
  RotatedRequest request_;
  ReservationAnswer first_;
  Step next_ = nullptr;
  bool second_ = false;
  bool deferred_ = false;
  std::string id_;
  std::string caller_;
  std::string handle_;
  std::atomic<int> left_{2};  // start() and the last step
};

}  // namespace

bool RotatingLimiter::begin_reservation(ReservationCall& call) {
  auto* const rotation =
      new ReservationRotation(*previous_.reservations(), *current_.reservations(), call);  // owns itself
  return rotation->start();
}

}  // namespace weir::engine
