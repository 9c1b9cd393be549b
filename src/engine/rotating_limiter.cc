#include "engine/rotating_limiter.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/inline_vector.h"

namespace weir::engine {
namespace {

bool is_of_previous(const Attribute& attribute) { return attribute.name.ends_with(RotatingLimiter::kPreviousSuffix); }

// One request as each of the two engines is to see it. Refers to the request's strings. Requests beyond the bounds
// reach the engines as they are, to be refused there.
class TwoRequests {
 public:
  explicit TwoRequests(const Request& request) : previous_(request), current_(request) {
    const std::span<const Attribute> all = request.attributes;
    if (all.size() > kMaxAttributes || std::none_of(all.begin(), all.end(), is_of_previous)) return;
    for (const Attribute& attribute : all) {
      if (is_of_previous(attribute)) continue;
      current_attributes_.push_back(attribute);
      previous_attributes_.push_back({attribute.name, previous_value(all, attribute)});
    }
    previous_.attributes = {previous_attributes_.data(), previous_attributes_.size()};
    current_.attributes = {current_attributes_.data(), current_attributes_.size()};
  }
  TwoRequests(const TwoRequests&) = delete;
  TwoRequests& operator=(const TwoRequests&) = delete;

  const Request& previous() const { return previous_; }
  const Request& current() const { return current_; }

 private:
  static std::string_view previous_value(std::span<const Attribute> all, const Attribute& attribute) {
    for (const Attribute& other : all) {
      if (!is_of_previous(other)) continue;
      if (other.name.substr(0, other.name.size() - RotatingLimiter::kPreviousSuffix.size()) == attribute.name) {
        return other.value;
      }
    }
    return attribute.value;
  }

  Request previous_;
  Request current_;
  InlineVector<Attribute, 16> previous_attributes_;
  InlineVector<Attribute, 16> current_attributes_;
};

// A request that outlives the call that brought it.
class KeptRequest {
 public:
  explicit KeptRequest(const Request& request) : request_(request) {
    std::size_t size = 0;
    for (const Attribute& attribute : request.attributes) size += attribute.name.size() + attribute.value.size();
    text_.reserve(size);  // so that it never moves
    for (const Attribute& attribute : request.attributes) {
      attributes_.push_back({keep(attribute.name), keep(attribute.value)});
    }
    request_.attributes = attributes_;
  }
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;

  const Request& request() const { return request_; }

 private:
  std::string_view keep(std::string_view text) {
    const std::size_t start = text_.size();
    text_ += text;
    return std::string_view(text_).substr(start);
  }

  std::string text_;
  std::vector<Attribute> attributes_;
  Request request_;
};

// The same for a charge.
class KeptCharge {
 public:
  explicit KeptCharge(const AdHocCharge& charge)
      : space_(charge.space), allowance_(*charge.allowance), charge_(charge) {
    for (const std::string_view part : charge.subject) parts_.emplace_back(part);
    for (const std::string& part : parts_) subject_.push_back(part);
    charge_.space = space_;
    charge_.subject = subject_;
    charge_.allowance = &allowance_;
  }
  KeptCharge(const KeptCharge&) = delete;
  KeptCharge& operator=(const KeptCharge&) = delete;

  const AdHocCharge& charge() const { return charge_; }
  AdHocCharge given_back() const {
    AdHocCharge back = charge_;
    back.action = Action::refund;
    return back;
  }

 private:
  std::string space_;
  Allowance allowance_;
  std::vector<std::string> parts_;
  std::vector<std::string_view> subject_;
  AdHocCharge charge_;
};

bool is_admitted(const ChargeOutcome& outcome) { return outcome.status == Code::ok && outcome.admitted; }

bool are_admitted(std::span<const Decision> decisions, std::span<const ChargeOutcome> outcomes) {
  return std::all_of(decisions.begin(), decisions.end(), [](const Decision& decision) { return decision.allowed; }) &&
         std::all_of(outcomes.begin(), outcomes.end(), is_admitted);
}

// Several requests and charges that outlive the call that brought them, and what the previous engine made of them.
struct KeptTogether {
  KeptTogether(std::span<const Request> from, std::span<const AdHocCharge> with) {
    for (const Request& request : from) kept_requests.push_back(std::make_unique<const KeptRequest>(request));
    for (const AdHocCharge& charge : with) kept_charges.push_back(std::make_unique<const KeptCharge>(charge));
    for (const auto& kept : kept_requests) requests.push_back(kept->request());
    for (const auto& kept : kept_charges) charges.push_back(kept->charge());
  }
  void give_back(Engine& engine) const {
    for (const Request& request : requests) engine.refund(request, [](const Decision&) {});
    for (const auto& kept : kept_charges) engine.charge(kept->given_back(), [](const ChargeOutcome&) {});
  }

