// UseMark: when an override or a block that was set at run time last applied to a request, and how often.
//
// Every rule set that has the override shares its mark, so a reload forgets nothing. Thread-safe; a mark that is used
// many times a second is written once a second, apart from its count.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "weir/time.h"

namespace weir {

class UseMark {
 public:
  explicit UseMark(std::string id) : id_(std::move(id)) {}

  // Constant: what the override or block is called where it is kept.
  const std::string& id() const { return id_; }

  void use(TimePoint now) {
    const std::int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    if (last_.load(std::memory_order_relaxed) != second) last_.store(second, std::memory_order_relaxed);
  }
  void count(TimePoint now) {
    use(now);
    uses_.fetch_add(1, std::memory_order_relaxed);
  }
  // What was known before the program started.
  void begin_with(TimePoint last, std::uint64_t uses) {
    use(last);
    uses_.store(uses, std::memory_order_relaxed);
  }

  // To the second. Nothing: never.
  std::optional<TimePoint> last_used() const {
    const std::int64_t second = last_.load(std::memory_order_relaxed);
    if (second == 0) return std::nullopt;
    return TimePoint(std::chrono::seconds(second));
  }
  // What count() has counted.
  std::uint64_t uses() const { return uses_.load(std::memory_order_relaxed); }

 private:
  const std::string id_;
  std::atomic<std::int64_t> last_{0};  // seconds since the epoch
  std::atomic<std::uint64_t> uses_{0};
};

}  // namespace weir
