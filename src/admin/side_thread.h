// SideThread: a thread for what takes longer than an event loop may wait and needs no database, such as a search in the
// journal. Tasks run one after the other; at most kMaxTasks wait.
//
// Thread-safe. The destructor waits for the task that is running and drops the others.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace weir::admin {

class SideThread {
 public:
  static constexpr std::size_t kMaxTasks = 64;

  SideThread() : thread_([this] { run(); }) {}
  ~SideThread();
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  // False: too many wait already, and it will not run.
  [[nodiscard]] bool post(std::function<void()> task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> tasks_;  // guarded by mutex_, like the next
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace weir::admin
