// ToyLink and ToyLimiter: the two collaborators of the gRPC front end, for tests without sockets, stores or clocks.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/pending_call.h"
#include "frontends/transport/protocol.h"
#include "weir/ad_hoc.h"
#include "weir/limiter.h"

namespace weir::grpc {

// A connection whose output is a string and whose timers run when the test says so.
class ToyLink final : public transport::Link, public std::enable_shared_from_this<ToyLink> {
 public:
  const transport::Peer& peer() const override { return peer_; }
  std::string& output() override { return output_; }
  void flush() override {}
  void close() override { closed_ = true; }
  void pause() override {}
  void resume() override {}
  bool congested() const override { return output_.size() > most_output_; }
  bool reserve(std::size_t input, std::size_t own) override {
    if (input + own > memory_) return false;
    reserved_ = input + own;
    return true;
  }
  std::shared_ptr<Link> hold() override { return shared_from_this(); }
  bool closed() const override { return closed_; }
  void after(Duration delay, std::function<void()> task) override { timers_.emplace_back(delay, std::move(task)); }
  bool on_loop() const override { return true; }
  void post(std::function<void()> task) override { task(); }

  // Runs the timers that are set now and no longer than `delay`.
  void run_timers(Duration delay) {
    std::vector<std::pair<Duration, std::function<void()>>> due;
    due.swap(timers_);
    for (auto& [when, task] : due) {
      if (when > delay) {
        timers_.emplace_back(when, std::move(task));
      } else if (!closed_) {
        task();
      }
    }
  }
  std::size_t timers() const { return timers_.size(); }
  std::string take_output() { return std::exchange(output_, {}); }
  // All that there is to reserve.
  void set_memory(std::size_t bytes) { memory_ = bytes; }
  std::size_t reserved() const { return reserved_; }
  // A peer that does not read more than this.
  void set_most_output(std::size_t bytes) { most_output_ = bytes; }

 private:
  transport::Peer peer_;
  std::string output_;
  std::vector<std::pair<Duration, std::function<void()>>> timers_;
  std::size_t memory_ = SIZE_MAX;
  std::size_t reserved_ = 0;
  bool closed_ = false;
  std::size_t most_output_ = SIZE_MAX;
};

// Gives the answers that the test sets and records what it was asked. With `later`, answers when answer_all() is
// called.
class ToyLimiter final : public Limiter, public AdHocLimiter {
 public:
  struct Asked {
    std::vector<std::pair<std::string, std::string>> attributes;
    std::int64_t cost = 0;
    bool peek = false;
    Action action = Action::take;
    std::vector<std::string> subject;  // of an ad-hoc charge
    std::int64_t limit = 0;
    Duration window{0};
    TimePoint ingress{};
  };

  bool later = false;
  Decision answer;  // used when `answers` is empty
  std::deque<Decision> answers;
  ChargeOutcome charged;
  std::vector<Asked> asked;
  std::function<void()> on_ask;

  bool begin(CheckCall& call) override {
    auto* const pending = new engine::PendingCall(call);
    for (std::size_t i = 0; i < call.requests.size(); ++i) answer_request(*pending, i, call.requests[i], call.action);
    return pending->settle();
  }
  bool begin_group(GroupCall& call) override {
    auto* const pending = new engine::PendingCall(call);
    for (std::size_t i = 0; i < call.requests.size(); ++i) {
      answer_request(*pending, i, call.requests[i], call.actions.empty() ? call.action : call.actions[i]);
    }
    for (std::size_t i = 0; i < call.charges.size(); ++i) {
      answer_when_due(*pending,
                      [outcome = ask(call.charges[i]), i](engine::PendingCall& due) { due.outcomes()[i] = outcome; });
    }
    return pending->settle();
  }
  AdHocLimiter* ad_hoc() override { return this; }
  Status replace(const Rules&) override { return success(); }
  Status reload() override { return success(); }

  void answer_all() {
    std::vector<std::function<void()>> due;
    due.swap(due_);
    for (const auto& task : due) task();
  }

 private:
  Decision ask(const Request& request, Action action) {
    Asked question;
    for (const Attribute& attribute : request.attributes)
      question.attributes.emplace_back(attribute.name, attribute.value);
    question.cost = request.cost.units;
    question.peek = request.peek || action == Action::peek;
    question.action = action;
    question.ingress = request.ingress;
    asked.push_back(std::move(question));
    if (on_ask) on_ask();
    if (answers.empty()) return answer;
    Decision next = answers.front();
    answers.pop_front();
    return next;
  }
  ChargeOutcome ask(const AdHocCharge& charge) {
    Asked question;
    for (const std::string_view part : charge.subject) question.subject.emplace_back(part);
    question.cost = charge.cost.units;
    question.action = charge.action;
    question.limit = charge.allowance->limit;
    question.window = charge.allowance->window;
    question.ingress = charge.ingress;
    asked.push_back(std::move(question));
    return charged;
  }
  void answer_request(engine::PendingCall& pending, std::size_t index, const Request& request, Action action) {
    answer_when_due(pending, [decision = ask(request, action), index](engine::PendingCall& due) {
      due.decisions()[index] = decision;
    });
  }
  template <typename Write>
  void answer_when_due(engine::PendingCall& pending, Write write) {
    if (!later) return write(pending);
    pending.defer();
    pending.expect();
    due_.emplace_back([&pending, write] {
      write(pending);
      pending.arrived();
    });
  }

  std::vector<std::function<void()>> due_;
};

// A decision by one rule.
inline Decision toy_decision(std::string_view rule, std::int64_t limit, std::int64_t remaining, Duration window,
                             bool allowed = true) {
  RuleOutcome outcome;
  outcome.rule = rule;
  outcome.algorithm = Algorithm::token_bucket;
  outcome.limit = limit;
  outcome.remaining = remaining;
  outcome.capacity = limit;
  outcome.window = window;
  outcome.allowed = allowed;
  outcome.cost = 1;
  outcome.reset_after = window / 2;
  outcome.retry_after = allowed ? Duration{0} : window / 2;
  Decision decision;
  decision.allowed = allowed;
  decision.reason = allowed ? Reason::ok : Reason::limit_exceeded;
  decision.deciding = 0;
  decision.cost = 1;
  decision.retry_after = outcome.retry_after;
  decision.source = "toy";
  decision.rules.push_back(outcome);
  return decision;
}

}  // namespace weir::grpc