  std::vector<std::unique_ptr<const KeptRequest>> kept_requests;
  std::vector<std::unique_ptr<const KeptCharge>> kept_charges;
  std::vector<Request> requests;
  std::vector<AdHocCharge> charges;
  std::vector<Decision> decisions;
  std::vector<ChargeOutcome> outcomes;
};

}  // namespace

Decision RotatingLimiter::check(const Request& request) {
  const TwoRequests two(request);
  Decision decided = previous_.check(two.previous());
  if (request.peek || !decided.allowed) return decided;
  Decision charged = current_.check(two.current());
  if (charged.allowed) return decided;
  static_cast<void>(previous_.refund(two.previous()));
  return charged;
}

void RotatingLimiter::check(const Request& request, Completion done) {
  if (request.peek) return previous_.check(TwoRequests(request).previous(), std::move(done));
  auto kept = std::make_shared<const KeptRequest>(request);
  previous_.check(TwoRequests(kept->request()).previous(), [this, kept,
                                                            done = std::move(done)](const Decision& decided) {
    if (!decided.allowed) return done(decided);
    current_.check(TwoRequests(kept->request()).current(), [this, kept, done, decided](const Decision& charged) {
      if (charged.allowed) return done(decided);
      previous_.refund(TwoRequests(kept->request()).previous(), [done, charged](const Decision&) { done(charged); });
    });
  });
}

void RotatingLimiter::check_batch(std::span<const Request> requests, std::span<Decision> decisions) {
  for (std::size_t i = 0; i < requests.size(); ++i) decisions[i] = check(requests[i]);
}

Decision RotatingLimiter::refund(const Request& request) {
  const TwoRequests two(request);
  static_cast<void>(current_.refund(two.current()));
  return previous_.refund(two.previous());
}

void RotatingLimiter::refund(const Request& request, Completion done) {
  auto kept = std::make_shared<const KeptRequest>(request);
  current_.refund(TwoRequests(kept->request()).current(), [this, kept, done = std::move(done)](const Decision&) {
    previous_.refund(TwoRequests(kept->request()).previous(), done);
  });
}

Decision RotatingLimiter::reset(const Request& request) {
  const TwoRequests two(request);
  static_cast<void>(current_.reset(two.current()));
  return previous_.reset(two.previous());
}

ChargeOutcome RotatingLimiter::charge(const AdHocCharge& charge) {
  const ChargeOutcome decided = previous_.charge(charge);
  if (charge.action == Action::peek || !is_admitted(decided)) return decided;
  const ChargeOutcome charged = current_.charge(charge);
  if (charge.action != Action::take || is_admitted(charged)) return decided;
  static_cast<void>(previous_.charge(KeptCharge(charge).given_back()));
  return charged;
}

void RotatingLimiter::charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) {
  if (charge.action == Action::peek) return previous_.charge(charge, std::move(done));
  auto kept = std::make_shared<const KeptCharge>(charge);
  previous_.charge(kept->charge(), [this, kept, done = std::move(done)](const ChargeOutcome& decided) {
    if (!is_admitted(decided)) return done(decided);
    current_.charge(kept->charge(), [this, kept, done, decided](const ChargeOutcome& charged) {
      if (kept->charge().action != Action::take || is_admitted(charged)) return done(decided);
      previous_.charge(kept->given_back(), [done, charged](const ChargeOutcome&) { done(charged); });
    });
  });
}

void check_together(Engine& previous, Engine& current, std::span<const Request> requests,
                    std::span<const AdHocCharge> charges, Engine::Together done) {
  auto kept = std::make_shared<KeptTogether>(requests, charges);
  const auto decided = [&previous, &current, kept, done = std::move(done)](std::span<const Decision> decisions,
                                                                           std::span<const ChargeOutcome> outcomes) {
    if (!are_admitted(decisions, outcomes)) return done(decisions, outcomes);
    kept->decisions.assign(decisions.begin(), decisions.end());
    kept->outcomes.assign(outcomes.begin(), outcomes.end());
    current.check_together(kept->requests, kept->charges,
                           [&previous, kept, done](std::span<const Decision> charged_decisions,
                                                   std::span<const ChargeOutcome> charged_outcomes) {
                             if (are_admitted(charged_decisions, charged_outcomes)) {
                               return done(kept->decisions, kept->outcomes);
                             }
                             kept->give_back(previous);
                             done(charged_decisions, charged_outcomes);
                           });
  };
  previous.check_together(kept->requests, kept->charges, decided);
}

}  // namespace weir::engine
