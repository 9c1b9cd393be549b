#include "server/modules/clock_module.h"

namespace weir::server {
namespace {

constexpr Duration kClockPeriod = std::chrono::seconds(1);

}  // namespace

Status ClockModule::start() {
  context_.add_task(kClockPeriod, [this] { watch_.poll(context_.clock->read(), context_.clock->steps().followed); });
  context_.add_facts([clock = context_.clock](observe::Facts& facts) {
    facts.clock_ahead = clock->read().ahead;
    facts.clock_steps_forward = clock->steps().forward;
    facts.clock_steps_backward = clock->steps().backward;
  });
  return success();
}

}  // namespace weir::server
