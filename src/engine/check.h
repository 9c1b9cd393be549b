// Check: what one request, or one ad-hoc charge, asks of the store, and what the store answered.
//
// plan() makes the charges; a Run (run.h) carries them through the stages, which read the matches and the outcomes.
// Lives on the stack when the store answers at once, on the heap when it answers later.
#pragma once

#include <utility>

#include "engine/active_rules.h"
#include "engine/adaptive_limits.h"
#include "engine/kept_request.h"
#include "rules/compile/rule_set.h"
#include "weir/ad_hoc.h"
#include "weir/decision.h"
#include "weir/inline_vector.h"
#include "weir/options.h"
#include "weir/request.h"
#include "weir/store.h"

namespace weir::engine {

// Makes a new charge the one that decides who closes the reservation `id`, for the end of its `charges`.
void make_record_charge(const BucketKey& id, std::span<const Charge> charges, Charge& record);

class Check {
 public:
  // Fills matches and charges. The request and the rules must live until
  // outlive_request() or the end of the check.
  // `wall` is the time of day, which says whether a temporary override applies. Precondition: within_bounds(request).
  // `resolved`: the request's names, where the caller has needed them before; null: they are resolved here.
  // Returns the mistakes that were found in the request, and counted.
  rules::MatchIssues plan(const Request& request, TimePoint wall, const ActiveRules& rules,
                          const keys::KeyEncoder& encoder, bool with_tags,
                          const rules::ResolvedNames* resolved = nullptr);

  // The same for an ad-hoc charge: it has one charge and no match. `allowance` must outlive the check.
  // Precondition: is_within_bounds(charge).
  void plan(const AdHocCharge& charge, const Allowance& allowance, const keys::KeyEncoder& encoder);
  // Makes the planned charges those of a reservation: what a rule takes from the request or from an attribute is
  // `amount`, and the last charge is the reservation's record (weir/hold_step.h).
  void reserve(std::int64_t amount, const BucketKey& id);
  // False: out of bounds, and answered as such.
  bool planned() const { return planned_; }

  static bool within_bounds(const Request& request) {
    return request.attributes.size() <= kMaxAttributes && request.cost.units >= 0 && request.cost.units <= kMaxUnits;
  }

  const rules::Matches& matches() const { return matches_; }
  std::span<const Charge> charges() const { return {charges_.data(), charges_.size()}; }
  // Without those that are found beside another: penalties and candidates.
  std::span<const Charge> buckets() const { return may_have_protection_ ? charges().first(deciding_) : charges(); }
  std::span<ChargeOutcome> outcomes() { return {outcomes_.data(), outcomes_.size()}; }
  std::span<const ChargeOutcome> outcomes() const { return {outcomes_.data(), outcomes_.size()}; }
  // The first so many charges come from one match each. Those after them appear in no answer: they are penalties or
  // candidates, or count in a rule's windows of other lengths (rules/compile/window_lengths.h), and bind nothing but
  // what is asked under a length that is new to the rule; see apply_bounds().
  std::size_t deciding() const { return deciding_; }
  // The key of the subject that a deciding charge is about, whatever window it counts in.
  BucketKey subject_of(std::size_t charge) const {
    return may_have_windows_ ? subject_in_any_window(charge) : charges_[charge].key;
  }
  // The match that a deciding charge came from. Unlimited matches have no charge.
  const rules::Match& match_of(std::size_t charge) const;
  std::int64_t requested_cost() const { return requested_cost_; }
  // No active rule is more than a limit: what is asked below is false.
  bool is_plain() const { return is_plain_; }
  // Some active rule, perhaps none of this check's, has a local limit.
  bool may_have_local_limits() const { return may_have_local_limits_; }
  // Some rule of the set is hidden, so one of those that apply may be.
  bool may_have_hidden_rules() const { return may_have_hidden_rules_; }
  // For refunds: what a request is denied for costs nothing, so nothing is given back for it.
  void drop_bad_costs();
  // Some rule of the set has a penalty, asks for challenges, or has a candidate.
  bool may_have_protection() const { return may_have_protection_; }
  // Some rule of the set has slices or is shared between regions: a charge may be answered by another than the store.
  bool may_have_slices() const { return may_have_slices_; }
  // For reports: what is to be cleared costs 1, the rest nothing.
  void prepare_report(bool success);
  // Gives rules with an auto_limit the limit that applies now. In shadow mode only their match gets it: what is charged
  // has the largest, so that everything that is held is counted (stages/adaptive.h).
  void use_adaptive_limits(AdaptiveLimits& limits);
  // Tells the limits of rules with an auto_limit how long the request's work took.
  void note_work(AdaptiveLimits& limits, Duration took, bool succeeded, TimePoint now) const;
  // Some rule of the set has an auto_limit.
  bool may_have_auto_limits() const { return rules_ != nullptr && rules_->has_auto_limits(); }
  // For holds, which candidates do not judge: what they take is settled later.
  void drop_candidates();
  // Some rule of the set has max_subjects, so the store may have called a charge a newcomer's.
  bool may_have_newcomers() const { return bounding_ != nullptr; }
  // Turns the charges that the store called a newcomer's into charges of their rules' shared buckets.
  // Precondition: may_have_newcomers(), and the rules of plan() are still alive.
  void share_buckets();
  // Some deciding charge is also bound by its rule's counts in other windows.
  bool has_bounds() const { return has_bounds_; }
  // Makes what they said part of the deciding charges' outcomes. `wall` is the time of the run. Precondition: the store
  // has answered.
  void apply_bounds(TimePoint wall);
  // True: a deciding charge that share_buckets() has changed.
  bool is_shared(std::size_t charge) const { return (shared_ >> charge & 1U) != 0; }
  // Some charge is of kind quota: the store does not see it (stages/quota_gate.h).
  bool has_quotas() const { return has_quotas_; }
  // The rules that it was planned with. Null: an ad-hoc charge.
  const rules::RuleSet* rules() const { return rules_; }
  bool has_shared() const { return shared_ != 0; }
  // The same plan for another cost of the request. False: a rule's cost is not simply the request's, and nothing has
  // changed. Precondition: planned for a request, and `units` are within bounds.
  bool change_cost(std::int64_t units);
  // A request that no rule counts is denied.
  bool denies_unmatched() const { return denies_unmatched_; }

