// START HERE. Limiter: decides whether a request may proceed, and says why and when to come back.
//
//   auto limiter = weir::Limiter::open("rules.yaml");
//   if (!limiter.ok()) { std::cerr << limiter.failure().message << '\n'; return 1; }
//
//   weir::Decision decision = limiter.value()->check({{"tenant", "acme"}, {"api_key", key}, {"action", "search"}});
//   if (!decision.allowed) return too_many_requests(decision.retry_after);
//
// Also: options.h (store, clock, observers), rule.h (rules made in code), retry.h (how callers should wait), ad_hoc.h
// (buckets that no rule describes), leases.h (concurrency limits), reservations.h (cost that is known only
// afterwards), prepared_check.h (the same attributes again and again), ask.h (for event loops).
//
// Thread-safe: any method from any thread. No global state: two limiters in one program are independent.
// With a store that answers at once (the default, memory) no method blocks and check() does not allocate.
#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>

#include "weir/call.h"
#include "weir/decision.h"
#include "weir/options.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/rule.h"

namespace weir {

class AdHocLimiter;
class LeaseLimiter;
class PreparedCheck;
class ReservationLimiter;

class Limiter {
 public:
  using Completion = std::function<void(const Decision&)>;

  // From a rules file, or a folder of them. The failure says file, line, column and field.
  static Result<std::unique_ptr<Limiter>> open(const std::filesystem::path& rules, LimiterOptions options = {});
  // From rules made in code.
  static Result<std::unique_ptr<Limiter>> create(const Rules& rules, LimiterOptions options = {});
  virtual ~Limiter() = default;

  // Decides, and charges every matching rule or none. With a store that answers later, waits for it. On that store's
  // own thread this would never end: an assertion ends the program instead, here and in all calls that wait.
  Decision check(const Request& request);
  // The same without waiting: `done` runs once, before this returns if the answer is known, else on the store's
  // thread. The Decision lives only during the call.
  void check(const Request& request, Completion done);
  // Many independent requests; cheaper than one by one. decisions.size() must equal requests.size().
  void check_batch(std::span<const Request> requests, std::span<Decision> decisions);

  // Gives the cost back to every rule that the request matches, never above full; the outcomes show what is left.
  Decision refund(const Request& request);
  void refund(const Request& request, Completion done);
  // Reports how the work of a request ended, for the penalties and challenges of the rules that it matches.
  Decision report(const Request& request, bool success);
  // Forgets the buckets of every rule that the request matches.
  Decision reset(const Request& request);

  // A handle for checks of the same attributes (prepared_check.h), each of which costs less than half. It copies
  // the attributes; the limiter must outlive it.
  virtual std::unique_ptr<PreparedCheck> prepare(std::span<const Attribute> attributes);
  std::unique_ptr<PreparedCheck> prepare(std::initializer_list<Attribute> attributes);

  // Loads other rules; buckets keep their state and changed limits apply at once. On failure the old rules stay.
  virtual Status replace(const Rules& rules) = 0;
  // Reads again the file or folder given to open().
  virtual Status reload() = 0;

  // Some admitted work took this long, as its caller has said: what load shedding counts as open (docs/shedding.md).
  virtual void note_duration(Duration) {}

  // What the calls above are made of (call.h). True: answered before it returns.
  [[nodiscard]] virtual bool begin(CheckCall& call) = 0;

  // False: the calling thread is the one that completes the store's calls, and would wait for itself.
  virtual bool may_wait() const { return true; }

  // For charges that no rule describes (ad_hoc.h). Null: not supported.
  virtual AdHocLimiter* ad_hoc() { return nullptr; }
  // For slots of concurrency rules (leases.h). Null: not supported.
  virtual LeaseLimiter* leases() { return nullptr; }
  // For cost that is known only after the work (reservations.h). Null: not supported.
  virtual ReservationLimiter* reservations() { return nullptr; }
};

}  // namespace weir
