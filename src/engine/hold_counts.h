// HoldCounts: how the calls about leases and reservations have ended, since the start. Lists and lookups change nothing
// and are not counted. Thread-safe; where threads share an engine some may be lost, because counting exactly would cost
// more than it is worth. A server's loops have an engine each.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::engine {

class HoldCounts {
 public:
  enum class Call : std::uint8_t { acquire, renew, release_lease, reserve, commit, extend, release };
  enum class Result : std::uint8_t {
    done,
    denied,       // by a rule
    refused,      // the question was wrong, or the hold is gone or closed
    unavailable,  // the store or the ledger did not answer
  };
  static constexpr std::size_t kCalls = 7;
  static constexpr std::size_t kResults = 4;

  void count(Call call, Result result) {
    std::atomic<std::uint64_t>& counter = counts_[index(call, result)];
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  std::uint64_t total(Call call, Result result) const {
    return counts_[index(call, result)].load(std::memory_order_relaxed);
  }

  static std::string_view kind_name(Call call) { return call < Call::reserve ? "lease" : "reservation"; }
  static std::string_view call_name(Call call) {
    constexpr std::string_view kNames[kCalls] = {"acquire", "renew",  "release", "reserve",
                                                 "commit",  "extend", "release"};
    return kNames[static_cast<std::size_t>(call)];
  }
  static std::string_view result_name(Result result) {
    constexpr std::string_view kNames[kResults] = {"done", "denied", "refused", "unavailable"};
    return kNames[static_cast<std::size_t>(result)];
  }

 private:
  static std::size_t index(Call call, Result result) {
    return static_cast<std::size_t>(call) * kResults + static_cast<std::size_t>(result);
  }

  std::array<std::atomic<std::uint64_t>, kCalls * kResults> counts_{};
};

}  // namespace weir::engine
