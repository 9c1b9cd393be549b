// Leases while the hash key is being rotated: RotatingLimiter::begin_lease().
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
class LeaseRotation final : public LeaseCall {
 public:
  LeaseRotation(LeaseLimiter& before, LeaseLimiter& after, LeaseCall& outer)
      : before_(before), after_(after), outer_(&outer), request_(outer.question.request) {}

  // True: answered.
  bool start() {
    ask(before_, request_.previous, &LeaseRotation::asked_before);
    const bool answered = !deferred_;
    end_one();
    return answered;
  }

  LeaseRotation& defer() override {
    if (std::exchange(deferred_, true)) return *this;
    request_.keep();
    id_ = outer_->question.id;
    caller_ = outer_->question.caller;
    handle_ = outer_->question.handle;
    outer_->question.id = id_;
    outer_->question.caller = caller_;
    outer_->question.handle = handle_;
    const LeaseQuestion kept = outer_->question;
    outer_ = &outer_->defer();
    outer_->question = kept;
    return *this;
  }
  void complete() override { (this->*next_)(); }

 private:
  using Step = void (LeaseRotation::*)();
  using Verb = LeaseQuestion::Verb;

  void ask(LeaseLimiter& limiter, const Request& request, Step next) {
    next_ = next;
    question = outer_->question;
    question.request = request;
    answer = LeaseAnswer();
    if (limiter.begin_lease(*this)) (this->*next)();
  }

  static bool is_held(const LeaseAnswer& answer) { return answer.fault == HoldFault::none && answer.decision.allowed; }

  void asked_before() {
    first_ = std::move(answer);
    const Verb verb = outer_->question.verb;
    const bool over = verb == Verb::list || (verb == Verb::acquire && !is_held(first_)) ||
                      first_.fault == HoldFault::invalid || first_.fault == HoldFault::gone;
    if (over) return finish();
    ask(after_, request_.current, verb == Verb::acquire ? &LeaseRotation::acquired_after : &LeaseRotation::asked_after);
  }

  // What only the previous key gave is given back, and the answer is the current key's.
  void acquired_after() {
    if (is_held(answer)) {
      join();
      return finish();
    }
    const std::string taken = std::exchange(first_, std::move(answer)).handle;
    next_ = &LeaseRotation::finish;
    question = LeaseQuestion();
    question.verb = Verb::release;
    handle_ = taken;
    question.handle = handle_;
    answer = LeaseAnswer();
    if (before_.begin_lease(*this)) finish();
  }

  // The previous key decides. A handle may have one half only: from before the rotation, or from after it.
  void asked_after() {
    if (first_.fault == HoldFault::forged)
      first_ = std::move(answer);
    else if (first_.fault == HoldFault::none && answer.fault == HoldFault::unavailable)
      first_ = std::move(answer);
    else if (is_held(first_) && is_held(answer))
      join();
    finish();
  }

  void join() {
    if (!answer.handle.empty()) first_.handle += HoldIds::kSeparator + answer.handle;
    if (answer.fencing_token && first_.fencing_token) {
      first_.fencing_token = std::max(*first_.fencing_token, *answer.fencing_token);
    }
    if (answer.handle.empty()) return;
    first_.expires = std::min(first_.expires, answer.expires);
    first_.ttl = std::min(first_.ttl, answer.ttl);
  }

  void finish() {
    outer_->answer = std::move(first_);
    end_one();
  }
  void end_one() {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) > 1) return;
    const std::unique_ptr<LeaseRotation> self(this);
    if (deferred_) outer_->complete();
  }

  LeaseLimiter& before_;
  LeaseLimiter& after_;
  LeaseCall* outer_;
  RotatedRequest request_;
  LeaseAnswer first_;
  Step next_ = nullptr;
  bool deferred_ = false;
  std::string id_;
  std::string caller_;
  std::string handle_;
  std::atomic<int> left_{2};  // start() and the last step
};

}  // namespace

bool RotatingLimiter::begin_lease(LeaseCall& call) {
  auto* const rotation = new LeaseRotation(*previous_.leases(), *current_.leases(), call);  // owns itself
  return rotation->start();
}

}  // namespace weir::engine
