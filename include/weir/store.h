// Store: where buckets live. One call charges all of a decision's buckets or none.
//
// A charge is cost against a bucket, or units of a lease (Charge::kind). Holds (hold_step.h) are taken and ended with
// the charges of the same call.
//
// The engine fills a StoreCall and hands it to begin(). A store that can answer at once does so and returns true; one
// that must wait returns false and later, on the store's thread, calls complete() exactly once. Until then the call and
// everything it points to belong to the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weir/allowance.h"
#include "weir/bucket_key.h"
#include "weir/draw_step.h"
#include "weir/hold_step.h"
#include "weir/penalty.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

struct RegionTerms;

// Cost against one bucket.
struct Charge {
  BucketKey key;                         // a keyed hash; its last 20 bits need not tell buckets apart
  BucketKey tag;                         // buckets with one tag live in one slot of a cluster
  const Allowance* allowance = nullptr;  // alive until the call completes
  std::string_view rule;                 // the rule's id, for stores whose keys are seen by people
  std::int64_t cost = 1;                 // 0 to kMaxUnits
  bool binding = true;                   // false (a shadow rule): its denial does not hold back the others
  bool count_denied = false;             // a denied attempt consumes too, down to empty and not below
  ChargeKind kind = ChargeKind::bucket;
  std::uint32_t number = 0;        // of the rule: stores count the subjects of each. 0: not counted
  std::uint32_t max_subjects = 0;  // a newcomer is not charged if the rule has so many; 0: no bound
  // Of a reservation: the cost is HoldStep::amount, or what is granted of it. With count_denied: up to the overdraft.
  bool follows = false;
  // Of kind `penalty`, and of a candidate: which charge of the call it belongs to. That one comes before it.
  std::uint8_t of = 0;
  // Charged when it and all other binding charges than `of` admit, and binds nothing.
  bool candidate = false;
  std::uint64_t value = 0;  // a hash of the value that is counted once; 0: the cost is counted
  // Of kind `penalty`, and of the charge that it belongs to: alive until the call completes.
  const Penalty* penalty = nullptr;
  // For decorators of a store (stores/leased/): alive until the call completes. Null: the store itself is asked.
  const SliceTerms* slices = nullptr;
  // For the decorator that shares limits between regions (src/regions/): likewise. Null: the limit is this region's.
  const RegionTerms* region = nullptr;
};
inline constexpr std::uint32_t kMaxRuleNumber = (1U << 20U) - 1;

// What one bucket answered.
struct ChargeOutcome {
  // resource_exhausted: the store has no room for this bucket. out_of_range: a newcomer, and its rule has max_subjects;
  // nothing of the call was charged.
  Code status = Code::ok;
  bool admitted = true;
  bool too_large = false;      // denied, and no wait can help
  bool crowded = false;        // denied, because the bucket has as many open reservations as it may
  bool penalized = false;      // denied by the charge's penalty, whatever its bucket has left
  bool challenge = false;      // so denied, in one of the penalty's first steps
  bool estimated = false;      // answered by the node itself: `remaining` and the waits are estimates
  std::int64_t remaining = 0;  // units left after this call
  Duration retry_after{0};     // > 0 exactly when denied and a wait helps; a lone retry then is admitted
  Duration reset_after{0};     // until the bucket is full again
  Duration delay{0};
  std::int64_t uncharged = 0;  // denied, and charged as a debt: the units beyond the overdraft

  friend bool operator==(const ChargeOutcome&, const ChargeOutcome&) = default;
};

// The most buckets that one call may charge, and so the most rules that may apply to one request.
inline constexpr std::size_t kMaxCharges = 64;

enum class Action : std::uint8_t {
  take,            // charge all binding buckets or none; with a hold, also take that
  peek,            // evaluate as take would, change nothing
  refund,          // give cost back, never above full; nothing is given back to a lease's bucket
  reset,           // forget the bucket, with the leases and reservations in it
  renew,           // a hold lives longer; a reservation may also hold more
  settle,          // a hold ends
  list,            // the holds that there are; with a reservation's record: that reservation
  report_failure,  // counts for the penalties that count reports; charges nothing
  report_success,  // ends challenges and forgets what counts for the next penalty (penalty.h); charges nothing
  draw,            // take units in advance, or charge what was admitted before (draw_step.h)
};

class StoreCall {
 public:
  Action action = Action::take;
  TimePoint now;                              // never runs backward in one process
  Duration ahead{0};                          // of the wall clock (time.h): calendar windows follow that one
  TimePoint ingress{};                        // as in Request
  std::span<const Charge> charges;            // at most kMaxCharges, no key twice unless with another value
  std::span<ChargeOutcome> outcomes;          // same length; written by the store
  HoldStep* hold = nullptr;                   // null: charges of leases are checked, and nothing is held
  DrawStep* draw = nullptr;                   // of Action::draw
  Code status = Code::ok;                     // anything else: the store did not answer, outcomes mean nothing
  bool atomic = true;                         // false: charged in several steps
  Consistency answered = Consistency::exact;  // by whom: the store, or a decorator without asking it
  bool regional = false;                      // a limit was shared with other regions, or another one was asked
  bool replayed = false;                      // `once` was used before: nothing was charged, and this was answered then
  Once once{};                                // memory and calls in several steps do not use it

  virtual void complete() = 0;

  Reading reading() const { return {now, ahead}; }
  // How far the time that came with the request is from the node's own.
  Duration skew() const { return ingress == TimePoint{} ? Duration::zero() : ingress - reading().wall(); }
  void set_reading(const Reading& at) {
    now = at.now;
    ahead = at.ahead;
  }

 protected:
  ~StoreCall() = default;
};

// Thread-safety is the implementation's: MemoryStore may be called from any thread, a Redis store belongs to its loop.
class Store {
 public:
  virtual ~Store() = default;

  // True: answered before returning, complete() was not and will not be called.
  [[nodiscard]] virtual bool begin(StoreCall& call) = 0;

  // A hint that these are about to be charged. Only their keys are checked.
  virtual void prefetch(std::span<const Charge>) {}

  // True for a store that spreads buckets over slots and so reads Charge::tag.
  virtual bool uses_tags() const { return false; }

  // False for a store that cannot take reservations: a limiter on it takes none.
  virtual bool holds_reservations() const { return false; }

  // True when begin() always answers before it returns.
  virtual bool immediate() const = 0;

  // True when the calling thread is the one that completes calls: it must not wait for one.
  virtual bool answers_on_this_thread() const { return false; }

  // How answers name this store: "memory", "redis".
  virtual std::string_view name() const = 0;
};

}  // namespace weir
