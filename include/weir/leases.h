// LeaseLimiter: slots of concurrency rules (`algorithm: concurrency`), held until they are released or lapse.
//
//   weir::LeaseLimiter& leases = *limiter->leases();
//   weir::LeaseAnswer lease = leases.acquire({.request = weir::Request(attributes), .ttl = 30s});
//   if (lease.fault != weir::HoldFault::none) return fail(lease.message);
//   if (!lease.decision.allowed) return too_many(lease.decision.retry_after);
//   … at least once in 30 s: lease.handle = leases.renew(lease.handle).handle;
//   leases.release(lease.handle);
//
// Acquiring charges every rule that the request matches, all or none: concurrency rules give a slot for each unit of
// the cost, other rules are charged for good. Renewing and releasing concern the slots only.
//
// A handle is sealed: opaque, authenticated, and complete in itself, so that any node with the same hash key can renew
// and release it. Release is by handle only and idempotent. A holder that is silent for longer than its TTL has lost
// its slot: whatever the lease protects should compare fencing tokens, which grow with each lease of the same subject.
//
// As thread-safe as the limiter that it comes from.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/hold.h"
#include "weir/request.h"

namespace weir {

struct LeaseQuestion {
  enum class Verb : std::uint8_t {
    acquire,
    renew,    // by handle
    release,  // by handle
    list,     // the leases of the subjects that the request names, under every concurrency rule that it matches
  };
  Verb verb = Verb::acquire;
  Request request = {};      // acquire, list; of the others its trace
  Duration ttl{0};           // acquire, renew. 0: the shortest `lease` of the rules; as long as it was acquired for
  std::string_view id = {};  // acquire: made by the client; acquiring with it again gives the same lease. Empty: none
  std::string_view caller = {};  // whom `id` belongs to. Ids of other callers, and of other attributes, are other ids
  std::string_view handle = {};  // renew, release
};

// One lease of a list, under one rule.
struct ListedLease {
  std::string rule;
  std::string handle;  // to release it, under every rule that is listed
  std::int64_t units = 0;
  TimePoint expires;
};

struct LeaseAnswer {
  HoldFault fault = HoldFault::none;
  std::string message;  // what is wrong and what to do; empty without a fault
  // acquire: may it. The rest means something only if it is allowed. renew: what the concurrency rules have left.
  Decision decision;
  bool created = false;  // acquire: false if `id` had this lease already
  std::string handle;    // acquire; renew: one that knows the new expiry, better than the one before but no other lease
  // Grows with each lease of the same subject; none if the lease was given without the store (decision.degraded), or if
  // no concurrency rule applies.
  std::optional<std::uint64_t> fencing_token;
  TimePoint expires;              // by the wall clock
  Duration ttl{0};                // how long it lives from now on
  std::vector<ListedLease> list;  // at most kMaxListed
  bool list_cut = false;          // there are more
};

using LeaseCall = HoldCall<LeaseQuestion, LeaseAnswer>;

class LeaseLimiter {
 public:
  using Completion = std::function<void(const LeaseAnswer&)>;
  virtual ~LeaseLimiter() = default;

  // Any question. With a store that answers later, waits for it.
  LeaseAnswer ask(const LeaseQuestion& question);
  // The same without waiting, as Limiter::check(). Event loops use ask() of ask.h.
  void ask(const LeaseQuestion& question, Completion done);

  LeaseAnswer acquire(const LeaseQuestion& question) { return ask(question); }
  LeaseAnswer renew(std::string_view handle, Duration ttl = Duration{0});
  LeaseAnswer release(std::string_view handle);

  // What the calls above are made of. True: answered before it returns.
  [[nodiscard]] virtual bool begin_lease(LeaseCall& call) = 0;
  // As Limiter::may_wait().
  virtual bool may_wait() const { return true; }
};

}  // namespace weir
