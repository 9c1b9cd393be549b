#include "frontends/envoy/rls_decider.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <limits>
#include <utility>

#include "frontends/render/decision_headers.h"
#include "weir/inline_vector.h"

namespace weir::envoy {
namespace {

constexpr std::string_view kOverrideSpace = "envoy.override";
constexpr std::string_view kOverrideName = "override";
constexpr std::uint32_t kUnlimited = std::numeric_limits<std::uint32_t>::max();

// What a descriptor asks for. Looking is done with a cost of one hit: a cost of nothing would always pass.
struct Wish {
  Action action = Action::take;
  Cost cost;
};

Wish wish_of(const RlsRequest& request, const RlsDescriptor& descriptor) {
  const std::uint64_t hits = descriptor.has_hits ? descriptor.hits : std::max(1U, request.hits_addend);
  if (hits == 0) return {Action::peek, Cost{1}};
  // To Envoy an error is an allow, so more hits than a cost can be are the largest cost, which no limit of theirs
  // holds.
  const auto cost = static_cast<std::int64_t>(std::min(hits, static_cast<std::uint64_t>(kMaxUnits)));
  return {descriptor.negative ? Action::refund : Action::take, Cost{cost}};
}

// Takes something, by rules or by a limit of its own.
bool is_take(const RlsRequest& request, const RlsDescriptor& descriptor) {
  return !descriptor.replaced && wish_of(request, descriptor).action == Action::take;
}

// Needs another call than a check.
bool is_special(const RlsDescriptor& descriptor) {
  return descriptor.has_override || descriptor.negative || descriptor.replaced;
}

Request make_request(const RlsRequest& request, const RlsDescriptor& descriptor, const Wish& wish) {
  Request made(request.attributes_of(descriptor), wish.cost);
  made.peek = wish.action == Action::peek;
  made.ingress = request.ingress;
  return made;
}

// A limit that came with the descriptor: its bucket and its answer.
class Override {
 public:
  Override(const RlsRequest& request, const RlsDescriptor& descriptor)
      : limit_(descriptor.override_limit),
        ingress_(request.ingress),
        window_(unit_window(static_cast<RlsUnit>(descriptor.override_unit))) {
    // Limits of different units count apart, also in one call.
    subject_.push_back(unit_name(static_cast<RlsUnit>(descriptor.override_unit)));
    subject_.push_back(request.domain);
    for (const Attribute& entry : request.attributes_of(descriptor).subspan(1)) {
      subject_.push_back(entry.name);
      subject_.push_back(entry.value);
    }
    AllowanceSpec spec;
    spec.algorithm = Algorithm::fixed_window;
    spec.limit = std::max<std::int64_t>(1, limit_);
    spec.window = window_;
    const Result<Allowance> made = make_allowance(spec);
    assert(made.ok());
    allowance_ = made.value();
  }

  // A limit of nothing has no bucket.
  bool has_bucket() const { return limit_ > 0; }
  // Without a bucket: a charge that never fits and leaves nothing behind.
  AdHocCharge charge(const Wish& wish) const {
    return {.space = kOverrideSpace,
            .subject = {subject_.data(), subject_.size()},
            .allowance = &allowance_,
            .cost = has_bucket() ? wish.cost : Cost{2},
            .action = wish.action,
            .count_denied = has_bucket(),
            .ingress = ingress_};
  }
  Decision denial() const {
    ChargeOutcome outcome;
    outcome.admitted = false;
    outcome.too_large = true;
    return decision(outcome);
  }
  // Of a limit with a bucket.
  Decision decision(const ChargeOutcome& outcome) const {
    RuleOutcome rule;
    rule.rule = kOverrideName;
    rule.algorithm = Algorithm::fixed_window;
    rule.allowed = outcome.admitted;
    rule.too_large = outcome.too_large;
    rule.limit = limit_;
    rule.remaining = outcome.remaining;
    rule.capacity = limit_;
    rule.window = window_;
    rule.retry_after = outcome.retry_after;
    rule.reset_after = outcome.reset_after;
    Decision made;
    made.allowed = outcome.admitted;
    made.reason = outcome.admitted ? Reason::ok : outcome.too_large ? Reason::cost_too_large : Reason::limit_exceeded;
    made.deciding = 0;
    made.retry_after = outcome.retry_after;
    made.rules.push_back(rule);
    return made;
  }

 private:
  const std::int64_t limit_;
  const TimePoint ingress_;
  const Duration window_;
  InlineVector<std::string_view, kMaxAttributes> subject_;
  Allowance allowance_;
};

std::uint32_t clamp(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<std::uint32_t>::max()));
}

