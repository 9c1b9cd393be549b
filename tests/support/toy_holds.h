// ToyLeases and ToyReservations: for the tests of front ends, as ToyLimiter is for checks. They answer what they are
// told to, at once or when asked to, and remember what they were asked.
//
//   ToyLeases leases;                                              // every lease is granted
//   leases.answer_by([](const LeaseQuestion&) { return LeaseAnswer{.fault = HoldFault::gone}; });
//   leases.defer();                                                // from now on answers wait for complete(i)
//   EXPECT_EQ(leases.asked().back(), "acquire tenant=acme cost=1 ttl=30000ms id=job-7 caller=worker");
//
// Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "weir/leases.h"
#include "weir/reservations.h"

namespace weir::http {

template <typename Question, typename Answer>
class ToyHolds {
 public:
  using Call = HoldCall<Question, Answer>;
  using Reply = std::function<Answer(const Question&)>;

  explicit ToyHolds(Reply reply) : reply_(std::move(reply)) {}

  void answer_by(Reply reply) { reply_ = std::move(reply); }
  void defer() { immediate_ = false; }

  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }
  // Answers the i-th of the pending questions, on the calling thread.
  void complete(std::size_t i) {
    std::unique_lock lock(mutex_);
    Call* const call = pending_[i];
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    lock.unlock();
    call->complete();
  }
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  bool begin(Call& call, std::string text) {
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(text));
    call.answer = reply_(call.question);
    if (immediate_) return true;
    pending_.push_back(&call.defer());
    return false;
  }

 private:
  Reply reply_;
  bool immediate_ = true;
  std::mutex mutex_;
  std::vector<Call*> pending_;
  std::vector<std::string> asked_;
};

// What a question says, without what it leaves open.
class ToyText {
 public:
  explicit ToyText(std::string verb) : text_(std::move(verb)) {}
  ToyText& add(const Request& request) {
    for (const Attribute& each : request.attributes) text(each.name, each.value);
    return number("cost", request.cost.units);
  }
  ToyText& text(std::string_view name, std::string_view value) {
    if (!value.empty()) text_.append(" ").append(name).append("=").append(value);
    return *this;
  }
  ToyText& number(std::string_view name, std::int64_t value, std::string_view unit = "") {
    text_.append(" ").append(name).append("=").append(std::to_string(value)).append(unit);
    return *this;
  }
  ToyText& ttl(Duration ttl) { return ttl == Duration::zero() ? *this : number("ttl", ttl.count() / 1'000, "ms"); }
  ToyText& flag(std::string_view name, bool set) {
    if (set) text_.append(" ").append(name);
    return *this;
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// One enforced concurrency rule, "exports-active", with 2 of 3 left.
inline Decision toy_slot(const Request& request) {
  Decision decision;
  decision.reason = Reason::ok;
  decision.deciding = 0;
  decision.cost = request.cost.units;
  decision.source = "memory";
  RuleOutcome rule;
  rule.rule = "exports-active";
  rule.kind = ChargeKind::lease;
  rule.limit = 3;
  rule.remaining = 2;
  rule.capacity = 3;
  rule.cost = request.cost.units;
  rule.reset_after = std::chrono::seconds(30);
  decision.rules.push_back(rule);
  return decision;
}

class ToyLeases final : public LeaseLimiter, public ToyHolds<LeaseQuestion, LeaseAnswer> {
 public:
  ToyLeases() : ToyHolds(granted) {}

  // acquire and renew: the lease "toy-lease", which lives until 1,800,000,030 s. release: without a fault. list: none.
  static LeaseAnswer granted(const LeaseQuestion& question) {
    LeaseAnswer answer;
    const bool acquires = question.verb == LeaseQuestion::Verb::acquire;
    if (!acquires && question.verb != LeaseQuestion::Verb::renew) return answer;
    answer.decision = toy_slot(question.request);
    answer.created = acquires;
    answer.handle = "toy-lease";
    answer.fencing_token = 1'800'000'000'000'000;
    answer.expires = from_micros(1'800'000'030'000'000);
    answer.ttl = std::chrono::seconds(30);
    return answer;
  }
  static LeaseAnswer denied(const LeaseQuestion& question) {
    LeaseAnswer answer;
    answer.decision = toy_slot(question.request);
    answer.decision.allowed = false;
    answer.decision.reason = Reason::concurrency_exceeded;
    answer.decision.retry_after = std::chrono::milliseconds(700);
    answer.decision.rules[0].allowed = false;
    answer.decision.rules[0].remaining = 0;
    answer.decision.rules[0].retry_after = std::chrono::milliseconds(700);
    return answer;
  }

  bool begin_lease(LeaseCall& call) override {
    static constexpr const char* kVerbs[] = {"acquire", "renew", "release", "list"};
    const LeaseQuestion& asked = call.question;
    ToyText text(kVerbs[static_cast<std::size_t>(asked.verb)]);
    if (asked.verb == LeaseQuestion::Verb::acquire || asked.verb == LeaseQuestion::Verb::list) text.add(asked.request);
    text.text("handle", asked.handle).ttl(asked.ttl).text("id", asked.id).text("caller", asked.caller);
    return begin(call, text.take());
  }
};

class ToyReservations final : public ReservationLimiter, public ToyHolds<ReservationQuestion, ReservationAnswer> {
 public:
  ToyReservations() : ToyHolds(granted) {}

  // The reservation "toy-reservation" of as many units as were asked for (100 by estimate), which closes as it is told.
  static ReservationAnswer granted(const ReservationQuestion& question) {
    using Verb = ReservationQuestion::Verb;
    ReservationAnswer answer;
    answer.decision = toy_slot(question.request);
    answer.created = question.verb == Verb::reserve && !question.dry_run;
    answer.granted = question.amount.value_or(100);
    if (!question.amount && question.verb == Verb::reserve) answer.estimated = 100;
    if (!question.dry_run) answer.handle = "toy-reservation";
    answer.id = std::string_view("000102030405060708090a0b0c0d0e0f");
    answer.expires = from_micros(1'800'000'060'000'000);
    if (question.verb == Verb::release) answer.state = ReservationState::released;
    if (question.verb != Verb::commit) return answer;
    answer.state = ReservationState::committed;
    answer.actual = question.actual;
    answer.returned = std::max<std::int64_t>(0, answer.granted - question.actual);
    answer.debt = std::max<std::int64_t>(0, question.actual - answer.granted);
    return answer;
  }

  bool begin_reservation(ReservationCall& call) override {
    using Verb = ReservationQuestion::Verb;
    static constexpr const char* kVerbs[] = {"reserve", "commit", "release", "extend", "get", "list"};
    const ReservationQuestion& asked = call.question;
    ToyText text(kVerbs[static_cast<std::size_t>(asked.verb)]);
    if (asked.verb == Verb::reserve || asked.verb == Verb::list) text.add(asked.request);
    text.text("handle", asked.handle);
    if (asked.amount) text.number("amount", *asked.amount);
    if (asked.verb == Verb::commit) text.number("actual", asked.actual);
    text.ttl(asked.ttl).flag("partial", asked.partial).flag("dry_run", asked.dry_run);
    text.text("id", asked.id).text("caller", asked.caller);
    return begin(call, text.take());
  }
};

}  // namespace weir::http
