#include "engine/boot_clock.h"

#include <ctime>

namespace weir::engine {

TimePoint BootClock::now() {
  if (ticks_ != nullptr) return from_micros(ticks_->now() / 1'000);
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return from_micros(std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000);
}

}  // namespace weir::engine
