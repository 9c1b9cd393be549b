// What failure policies have admitted is charged to the store when it answers again (stages/outage_debts.h).
#include <memory>

#include "engine/engine.h"

namespace weir::engine {

// Charges one debt. Owns itself once the store has it, and nothing of the engine: that may go before the answer comes.
class Engine::DebtRun final : public StoreCall {
 public:
  explicit DebtRun(const Engine& engine) : debts_(engine.debts_), model_(engine.fallback_), clock_(engine.clock_) {
    set_reading(clock_->read());
  }

  // False: nothing is to be charged now.
  bool prepare() {
    if (!debts_->next(*model_, reading(), debt_)) return false;
    charges = {&debt_.charge, 1};
    outcomes = {&outcome_, 1};
    return true;
  }
  void complete() override {
    const std::unique_ptr<DebtRun> self(this);
    static_cast<void>(finish());
  }
  // False: the store is unavailable again.
  bool finish() {
    debts_->end_run();
    if (status == Code::ok && outcome_.status == Code::ok) {
      debts_->charged(debt_);
      return true;
    }
    // Overdue, or the connection broke: it may have been charged, and is not charged twice.
    if (status == Code::deadline_exceeded) {
      debts_->lost(debt_);
    } else {
      debts_->put_back(*model_, debt_, clock_->read());
    }
    return false;
  }

 private:
  const std::shared_ptr<OutageDebts> debts_;
  const std::shared_ptr<Store> model_;
  const std::shared_ptr<Clock> clock_;
  OutageDebts::Debt debt_;
  ChargeOutcome outcome_;
};

void Engine::settle_debts() {
  while (debts_->owing() && debts_->begin_run()) {
    auto run = std::make_unique<DebtRun>(*this);
    if (!run->prepare()) return debts_->end_run();
    if (!store_->begin(*run)) {
      static_cast<void>(run.release());
    } else if (!run->finish()) {
      return;
    }
  }
}

// After a verdict without the store. A call that is overdue may have been charged, and is not charged twice.
void Engine::note_outage(const Check& check, const Run& run, Action action, const FailurePolicies::Failed& failed,
                         const Decision& decision) {
  if (debts_ == nullptr || run.status == Code::deadline_exceeded) return;
  const bool gives_back = action == Action::refund;
  if (!gives_back && (action != Action::take || !decision.allowed)) return;
  for (std::size_t i = 0; i < failed.size(); ++i) {
    const Charge& charge = check.charges()[i];
    const Rule& rule = check.match_of(i).rule->source;
    if (!failed[i] || charge.kind != ChargeKind::bucket || charge.value != 0 || !rule.reconcile) continue;
    // The home of a central rule may still be away when this region's store answers.
    if (charge.region != nullptr && charge.region->sharing == RegionSharing::central) continue;
    if (gives_back) {
      debts_->give_back(*fallback_, charge, run.reading());
    } else if (check.outcomes()[i].admitted) {
      debts_->note(*fallback_, charge, run.reading());
    }
  }
}

}  // namespace weir::engine