RlsStatus make_status(const Decision& decision) {
  RlsStatus status;
  status.over_limit = !decision.allowed;
  const RuleOutcome* const rule = decision.decisive();
  if (rule == nullptr || rule->store_failed) return status;
  if (rule->unlimited) {
    status.remaining = kUnlimited;
    return status;
  }
  status.remaining = clamp(rule->remaining);
  status.has_reset = true;
  status.reset_after = std::chrono::ceil<std::chrono::seconds>(rule->reset_after);
  status.unit = unit_of(rule->window);
  // A window that Envoy has no unit for is left out: any unit would tell the client another limit than the rule's.
  if (status.unit == RlsUnit::unknown) return status;
  status.has_limit = true;
  status.limit = clamp(rule->limit);
  status.name = rule->rule;
  return status;
}

// The descriptor that says most about when to come back: of those denied one that no wait can help, then the longest
// wait; else the least left.
const Decision* most_restrictive(std::span<const Decision> decisions) {
  const Decision* chosen = nullptr;
  const auto never = [](const Decision& decision) { return decision.reason == Reason::cost_too_large; };
  const auto tighter = [&](const Decision& a, const Decision& b) {
    if (a.allowed != b.allowed) return !a.allowed;
    if (never(a) != never(b)) return never(a);
    if (!a.allowed) return a.retry_after > b.retry_after;
    return a.decisive()->remaining < b.decisive()->remaining;
  };
  for (const Decision& decision : decisions) {
    const bool tells = decision.decisive() != nullptr && !decision.decisive()->unlimited;
    // A denial whose rules are hidden still tells when to come back.
    if (decision.allowed && !tells) continue;
    if (chosen == nullptr || tighter(decision, *chosen)) chosen = &decision;
  }
  return chosen;
}

Failure store_failure() { return {Code::unavailable, "the store did not answer"}; }

}  // namespace

// Decisions that arrive one by one, possibly on several threads.
struct RlsDecider::Pending {
  const RlsDecider* decider = nullptr;
  std::vector<Decision> decisions;
  Completion done;
  std::atomic<std::size_t> left{0};
  std::atomic<bool> failed{false};

  void arrived() {
    if (left.fetch_sub(1) > 1) return;
    if (failed.load()) return done(store_failure());
    RlsAnswer answer;
    decider->write(decisions, answer);
    done(answer);
  }
};

// A limit that came with the descriptor neither replaces nor is replaced: its request is left empty.
void RlsDecider::mark_replaced(RlsRequest& request) {
  if (!options_.find_replaced || request.descriptors.size() < 2) return;
  requests_.clear();
  for (const RlsDescriptor& descriptor : request.descriptors) {
    requests_.push_back(descriptor.has_override ? Request() : Request(request.attributes_of(descriptor)));
  }
  bool replaced[kMaxDescriptors] = {};
  assert(requests_.size() <= kMaxDescriptors);
  options_.find_replaced(requests_, std::span(replaced).first(requests_.size()));
  for (std::size_t i = 0; i < requests_.size(); ++i) request.descriptors[i].replaced = replaced[i];
}

Status RlsDecider::decide(RlsRequest& request, RlsAnswer& answer) {
  const std::size_t count = request.descriptors.size();
  mark_replaced(request);
  if (charges_together(request)) {
    Status status = success();
    begin_all(request, [&](const Result<RlsAnswer>& made) {
      if (made.ok()) answer = made.value();
      if (!made.ok()) status = made.failure();
    });
    return status;
  }
  if (decisions_.size() < count) decisions_.resize(count);
  const std::span<Decision> decisions = std::span(decisions_).first(count);
  // Several plain checks are one call; a batch of one costs more than a check.
  if (count > 1 && std::none_of(request.descriptors.begin(), request.descriptors.end(), is_special)) {
    requests_.clear();
    for (const RlsDescriptor& descriptor : request.descriptors) {
      requests_.push_back(make_request(request, descriptor, wish_of(request, descriptor)));
    }
    limiter_.check_batch(requests_, decisions);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      if (!decide_one(request, request.descriptors[i], decisions[i])) return store_failure();
    }
  }
  write(decisions, answer);
  return success();
}

bool RlsDecider::decide_one(const RlsRequest& request, const RlsDescriptor& descriptor, Decision& decision) {
  const Wish wish = wish_of(request, descriptor);
  if (descriptor.replaced) {
    decision = Decision();
    return true;
  }
  if (!descriptor.has_override) {
    const Request made = make_request(request, descriptor, wish);
    decision = wish.action == Action::refund ? limiter_.refund(made) : limiter_.check(made);
    return true;
  }
  const Override limit(request, descriptor);
  if (!limit.has_bucket()) {
    decision = limit.denial();
    return true;
  }
  const ChargeOutcome outcome = limiter_.charge(limit.charge(wish));
  decision = limit.decision(outcome);
  return outcome.status == Code::ok;
}

