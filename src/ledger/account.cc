#include "ledger/account.h"

#include <array>
#include <cassert>

namespace weir::ledger {
namespace {

constexpr std::array<std::string_view, 4> kStates = {"open", "committed", "released", "lapsed"};

}  // namespace

std::string_view state_name(ReservationState state) { return kStates[static_cast<std::size_t>(state)]; }

std::optional<ReservationState> parse_state(std::string_view name) {
  for (std::size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == name) return static_cast<ReservationState>(i);
  }
  return std::nullopt;
}

void Account::move(EntryKind kind, std::int64_t amount) {
  const auto bucket = [this](Bucket which) -> std::int64_t& {
    switch (which) {
      case Bucket::available:
        return available;
      case Bucket::held:
        return held;
      case Bucket::used:
        return used;
      default:
        return expired;
    }
  };
  const Movement movement = movement_of(kind);
  assert(amount > 0);
  if (movement.from == Bucket::issue) {
    assert(issued <= kMaxIssued + kMaxIssued / 4 - amount);  // limits and carried grants may go beyond
    issued += amount;
  } else {
    assert(bucket(movement.from) >= amount);
    bucket(movement.from) -= amount;
  }
  if (movement.to == Bucket::issue) {
    issued -= amount;
  } else {
    bucket(movement.to) += amount;
  }
  switch (kind) {
    case EntryKind::grant:
    case EntryKind::carry_in:
      granted += amount;
      granted_left += amount;
      break;
    case EntryKind::carry_out:
      granted -= amount;
      granted_left -= amount;
      break;
    case EntryKind::grant_expiry:
      granted_left -= amount;
      break;
    case EntryKind::grace:
      grace_used += amount;
      break;
    case EntryKind::ungrace:
      grace_used -= amount;
      break;
    case EntryKind::overage:
      overage += amount;
      break;
    case EntryKind::unoverage:
      overage -= amount;
      break;
    default:
      break;
  }
  ++version;
}

}  // namespace weir::ledger
