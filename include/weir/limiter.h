// START HERE. Limiter: decides whether a request may proceed, and says why and when to come back.
//
//   auto limiter = weir::Limiter::open("rules.yaml");
//   if (!limiter.ok()) { std::cerr << limiter.failure().message << '\n'; return 1; }
//
//   weir::Decision decision = limiter.value()->check({{"tenant", "acme"}, {"api_key", key}, {"action", "search"}});
//   if (!decision.allowed) return too_many_requests(decision.retry_after);
//
// Thread-safe: any method from any thread. No global state: two limiters in one program know nothing of each other.
// With a store that answers at once (the default, memory) no method blocks and check() does not allocate.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "weir/decision.h"
#include "weir/options.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/rule.h"
#include "weir/store.h"
#include "weir/time.h"

namespace weir {

// A bucket that no rule describes: the caller brings its name and its allowance, as CL.THROTTLE and Envoy's limit
// override do. Buckets of one `space` and `subject` are the same bucket whatever the allowance.
struct AdHocCharge {
  std::string_view space;                     // such as "cl.throttle"; keeps kinds of callers apart
  std::span<const std::string_view> subject;  // at most kMaxAttributes
  const Allowance* allowance = nullptr;       // copied
  Cost cost;
  Action action = Action::take;
  bool count_denied = false;  // a denied take consumes what is left
  TimePoint ingress{};        // as in Request
};

class Limiter {
 public:
  using Completion = std::function<void(const Decision&)>;

  // From a rules file, or a folder of them. The failure says file, line, column and field.
  static Result<std::unique_ptr<Limiter>> open(const std::filesystem::path& rules, LimiterOptions options = {});
  // From rules made in code.
  static Result<std::unique_ptr<Limiter>> create(const Rules& rules, LimiterOptions options = {});
  virtual ~Limiter() = default;

  // True when every call is answered before it returns: front ends then need no completion.
  virtual bool immediate() const = 0;

  // Decides, and charges every matching rule or none. With a store that answers later, waits for it.
  virtual Decision check(const Request& request) = 0;
  // The same without waiting: `done` runs once, before this returns if the store answers at once, else on the
  // store's thread. The Decision lives only during the call.
  virtual void check(const Request& request, Completion done) = 0;
  // Many independent requests; cheaper than one by one. decisions.size() must equal requests.size().
  virtual void check_batch(std::span<const Request> requests, std::span<Decision> decisions) = 0;

  // Gives the cost back to every rule that the request matches, never above full; the outcomes tell what is left.
  virtual Decision refund(const Request& request) = 0;
  virtual void refund(const Request& request, Completion done) = 0;
  // Forgets the buckets of every rule that the request matches.
  virtual Decision reset(const Request& request) = 0;

  // Charges one ad-hoc bucket. An outcome whose status is not ok means that the store did not answer.
  virtual ChargeOutcome charge(const AdHocCharge& charge) = 0;
  virtual void charge(const AdHocCharge& charge, std::function<void(const ChargeOutcome&)> done) = 0;

  // Puts other rules in force; buckets keep their state and changed limits apply at once. On failure the rules in
  // force stay.
  virtual Status replace(const Rules& rules) = 0;
  // Reads again the file or folder given to open().
  virtual Status reload() = 0;
};

}  // namespace weir
