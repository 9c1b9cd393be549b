// BackgroundTasks: periodic work on a thread of its own, so that reading rules or writing a snapshot never keeps a
// connection waiting.
//
// Tasks run one after the other. add() before start(); stop() waits for the task that is running. A task must not
// throw.
#pragma once

#include <functional>
#include <memory>

#include "weir/time.h"

namespace weir::server {

// How often files are checked for changes.
inline constexpr Duration kWatchPeriod = std::chrono::milliseconds(250);

class BackgroundTasks {
 public:
  BackgroundTasks();
  ~BackgroundTasks();

  // Runs `task` every `period`, for the first time one period after the start. The pause is counted from the end of
  // one run to the start of the next, so a slow task does not run all the time.
  void add(Duration period, std::function<void()> task);
  void start();
  // Idempotent.
  void stop();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace weir::server
