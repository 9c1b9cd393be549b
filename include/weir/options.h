// LimiterOptions: what a Limiter is made from besides its rules. Every field has a working default.
//
//   weir::LimiterOptions options;
//   options.memory.max_bytes = std::size_t{64} << 20;
//   auto limiter = weir::Limiter::open("rules.yaml", options);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/request.h"
#include "weir/store.h"
#include "weir/time.h"
#include "weir/trace.h"

namespace weir {

class QuotaGate;

// Secret under which subjects are hashed. Nodes that share a store must share it.
using HashKey = std::array<std::uint8_t, 16>;

// The embedded store's settings.
struct MemoryOptions {
  std::size_t max_bytes = std::size_t{256} << 20;  // hard bound on everything the buckets take
};

// Sees every decision of check() and every ad-hoc charge (not peeks, refunds and resets), on the thread that made it.
// Must not block or throw.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_decision(const Decision& decision) = 0;
  // `space` is the charge's. A status that is not ok: the store did not answer.
  virtual void on_charge(std::string_view /*space*/, const ChargeOutcome& /*outcome*/) {}
};

// When a decision that is traced began, and when it asked others. On the wall clock.
struct DecisionTimes {
  struct Wait {
    TimePoint from{};  // the epoch: was not asked
    TimePoint to{};
  };
  TimePoint began{};
  TimePoint ended{};
  Wait store;
  Wait ledger;
};

// What is known about the request behind a decision. Everything here lives only during the call.
struct RequestContext {
  // Of the request. If the store answered later, only what was kept until then: `tenant`, `action`, `method`, `path`
  // and the attributes that the rules count by, within a bound on their size.
  std::span<const Attribute> attributes;
  bool complete = true;                   // false: some of these attributes were too long to be kept, or none was kept
  std::span<const std::string> per;       // what the decisive rule counts by, as in Rule::per
  std::uint64_t rules_version = 0;        // which rules decided; 0: not recorded yet, the hash tells them
  std::uint64_t rules_hash = 0;           // of their text; 0: not known
  std::optional<Duration> store_latency;  // of a store that answers later, if it was asked
  std::string_view
      block;  // of Reason::blocked: the id of the block that refused it (UseMark::id); empty: of a rules file
  const TraceContext* trace = nullptr;   // as in Request
  const DecisionTimes* times = nullptr;  // set if the trace is sampled
};

// A call that changes what is stored and decides nothing: a refund, a report, a reset, or the renewal or end of a lease
// or reservation. Lives only during the call.
struct TracedChange {
  std::string_view name;            // "weir.refund", "weir.reservation.commit"; lives forever
  std::string_view source;          // which store keeps it; lives as long as the limiter
  bool failed = false;              // the store or the ledger did not answer
  std::int64_t cost = 0;            // units, if it is about some
  std::uint64_t rules_version = 0;  // as in RequestContext; 0 with a hash of 0: it needs no rules
  std::uint64_t rules_hash = 0;
  const TraceContext& trace;
  const DecisionTimes& times;
};

// Sees the same decisions as an Observer, after those, together with the request.
class RequestObserver {
 public:
  enum class Scope : std::uint8_t {
    every_decision,  // costs a copy of some attributes for each request whose store answers later
    degraded_only,   // those that a failure policy made; free for all others, and attributes may be missing
  };
  virtual ~RequestObserver() = default;
  // Asked once, when the limiter is made.
  virtual Scope scope() const = 0;
  // Asked once for each decision, before what is known about its request is put together. False: it is not shown.
  virtual bool wants(const Decision& /*decision*/) { return true; }
  // As Observer::on_decision. With Scope::degraded_only, others may be shown too.
  virtual void on_decision(const Decision& decision, const RequestContext& context) = 0;
  // Only if its trace is sampled.
  virtual void on_change(const TracedChange& /*change*/) {}
};

struct LimiterOptions {
  std::shared_ptr<Store> store;  // default: a memory store of its own, made from `memory`
  MemoryOptions memory;
  std::shared_ptr<Clock> clock;                      // default: ProcessClock
  std::vector<std::shared_ptr<Observer>> observers;  // called in this order
  std::vector<std::shared_ptr<RequestObserver>> request_observers;
  HashKey hash_key{};  // all zero: a random one
  // Where quota rules take their units from (quotas.h). None: rules with `algorithm: quota` are refused.
  std::shared_ptr<QuotaGate> quotas;
  bool prefilter = true;  // with a store that answers later: refuse exhausted buckets without asking it
};

}  // namespace weir
