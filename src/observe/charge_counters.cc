#include "observe/charge_counters.h"

namespace weir::observe {
namespace {

ChargeResult result_of(const ChargeOutcome& outcome) {
  if (outcome.status != Code::ok) return ChargeResult::failed;
  if (outcome.admitted) return ChargeResult::allowed;
  return outcome.too_large ? ChargeResult::too_large : ChargeResult::denied;
}

}  // namespace

std::string_view charge_result_name(ChargeResult result) {
  constexpr std::string_view kNames[kChargeResultCount] = {"allowed", "denied", "too_large", "failed"};
  return kNames[static_cast<std::size_t>(result)];
}

void ChargeCounters::count(std::string_view space, const ChargeOutcome& outcome) {
  std::atomic<std::uint64_t>& counter = counts_[row_of(space)][static_cast<std::size_t>(result_of(outcome))];
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

std::string_view ChargeCounters::space(std::size_t row) const {
  return row == kOtherSpace ? "other" : std::string_view(spaces_[row]);
}

std::size_t ChargeCounters::row_of(std::string_view space) {
  const std::size_t used = used_.load(std::memory_order_relaxed);
  for (std::size_t row = 0; row < used; ++row) {
    if (spaces_[row] == space) return row;
  }
  if (used == kMaxSpaces) return kOtherSpace;
  spaces_[used] = space;
  used_.store(used + 1, std::memory_order_release);  // readers must not see the row before its name
  return used;
}

}  // namespace weir::observe
