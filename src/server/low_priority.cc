#include "server/low_priority.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <thread>

namespace weir::server {
namespace {

constexpr int kNice = 10;

// A thread of its own, because a process without privileges cannot raise a priority again. If the system refuses, the
// work runs at the usual priority.
void lower_priority_of_thread() {
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice));
  const sched_param none{};
  static_cast<void>(sched_setscheduler(0, SCHED_BATCH, &none));
}

}  // namespace

void run_at_low_priority(const std::function<void()>& work) {
  std::thread thread([&work] {
    lower_priority_of_thread();
    work();
  });
  thread.join();
}

}  // namespace weir::server
