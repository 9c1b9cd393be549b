// ChargeCounters: the ad-hoc charges of one event loop, by the space that they came from ("cl.throttle") and result.
//
// One writer (the loop that owns it) and any number of readers, at the price of DecisionCounters: plain loads and
// stores. The first kMaxSpaces spaces ever used have a row each; all later ones share the row kOtherSpace, so that no
// front end can make the labels of a scrape grow without bound.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/store.h"

namespace weir::observe {

enum class ChargeResult : std::uint8_t {
  allowed,
  denied,
  too_large,  // can never be allowed: the cost cannot fit
  failed,     // the store did not answer, or had no room for the bucket
};
inline constexpr std::size_t kChargeResultCount = 4;
std::string_view charge_result_name(ChargeResult result);

class ChargeCounters {
 public:
  static constexpr std::size_t kMaxSpaces = 8;
  static constexpr std::size_t kOtherSpace = kMaxSpaces;

  // On the owning loop only.
  void count(std::string_view space, const ChargeOutcome& outcome);

  // From any thread. Rows below rows_used(), and kOtherSpace, may be asked for.
  std::size_t rows_used() const { return used_.load(std::memory_order_acquire); }
  std::string_view space(std::size_t row) const;
  std::uint64_t charges(std::size_t row, ChargeResult result) const {
    return counts_[row][static_cast<std::size_t>(result)].load(std::memory_order_relaxed);
  }

 private:
  std::size_t row_of(std::string_view space);

  std::array<std::string, kMaxSpaces> spaces_;  // those below used_ stay as they are
  std::atomic<std::size_t> used_{0};
  std::array<std::array<std::atomic<std::uint64_t>, kChargeResultCount>, kMaxSpaces + 1> counts_{};
};

}  // namespace weir::observe
