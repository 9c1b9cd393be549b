// BootClock: the time since the machine was started, its sleep included. It cannot be set, so that a bucket does not
// seem to have refilled when someone sets the wall clock. Only differences mean something.
//
// Thread-safe.
#pragma once

#include <ctime>

#include "weir/time.h"

namespace weir::synced {

class BootClock final : public Clock {
 public:
  TimePoint now() override {
    timespec time{};
    clock_gettime(CLOCK_BOOTTIME, &time);
    return from_micros(std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1'000);
  }
};

}  // namespace weir::synced
