// ReservationRun: one question about reservations (weir/reservations.h) on its way. Reserving walks the stages of every
// check (engine.cc); the others go to the store alone, with the charges that a handle has or that a request leads to.
//
// Lives on the stack when the store answers at once, on the heap when it answers later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/hold_handle.h"
#include "engine/run.h"
#include "weir/reservations.h"

namespace weir::engine {

class Engine::ReservationRun final : public LastingRun {
 public:
  ReservationRun(Engine& engine, ReservationCall& call);
  ~ReservationRun();

  // True: the answer is there.
  bool start();
  bool deferred() const { return deferred_; }
  ReservationCall& call() { return *call_; }

  void detach(bool keep) override;
  void complete() override;

 private:
  using Verb = ReservationQuestion::Verb;

  class QuotaStep;

  static std::string hex_of(const BucketKey& key);
  // Of quotas (reservation_quota.cc).
  bool reserve_quotas();
  bool settle_quotas();
  void quota_answered();
  bool quota_is_as_asked() const;
  void finish_with_quota();

  bool check_question();
  std::optional<std::int64_t> estimate();
  void note_learning();
  void learn();
  bool reserve();
  bool use_handle();
  bool list();
  bool ask();
  void finish();
  void finish_reserve();
  void finish_settle();
  void finish_extend();
  void finish_get();
  void finish_list();
  bool refuse(HoldFault fault, std::string message);
  void make_handle();
  void tell_hold();
  void describe_outcomes();
  void describe_outcome(std::size_t charge, RuleOutcome& outcome) const;

  Engine& engine_;
  ReservationCall* call_;
  Verb verb_ = Verb::reserve;
  bool dry_run_ = false;
  bool estimated_ = false;
  InlineVector<BucketKey, 8> learned_;  // for each charge: what its rule learns by
  bool deferred_ = false;
  HoldStep step_;
  std::shared_ptr<const ActiveRules> rules_;  // which the check refers to
  Check check_;
  std::string handle_bytes_;
  HoldHandle handle_;
  InlineVector<Charge, 8> own_charges_;  // of a handle, or of a list
  InlineVector<ChargeOutcome, 8> own_outcomes_;
  std::vector<ListedHold> listed_;
  std::unique_ptr<QuotaStep> quota_step_;  // null: the handle has no quota
};

}  // namespace weir::engine