void RlsDecider::decide(RlsRequest& request, Completion done) {
  mark_replaced(request);
  begin_all(request, std::move(done));
}

bool RlsDecider::charges_together(const RlsRequest& request) const {
  if (!options_.check_together) return false;
  return std::count_if(request.descriptors.begin(), request.descriptors.end(),
                       [&](const RlsDescriptor& descriptor) { return is_take(request, descriptor); }) > 1;
}

void RlsDecider::begin_all(const RlsRequest& request, Completion done) const {
  auto pending = std::make_shared<Pending>();
  pending->decider = this;
  pending->decisions.resize(request.descriptors.size());
  pending->done = std::move(done);
  pending->left = request.descriptors.size();
  if (charges_together(request)) return begin_together(request, pending);
  for (std::size_t i = 0; i < request.descriptors.size(); ++i) begin(request, i, pending);
}

void RlsDecider::begin(const RlsRequest& request, std::size_t index, const std::shared_ptr<Pending>& pending) const {
  const RlsDescriptor& descriptor = request.descriptors[index];
  const Wish wish = wish_of(request, descriptor);
  const auto keep = [pending, index](const Decision& decision) {
    pending->decisions[index] = decision;
    pending->arrived();
  };
  if (descriptor.replaced) return keep(Decision());
  if (!descriptor.has_override) {
    const Request made = make_request(request, descriptor, wish);
    return wish.action == Action::refund ? limiter_.refund(made, keep) : limiter_.check(made, keep);
  }
  const auto limit = std::make_shared<const Override>(request, descriptor);
  if (!limit->has_bucket()) return keep(limit->denial());
  limiter_.charge(limit->charge(wish), [limit, keep, pending](const ChargeOutcome& outcome) {
    if (outcome.status != Code::ok) pending->failed = true;
    keep(limit->decision(outcome));
  });
}

void RlsDecider::begin_together(const RlsRequest& request, const std::shared_ptr<Pending>& pending) const {
  std::vector<Request> requests;
  std::vector<AdHocCharge> charges;
  std::vector<std::size_t> request_index;
  std::vector<std::pair<std::size_t, std::shared_ptr<const Override>>> overrides;
  for (std::size_t i = 0; i < request.descriptors.size(); ++i) {
    const RlsDescriptor& descriptor = request.descriptors[i];
    if (!is_take(request, descriptor)) {
      begin(request, i, pending);
    } else if (descriptor.has_override) {
      overrides.emplace_back(i, std::make_shared<const Override>(request, descriptor));
      charges.push_back(overrides.back().second->charge(wish_of(request, descriptor)));
    } else {
      request_index.push_back(i);
      requests.push_back(make_request(request, descriptor, wish_of(request, descriptor)));
    }
  }
  options_.check_together(requests, charges,
                          [pending, request_index, overrides](std::span<const Decision> decisions,
                                                              std::span<const ChargeOutcome> outcomes) {
                            for (std::size_t i = 0; i < decisions.size(); ++i)
                              pending->decisions[request_index[i]] = decisions[i];
                            for (std::size_t i = 0; i < outcomes.size(); ++i) {
                              if (outcomes[i].status != Code::ok) pending->failed = true;
                              const auto& [index, limit] = overrides[i];
                              pending->decisions[index] =
                                  limit->has_bucket() ? limit->decision(outcomes[i]) : limit->denial();
                            }
                            for (std::size_t i = 0; i < decisions.size() + outcomes.size(); ++i) pending->arrived();
                          });
}

void RlsDecider::write(std::span<const Decision> decisions, RlsAnswer& answer) const {
  answer.clear();
  for (const Decision& decision : decisions) {
    answer.statuses.push_back(make_status(decision));
    answer.over_limit = answer.over_limit || !decision.allowed;
  }
  const Decision* const told = options_.headers ? most_restrictive(decisions) : nullptr;
  if (told == nullptr) return;
  render::append_rate_limit_policy(answer.rate_limit_policy, *told);
  render::append_rate_limit(answer.rate_limit, *told);
  if (const std::int64_t seconds = render::retry_after_seconds(*told); seconds > 0) {
    answer.retry_after = std::to_string(seconds);
  }
  if (!options_.legacy_headers) return;
  if (const std::optional<render::LegacyFields> legacy = render::legacy_fields(*told)) {
    answer.legacy_limit = std::to_string(legacy->limit);
    answer.legacy_remaining = std::to_string(legacy->remaining);
    answer.legacy_reset = std::to_string(legacy->reset_seconds);
  }
}

}  // namespace weir::envoy
