// What happens to requests before rules are evaluated: blocks refuse them, the records of tenants give them a plan.
#include <deque>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "engine/stages/blocks.h"

namespace weir::engine {
namespace {

// The requests of one call with the plans of their tenants' records. Lives as long as they are used.
class CompletedRequests {
 public:
  CompletedRequests(std::span<const Request> sent, const rules::PlanTable& plans) {
    if (sent.size() == 1) {
      completed_ = {&one_.complete(sent.front(), plans), 1};
      return;
    }
    list_.reserve(sent.size());
    for (const Request& request : sent) {
      rules::CompletedRequest& room = rooms_.emplace_back();
      const Request& completed = room.complete(request, plans);
      list_.push_back(completed);
      if (&completed == &request) rooms_.pop_back();
    }
    completed_ = list_;
  }
  CompletedRequests(const CompletedRequests&) = delete;
  CompletedRequests& operator=(const CompletedRequests&) = delete;

  std::span<const Request> get() const { return completed_; }

 private:
  rules::CompletedRequest one_;
  std::deque<rules::CompletedRequest> rooms_;
  std::vector<Request> list_;
  std::span<const Request> completed_;
};

}  // namespace

// Apart, so that a check without blocks does not pay for its room on the stack.
[[gnu::noinline]] bool Engine::refuse_by_block(const Request& request, Action action, const Reading& at,
                                               const ActiveRules& rules, Decision& decision) {
  const Block* const block = find_block(rules, request, action, at.wall());
  if (block == nullptr) return false;
  refuse_blocked(request, decision);
  decision.at = at.wall();
  if (action != Action::take) return true;
  if (block->use != nullptr) block->use->count(at.wall());
  for (const auto& observer : observers_) observer->on_decision(decision);
  show_refused(request, at, rules, decision, block->use != nullptr ? block->use->id() : std::string_view());
  return true;
}

// A call that is answered later may be gone when this returns, so only one that was answered gets its requests back.
[[gnu::noinline]] bool Engine::begin_completed(CheckCall& call, const ActiveRules& rules) {
  const std::shared_ptr<const rules::PlanTable> plans = rules.intake->plans;
  const CompletedRequests completed(call.requests, *plans);
  const std::span<const Request> sent = std::exchange(call.requests, completed.get());
  if (!begin_as_sent(call, rules)) return false;
  call.requests = sent;
  return true;
}

[[gnu::noinline]] bool Engine::begin_group_completed(GroupCall& call, const ActiveRules& rules) {
  const std::shared_ptr<const rules::PlanTable> plans = rules.intake->plans;
  const CompletedRequests completed(call.requests, *plans);
  const std::span<const Request> sent = std::exchange(call.requests, completed.get());
  if (!begin_group_as_sent(call, rules)) return false;
  call.requests = sent;
  return true;
}

void Engine::note_work(const Request& asked, Duration duration, bool succeeded) {
  const ActiveRules& rules = rules_.current();
  if (!rules.set->has_auto_limits() || !Check::within_bounds(asked)) return;
  rules::CompletedRequest room;
  const Request& request = completed(asked, rules, room);
  const Reading at = clock_->read();
  Check check;
  check.plan(request, at.wall(), rules, rules_.encoder(), with_tags_);
  check.note_work(*adaptive_, duration, succeeded, at.now);
}

}  // namespace weir::engine
