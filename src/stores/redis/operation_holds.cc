// Leases in an operation: what its parts say of one lease, put together.
//
// In one slot the script decides everything. A lease with charges in several slots has an entry in each of them:
// - a part that denies, or does not answer, undoes the others, as for buckets;
// - an id that is known in some slot has its lease already: what slots without leases were charged again is undone;
// - each slot gives a token by its own clock. The largest is the lease's, and is written to the other slots before the
//   call is answered, so that whatever lease is given next in any of them has a larger one;
// - a lease that is gone in one slot ends in the others.
#include <algorithm>

#include "stores/redis/operation.h"

namespace weir::redis {

bool Part::take_hold(Reply reply) {
  const HoldState before = hold_.state;
  const std::size_t width = operation_.reserves() ? kReservationAnswer : kHoldAnswer;
  HoldAnswer answer;
  if (reply.size() < width || !read_hold(reply.first(width), answer)) return false;
  if (operation_.reserves() && operation_.stage_ == Operation::Stage::amend) return reply.size() == width;
  hold_ = answer;
  if (operation_.raising_) {
    lost_ = hold_.state != HoldState::live;
    hold_.state = before;
  }
  const Reply items = reply.subspan(width);
  const bool lists = action() == ScriptAction::list && operation_.call_->hold->listed != nullptr;
  return lists ? take_list(items) : items.empty();
}

// By the node's clock, because each slot may have another one.
bool Part::take_list(Reply items) {
  HoldStep& hold = *operation_.call_->hold;
  if (items.size() % kListedAnswer != 0) return false;
  for (std::size_t i = 0; i < items.size(); i += kListedAnswer) {
    ListedHold listed;
    if (!read_listed(items.subspan(i, kListedAnswer), which.size(), operation_.reserves(), listed)) return false;
    listed.charge = which[listed.charge];
    listed.expires = hold.at + (listed.expires - from_micros(hold_.at_us));
    if (operation_.reserves()) listed.reserved = hold.at + (listed.reserved - from_micros(hold_.at_us));
    hold.listed->push_back(listed);
  }
  return true;
}

// Never waits for a retry: should it fail, the lease lapses here.
void Part::end_lease(SteadyTime now) {
  ScriptCall call = script_call();
  call.action = ScriptAction::settle;
  HoldStep step = operation_.step_;
  step.token = hold_.token;
  call.hold = &step;
  send_after(call, now);
}

bool Operation::finds(HoldState state) const {
  return std::any_of(parts_.begin(), parts_.begin() + static_cast<std::ptrdiff_t>(used_),
                     [&](const Part& part) { return part.holds_ && part.hold_.state == state; });
}

// True: some slot is being told of a larger token, and the operation is concluded when it has answered.
bool Operation::agree_on_token(SteadyTime now) {
  const bool gives_token = call_->action == Action::take || call_->action == Action::renew;
  if (used_ == 1 || raising_ || !gives_token || denied()) return false;
  if (finds(HoldState::gone) || finds(HoldState::other)) return false;
  std::uint64_t largest = 0;
  for (std::size_t i = 0; i < used_; ++i) largest = std::max(largest, parts_[i].hold_.token);
  const auto is_behind = [&](const Part& part) { return part.has_units_ && part.hold_.token < largest; };
  InlineVector<Part*, 8> behind;
  for (std::size_t i = 0; i < used_; ++i) {
    if (is_behind(parts_[i])) behind.push_back(&parts_[i]);
  }
  if (behind.empty()) return false;
  raising_ = true;
  step_.token = largest;
  under_way_ = behind.size();
  for (const Part* const part : behind) step_.expires = std::max(step_.expires, from_micros(part->hold_.expires_us));
  for (Part* const part : behind) {
    part->answered_ = false;
    part->send({}, now);
  }
  return true;
}

bool Operation::must_undo(const Part& part, bool failed) const {
  if (failed) return true;
  if (call_->hold == nullptr) return false;
  if (finds(HoldState::gone) || finds(HoldState::other)) return true;
  // The id has its lease. A slot with leases that did not know of it lost it, or failed when it was acquired.
  return finds(HoldState::live) && !part.leases_;
}

void Operation::end_gone_lease(SteadyTime now) {
  if (call_->action != Action::renew || !finds(HoldState::gone)) return;
  for (std::size_t i = 0; i < used_; ++i) {
    if (parts_[i].leases_ && parts_[i].hold_.state == HoldState::live) parts_[i].end_lease(now);
  }
}

void Operation::report_hold() {
  HoldStep& hold = *call_->hold;
  if (call_->action == Action::list) return;
  hold.state = call_->action == Action::settle             ? HoldState::gone
               : call_->action == Action::renew            ? HoldState::live
               : call_->action == Action::peek || denied() ? HoldState::none
                                                           : HoldState::taken;
  if (hold.state == HoldState::none && call_->action != Action::peek) return;
  for (const HoldState state : {HoldState::gone, HoldState::other, HoldState::live, HoldState::ended}) {
    // Gone, if it is anywhere; when it is ended, that any slot had it is enough.
    const bool decides = state != HoldState::gone || call_->action != Action::settle || !finds(HoldState::ended);
    if (!decides || !finds(state)) continue;
    hold.state = state;
    break;
  }
  if (hold.state == HoldState::none) return;
  Duration left = Duration::max();
  for (std::size_t i = 0; i < used_; ++i) {
    if (!parts_[i].leases_) continue;
    const HoldAnswer& answer = parts_[i].hold_;
    hold.at = from_micros(answer.at_us);
    hold.token = std::max(hold.token, answer.token);
    left = std::min(left, from_micros(answer.expires_us) - hold.at);
  }
  hold.expires = hold.at + (left == Duration::max() ? hold.ttl : left);
}

}  // namespace weir::redis
