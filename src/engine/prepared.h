// Engine::Prepared: a request that was planned in advance (weir/prepared_check.h). It goes through the stages of every
// other check; only the plan, and on a store that answers at once the Run and the Decision, are kept from one check to
// the next.
//
// A plan is used again while the rules' version is the same, the wall clock is in the period in which the plan's
// overrides apply, and the cost is the same or can simply be replaced.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "weir/prepared_check.h"

namespace weir::engine {

class Engine::Prepared final : public PreparedCheck {
 public:
  Prepared(Engine& engine, std::span<const Attribute> attributes);

  const Decision& check(Cost cost) override;
  bool begin(CheckCall& call, Cost cost) override;

 private:
  static constexpr std::int64_t kNone = -1;
  // Contains no moment.
  static constexpr rules::RuleSet::Period kNoPeriod{TimePoint::max(), TimePoint::min()};

  // Makes check_ the plan for this moment and cost. False: the request is out of bounds, and `decision` says so.
  bool make_ready(const Reading& at, Cost cost, Decision& decision) {
    if (cost.units == ready_for_ && cost.units != kNone && is_current(at)) [[likely]]
      return true;
    return change_plan(at, cost, decision);
  }
  bool is_current(const Reading& at) const {
    return engine_.rules_.book().version() == version_ && period_.contains(at.wall());
  }
  // As Engine::shed.
  bool shed(Action action, const Reading& at, Decision& decision);
  bool change_plan(const Reading& at, Cost cost, Decision& decision);
  bool plan_again(const Reading& at, Cost cost, Decision& decision);
  const Decision& wait_for(Cost cost);
  void decide(Action action, const Reading& at, Decision& decision);

  // Constant after construction.
  Engine& engine_;
  std::string texts_;
  std::vector<Attribute> attributes_;

  // The plan, and what it holds for.
  Request request_;  // which the plan refers to
  rules::CompletedRequest completed_;
  rules::ResolvedNames names_;  // of the request
  bool may_be_shed_ = false;
  std::uint64_t version_ = 0;
  std::int64_t cost_ = kNone;
  std::int64_t ready_for_ = kNone;  // the cost for which there is nothing to do
  rules::RuleSet::Period period_;
  rules::MatchIssues issues_;
  std::shared_ptr<const ActiveRules> rules_;
  Check check_;

  InlineRun run_;
  Decision decision_;
};

}  // namespace weir::engine
