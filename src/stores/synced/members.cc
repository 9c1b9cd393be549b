#include "stores/synced/members.h"

#include <algorithm>

namespace weir::synced {
namespace {

// Parts are fractions; sums of those that add up to one may come out a little larger. Tolerances are below 10^12 units,
// so this is less than one unit.
constexpr double kRounding = 1e-12;

}  // namespace

Grant MemberList::beat(const Beat& beat, TimePoint now) {
  std::erase_if(members_, [now](const auto& each) { return each.second.ends <= now; });
  if (members_.empty()) learns_until_ = now + ttl_;
  const auto known = members_.find(beat.id);
  const auto nodes = [this] { return static_cast<std::uint32_t>(members_.size()); };
  if (known != members_.end() && known->second.number >= beat.number) return {.parts = 0, .nodes = nodes()};
  if (known == members_.end() && members_.size() >= kMaxMembers) return {.parts = 0, .nodes = nodes()};
  std::uint32_t all = beat.weight;
  double others = 0;
  for (const auto& [id, member] : members_) {
    if (id == beat.id) continue;
    all += member.weight;
    if (member.held > 0) others += static_cast<double>(member.weight) / member.held;
  }
  std::uint32_t granted = beat.held;
  std::uint32_t may_use = beat.held;
  if (beat.held > 0 && all >= beat.held) {
    granted = all;  // until the node says that it uses the smaller part, it may be using the larger one
  } else if (now >= learns_until_ && others + static_cast<double>(beat.weight) / all <= 1 + kRounding) {
    granted = may_use = all;
  }
  members_[beat.id] = {.number = beat.number, .weight = beat.weight, .held = may_use, .ends = now + ttl_};
  return {.parts = granted, .nodes = nodes()};
}

Beat Membership::next(TimePoint now) {
  sent_ = now;
  std::uint32_t held = credit_.parts(now);
  const std::uint32_t settled = options_.settled ? options_.settled() : 0;
  if (held > 0 && settled > 0) held = std::min(held, settled);
  return {.id = options_.id, .number = ++number_, .weight = options_.weight, .held = held};
}

void Membership::answered(std::uint64_t number, const Grant& grant) {
  if (number != number_ || left_) return;
  nodes_.store(grant.nodes, std::memory_order_relaxed);
  credit_.set(grant.parts, sent_ + options_.ttl - options_.ttl / kDriftShare - Duration{1});
}

void Membership::leave() {
  left_ = true;
  credit_.set(0, TimePoint{});
}

}  // namespace weir::synced
