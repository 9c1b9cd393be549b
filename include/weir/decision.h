// Decision: may the request proceed, which rule decided, and the state of every rule that was asked.
//
// A plain value. Rule ids and messages are views into the limiter that made the decision and live as long as it does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/allowance.h"
#include "weir/bucket_key.h"
#include "weir/inline_vector.h"
#include "weir/time.h"

namespace weir {

enum class Reason : std::uint8_t {
  ok,
  no_rule,
  limit_exceeded,
  quota_exceeded,
  concurrency_exceeded,
  blocked,
  penalized,
  shed,
  store_unavailable,
  cost_too_large,
  too_many_reservations,  // a bucket holds as many open ones as it may
  challenge,              // the client should be challenged; a reported success clears it
};
inline constexpr int kReasonCount = 12;
std::string_view reason_name(Reason reason);

enum class Mode : std::uint8_t { enforce, shadow, off };
std::string_view mode_name(Mode mode);

// What a rule's candidate numbers would decide about a request.
enum class CandidateVerdict : std::uint8_t {
  none,     // the rule has no candidate, or its numbers were not asked
  warming,  // its bucket has not seen a whole window yet
  allows,
  denies,
};

// One rule's view of one request.
struct RuleOutcome {
  std::string_view rule;
  BucketKey subject;                   // the subject that was counted, as a hash; see subject_text()
  std::uint32_t ordinal = 0;           // dense and stable for the life of the limiter: an index for counters
  std::optional<Algorithm> algorithm;  // of a bucket; none: the outcome is not an algorithm's
  ChargeKind kind = ChargeKind::bucket;
  Mode mode = Mode::enforce;
  bool allowed = true;
  bool unlimited = false;     // nothing was counted; limit and remaining mean nothing
  bool too_large = false;     // the cost can never fit
  bool bad_cost = false;      // denied because the cost is not a number (Rule::on_bad_cost); too_large is true as well
  bool store_failed = false;  // the store did not answer; the rule's failure policy decided
  bool shared = false;        // counted in the bucket of all newcomers beyond Rule::max_subjects
  bool crowded = false;       // it has as many open reservations as it may
  bool penalized = false;     // denied because of earlier denials or reported failures (Rule::penalty)
  bool challenge = false;     // denied, and the client should be challenged
  CandidateVerdict candidate = CandidateVerdict::none;
  Consistency consistency = Consistency::exact;
  bool estimated = false;  // `remaining` and the waits are this node's estimates (docs/consistency.md)
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t capacity = 0;   // what `remaining` is when nothing is used: the limit, a burst, a queue and one
  std::int64_t cost = 0;       // after the rule's cost table
  std::int64_t tolerance = 0;  // units beyond the capacity that may be admitted; leased rules: 0
  Duration window{0};
  Duration retry_after{0};  // 0 when allowed and when no wait can help
  Duration reset_after{0};  // until the bucket is full again; concurrency: until the last lease would lapse
  Duration delay{0};        // leaky-bucket: how long the admitted request should wait
};

// Who was counted, as answers and logs show it: the first digits of the hash, or "shared". May refer to `room`.
inline std::string_view subject_text(const RuleOutcome& outcome, SubjectDigits& room) {
  if (outcome.shared) return "shared";
  room = subject_digits(outcome.subject);
  return {room.data(), room.size()};
}

// "token-bucket", "concurrency", "quota"; empty: neither an algorithm nor another kind of rule decided.
std::string_view algorithm_name(const RuleOutcome& outcome);

struct Decision {
  bool allowed = true;
  bool degraded = false;  // decided without the store, by a failure policy
  bool atomic = true;     // false: charged in several steps (Redis Cluster across slots)
  bool replayed = false;  // decided before, under the same Request::once, and charged then
  Reason reason = Reason::no_rule;
  std::int32_t deciding = -1;  // index in `rules` of the most restrictive enforced rule, -1: none
  std::int64_t cost = 0;
  std::int64_t uncharged =
      0;  // of usage that was reported afterwards: units beyond the overdraft, which no rule was charged
  Duration retry_after{0};
  Duration delay{0};
  TimePoint at{};                      // when it was made, on the wall clock: `at` plus a duration is when that ends
  std::string_view source;             // "memory", "redis", "local", …
  std::string_view message;            // of a denial: what the rule says about it, see denial_message()
  InlineVector<RuleOutcome, 8> rules;  // in the order of the rules file

  // The most restrictive rule's outcome, or null when no rule applied.
  const RuleOutcome* decisive() const { return deciding < 0 ? nullptr : &rules[static_cast<std::size_t>(deciding)]; }

  // When the waits are over, on the wall clock. Nothing: there is no wait, or none that helps; nothing was counted.
  std::optional<TimePoint> retry_at() const { return after(retry_after, retry_after.count() > 0); }
  std::optional<TimePoint> retry_at(const RuleOutcome& rule) const {
    return after(rule.retry_after, rule.retry_after.count() > 0);
  }
  std::optional<TimePoint> reset_at(const RuleOutcome& rule) const {
    // A limit of 0 never resets, and what a failure policy answered without counting has nothing to reset.
    const bool uncounted = rule.store_failed && rule.reset_after == Duration::zero();
    return after(rule.reset_after, !rule.unlimited && rule.limit > 0 && !uncounted);
  }
  // Of the most restrictive rule.
  std::optional<TimePoint> reset_at() const { return deciding < 0 ? std::nullopt : reset_at(*decisive()); }

 private:
  std::optional<TimePoint> after(Duration wait, bool known) const {
    if (!known || at == TimePoint{}) return std::nullopt;
    return at + wait;
  }
};

// The `message` of the rule that denied, with its placeholders filled in, for the client to read. Empty when the rule
// has none, and when it does not fit: it asks for the {wait} and no wait can help, or the denial is not about the
// limit.
std::string denial_message(const Decision& decision);

}  // namespace weir
