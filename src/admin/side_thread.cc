#include "admin/side_thread.h"

#include <utility>

namespace weir::admin {

SideThread::~SideThread() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    tasks_.clear();
  }
  changed_.notify_one();
  thread_.join();
}

bool SideThread::post(std::function<void()> task) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || tasks_.size() >= kMaxTasks) return false;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
  return true;
}

void SideThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return ended_ || !tasks_.empty(); });
    if (ended_) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace weir::admin
