// ReservationRun: one question about reservations (weir/reservations.h) on its way.
#pragma once

#include <memory>
#include <string>

#include "engine/hold_run.h"
#include "weir/reservations.h"

namespace weir::engine {

class Engine::ReservationRun final : public HoldRun<ReservationCall> {
 public:
  ReservationRun(Engine& engine, ReservationCall& call, const ActiveRules& rules);
  ~ReservationRun() override;

  // True: the answer is there.
  bool start();
  void complete() override;

 private:
  using Verb = ReservationQuestion::Verb;

  bool decides() const override { return verb_ == Verb::reserve; }
  void finish() override;
  std::string_view change_name() const override;
  std::optional<HoldCounts::Call> counted_as() const override;

  class QuotaStep;

  // Of quotas (reservation_quota.cc).
  bool reserve_quotas();
  bool settle_quotas();
  void quota_answered();
  bool quota_is_as_asked() const;
  bool narrow_quota();
  void finish_with_quota();
  void describe_quota_denial();

  bool check_question();
  std::optional<std::int64_t> estimate();
  void note_learning();
  void learn();
  bool reserve();
  bool use_handle();
  bool list();
  void finish_reserve();
  void finish_settle();
  void finish_extend();
  void finish_get();
  void finish_list();
  void make_handle();
  std::string listed_handle(const ListedHold& of);
  void tell_hold();
  void describe_outcomes();
  void describe_outcome(std::size_t charge, RuleOutcome& outcome) const;

  const Verb verb_;
  bool dry_run_ = false;
  bool estimated_ = false;
  InlineVector<BucketKey, 8> learned_;     // for each charge: what its rule learns by
  std::unique_ptr<QuotaStep> quota_step_;  // null: the handle has no quota
  InlineVector<bool, 8> common_;           // list: for each charge, whether every request has the same bucket
  bool left_to_store_ = false;             // the ledger does not know the reservation of a handle
};

}  // namespace weir::engine
