// ReservationLimiter: cost that is taken before the work, and settled afterwards with the actual cost.
//
//   weir::ReservationLimiter& budget = *limiter->reservations();
//   auto reserved = budget.reserve({.request = weir::Request(attributes), .amount = 2'000});
//   if (!reserved.decision.allowed) return too_many(reserved.decision.retry_after);
//   … the work: it took 1,234 …
//   budget.commit(reserved.handle, 1'234);
//
// Reserving charges every rule that the request matches, all or none. `amount` is the cost for rules that take it from
// the request or from an attribute; rules with a fixed cost or a table charge that, and concurrency rules give one slot
// unless they say otherwise. Committing less returns the rest, never more than the bucket's lowest debt since then;
// committing more is charged as debt, up to the rule's `overdraft`. Slots end with the reservation.
//
// A reservation is closed once: by a commit, a release, or its expiry. Closing it again the same way replays the first
// answer; another way is HoldFault::closed. Handles are sealed, as those of leases are (leases.h).
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

inline constexpr Duration kDefaultReservationTtl = std::chrono::seconds(60);

struct ReservationQuestion {
  enum class Verb : std::uint8_t {
    reserve,
    commit,   // by handle, with what the work has cost
    release,  // by handle: it has cost nothing
    extend,   // by handle: live longer, hold more, or both
    get,      // by handle
    list,     // the open ones of the subjects that the request names
  };
  Verb verb = Verb::reserve;
  Request request = {};  // reserve, list: its attributes. The cost is for concurrency rules. All: its trace
  // reserve: units to take, 0 to kMaxUnits; none: as many as the rules have learned (`estimate`).
  // extend: units to add; none or 0: none.
  std::optional<std::int64_t> amount = {};
  Duration ttl{0};               // reserve, 0: kDefaultReservationTtl. extend: from now; 0: its expiry stays
  bool partial = false;          // reserve, extend: take what fits, at least 1
  bool dry_run = false;          // reserve: only report what would be granted
  std::int64_t actual = 0;       // commit: 0 to kMaxUnits
  std::string_view id = {};      // reserve: as in LeaseQuestion
  std::string_view caller = {};  // likewise
  std::string_view handle = {};  // commit, release, extend, get
};

// One open reservation of a list, as one bucket has it.
struct ListedReservation {
  std::string rule;
  std::string id;  // 32 hexadecimal digits, the same in every bucket
  // For an operator who ends it: the whole reservation, in every rule that the attributes lead to. Empty: more rules
  // than a handle can have, or another subject's, listed because all share a bucket (a rule without `per`).
  std::string handle;
  std::int64_t units = 0;
  TimePoint reserved;
  TimePoint expires;
};

// A reservation's id as logs show it: 32 hexadecimal digits, the same in every bucket. Needs no heap.
class ReservationId {
 public:
  static constexpr std::size_t kDigits = 32;

  ReservationId() = default;
  explicit ReservationId(const BucketKey& key) : size_(kDigits) {
    write_half(key.high, digits_);
    write_half(key.low, digits_ + kDigits / 2);
  }
  // At most kDigits characters of it.
  ReservationId(std::string_view digits)  // NOLINT(google-explicit-constructor): is one
      : size_(static_cast<std::uint8_t>(digits.copy(digits_, kDigits))) {}

  operator std::string_view() const { return {digits_, size_}; }  // NOLINT(google-explicit-constructor): is one
  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  friend bool operator==(const ReservationId& a, const ReservationId& b) {
    return std::string_view(a) == std::string_view(b);
  }

 private:
  // Eight digits at a time: spreads the bytes, parts them, and adds to each what makes it a digit.
  static void write_half(std::uint64_t half, char* out) {
    for (const unsigned shift : {32U, 0U}) {
      std::uint64_t bytes = __builtin_bswap32(static_cast<std::uint32_t>(half >> shift));
      bytes = (bytes | bytes << 16U) & 0x0000'ffff'0000'ffff;
      bytes = (bytes | bytes << 8U) & 0x00ff'00ff'00ff'00ff;
      const std::uint64_t each = (bytes >> 4U & 0x000f'000f'000f'000f) | (bytes & 0x000f'000f'000f'000f) << 8U;
      const std::uint64_t letters = (each + 0x0606'0606'0606'0606) >> 4U & 0x0101'0101'0101'0101;
      const std::uint64_t text = each + 0x3030'3030'3030'3030 + letters * ('a' - '0' - 10);
      for (unsigned i = 0; i < 8; ++i) *out++ = static_cast<char>(text >> 8U * i);
    }
  }

  char digits_[kDigits];
  std::uint8_t size_ = 0;
};

struct ReservationAnswer {
  HoldFault fault = HoldFault::none;
  std::string message;    // what is wrong and what to do; empty without a fault
  Decision decision;      // reserve, extend: whether it is allowed. commit, release: what the rules have left
  bool created = false;   // reserve: false if `id` had this reservation already
  bool replayed = false;  // commit, release: it was closed like this before; or by its Idempotency-Key
  std::string handle;     // reserve
  ReservationId id;       // for logs
  ReservationState state = ReservationState::open;
  std::int64_t granted = 0;    // units that it holds, or held when it was closed
  std::int64_t estimated = 0;  // reserve without an amount: what was learned, before `partial`
  std::int64_t actual = 0;     // committed: the actual cost
  std::int64_t returned = 0;   // closed: units that went back to the bucket that got most of them back
  std::int64_t debt = 0;       // committed: units charged beyond what was held, in the bucket that took most
  std::int64_t uncharged = 0;  // committed: units beyond the overdraft, in the bucket that took least
  std::optional<std::uint64_t> fencing_token;  // of its slots, if it has any
  TimePoint expires;                           // by the wall clock
  std::vector<ListedReservation> list;         // at most kMaxListed
  bool list_cut = false;                       // there are more
};

using ReservationCall = HoldCall<ReservationQuestion, ReservationAnswer>;

class ReservationLimiter {
 public:
  using Completion = std::function<void(const ReservationAnswer&)>;
  virtual ~ReservationLimiter() = default;

  // Any question. With a store that answers later, waits for it.
  ReservationAnswer ask(const ReservationQuestion& question);
  // The same without waiting, as Limiter::check(). Event loops use ask() of ask.h.
  void ask(const ReservationQuestion& question, Completion done);

  ReservationAnswer reserve(const ReservationQuestion& question) { return ask(question); }
  ReservationAnswer commit(std::string_view handle, std::int64_t actual);
  ReservationAnswer release(std::string_view handle);
  ReservationAnswer extend(std::string_view handle, Duration ttl, std::int64_t add = 0);
  ReservationAnswer get(std::string_view handle);

  // What the calls above are made of. True: answered before it returns.
  [[nodiscard]] virtual bool begin_reservation(ReservationCall& call) = 0;
  // As Limiter::may_wait().
  virtual bool may_wait() const { return true; }
};

}  // namespace weir
