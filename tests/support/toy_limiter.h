// ToyLimiter: for the tests of front ends. Gives the answers that the test sets, at once or when asked to, and records
// what it was asked. Thread-safe.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/pending_call.h"
#include "tests/support/toy_holds.h"
#include "weir/ad_hoc.h"
#include "weir/limiter.h"

namespace weir::http {

class ToyLimiter final : public Limiter, public AdHocLimiter {
 public:
  using Decide = std::function<Decision(const Request&)>;

  // When its decisions are made: 2026-07-01T12:00:00.123456Z.
  static constexpr std::int64_t kMadeAt = 1'782'907'200'123'456;

  // One enforced rule, "search-per-key", with 119 of 120 left.
  static Decision allowed(const Request& request) {
    Decision decision;
    decision.reason = Reason::ok;
    decision.deciding = 0;
    decision.cost = request.cost.units;
    decision.at = from_micros(kMadeAt);
    decision.source = "memory";
    RuleOutcome rule;
    rule.rule = "search-per-key";
    rule.subject = {0x9c41d2e07b5a1234, 0x5678};
    rule.algorithm = Algorithm::token_bucket;
    rule.limit = 120;
    rule.remaining = 119;
    rule.capacity = 120;
    rule.cost = request.cost.units;
    rule.window = std::chrono::seconds(60);
    rule.reset_after = std::chrono::milliseconds(500);
    decision.rules.push_back(rule);
    return decision;
  }
  static Decision denied(const Request& request) {
    Decision decision = allowed(request);
    decision.allowed = false;
    decision.reason = Reason::limit_exceeded;
    decision.retry_after = std::chrono::milliseconds(1'200);
    decision.rules[0].allowed = false;
    decision.rules[0].remaining = 0;
    decision.rules[0].retry_after = std::chrono::milliseconds(1'200);
    decision.rules[0].reset_after = std::chrono::seconds(60);
    return decision;
  }

  void decide_by(Decide decide) { decide_ = std::move(decide); }
  // From now on answers wait for complete(); each is decided when the request comes.
  void defer() { immediate_ = false; }

  std::size_t pending() {
    const std::lock_guard lock(mutex_);
    return pending_.size();
  }
  // Answers the i-th of the pending requests, on the calling thread.
  void complete(std::size_t i) {
    std::unique_lock lock(mutex_);
    const Pending answered = std::move(pending_[i]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    lock.unlock();
    answered.call->decisions()[answered.index] = answered.decision;
    answered.call->arrived();
  }
  // "tenant=acme action=search cost=1", for each request so far.
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

  bool begin(CheckCall& call) override { return begin(call, *new engine::PendingCall(call)); }
  // Charges are admitted at once.
  bool begin_group(GroupCall& call) override {
    if (!call.actions.empty()) call.action = call.actions.front();
    return begin(call, *new engine::PendingCall(call));
  }
  AdHocLimiter* ad_hoc() override { return this; }
  ToyLeases* leases() override { return &leases_; }
  ToyReservations* reservations() override { return &reservations_; }
  Status replace(const Rules&) override { return success(); }
  Status reload() override { return success(); }

 private:
  struct Pending {
    Decision decision;
    std::size_t index;
    engine::PendingCall* call;
  };

  bool begin(CheckCall& call, engine::PendingCall& pending) {
    for (std::size_t i = 0; i < call.requests.size(); ++i) {
      note(call.action == Action::refund ? "refund " : "", call.requests[i]);
      if (immediate_) {
        call.decisions[i] = decide_(call.requests[i]);
        continue;
      }
      pending.defer();
      pending.expect();
      const std::lock_guard lock(mutex_);
      pending_.push_back({decide_(call.requests[i]), i, &pending});
    }
    return pending.settle();
  }
  void note(const char* verb, const Request& request) {
    std::string text = verb;
    for (const Attribute& each : request.attributes) {
      text += std::string(each.name) + "=" + std::string(each.value) + " ";
    }
    text += "cost=" + std::to_string(request.cost.units);
    if (request.peek) text += " peek";
    if (request.ingress != TimePoint{}) text += " at=" + std::to_string(micros(request.ingress));
    const std::lock_guard lock(mutex_);
    asked_.push_back(std::move(text));
  }

  Decide decide_ = allowed;
  bool immediate_ = true;
  std::mutex mutex_;
  std::vector<Pending> pending_;
  std::vector<std::string> asked_;
  ToyLeases leases_;
  ToyReservations reservations_;
};

}  // namespace weir::http
