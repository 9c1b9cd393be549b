// Waiter<T>: waits for a completion that runs on another thread; for callers that have a thread to spare.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace weir::engine {

template <typename T>
class Waiter {
 public:
  // To be called once, from any thread.
  void complete(const T& answer) {
    const std::lock_guard<std::mutex> lock(mutex_);
    answer_ = answer;
    ready_.notify_one();
  }
  T wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return answer_.has_value(); });
    return std::move(*answer_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::optional<T> answer_;  // guarded by mutex_
};

}  // namespace weir::engine
