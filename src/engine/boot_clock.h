// BootClock: the time since the machine was started, its sleep included. It cannot be set, so that a bucket does not
// seem to have refilled when someone sets the wall clock. Only differences mean something.
//
// Thread-safe.
#pragma once

#include <memory>

#include "engine/tick_timer.h"
#include "weir/time.h"

namespace weir::engine {

class BootClock final : public Clock {
 public:
  TimePoint now() override;

 private:
  const std::unique_ptr<TickTimer> ticks_ = TickTimer::of_this_machine();  // null: the system is asked
};

}  // namespace weir::engine