  // The request may go away after this. `kept` takes its place for observers, and outlives the check; null: nothing.
  void outlive_request(const KeptRequest* kept) {
    request_ = nullptr;
    kept_ = kept;
  }
  // Null for an ad-hoc charge, and when it is gone.
  const Request* request() const { return request_; }
  // What observers are told of the request, all but the time that the store took.
  RequestContext context(const Decision& decision) const;

 private:
  void plan_rest(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules);
  // In check_protection.cc.
  void protect(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules);
  void count_values(const Request& request, const rules::ResolvedNames& names, const ActiveRules& rules);
  Charge& accompany(std::size_t of, const Charge& prepared, std::uint64_t bits);
  void add_penalties();
  void add_candidates();
  static BucketKey candidate_key(const BucketKey& subject);
  void show_to_operator(const OperatorView& view);
  // In check_windows.cc.
  void record_in_other_windows();
  std::size_t recordings_of(const rules::WindowLengths& windows) const;
  void count_longest_window(std::size_t deciding, std::size_t first_recording);
  void share_bucket(std::size_t deciding, std::size_t first_recording);
  BucketKey subject_in_any_window(std::size_t charge) const;

  rules::Matches matches_;
  InlineVector<Charge, 8> charges_;
  InlineVector<ChargeOutcome, 8> outcomes_;
  std::size_t deciding_ = 0;
  std::int64_t requested_cost_ = 0;
  bool planned_ = false;
  bool is_plain_ = true;
  bool may_have_local_limits_ = false;
  bool may_have_hidden_rules_ = false;
  bool may_have_protection_ = false;
  bool may_have_slices_ = false;
  bool may_have_windows_ = false;  // some rule of the set counts in windows of several lengths
  bool denies_unmatched_ = false;
  bool has_quotas_ = false;
  bool has_bounds_ = false;
  TimePoint planned_at_{};  // by the wall clock; of rules that are more than a limit
  const Request* request_ = nullptr;
  const rules::RuleSet* rules_ = nullptr;  // null: an ad-hoc charge
  const KeptRequest* kept_ = nullptr;
  std::uint64_t shared_ = 0;               // one bit for each deciding charge
  const ActiveRules* bounding_ = nullptr;  // of plan(), if some have max_subjects
};

}  // namespace weir::engine
