// BlockingCall: a call (weir/call.h) whose caller waits on its own thread until a store that answers later has
// answered. The only code of the library that blocks.
#pragma once

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>

namespace weir::engine {

class Waiter {
 public:
  // To be called once, from any thread.
  void complete() {
    const std::lock_guard<std::mutex> lock(mutex_);
    completed_ = true;
    ready_.notify_one();
  }
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    ready_.wait(lock, [this] { return completed_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  bool completed_ = false;  // guarded by mutex_
};

// Lives on the stack: its caller does not leave before it is completed.
template <typename Call>
class BlockingCall final : public Call {
 public:
  // Not "= default": GCC would clear the room for the waiter too.
  BlockingCall() {}  // NOLINT(modernize-use-equals-default)
  Call& defer() override {
    waiter_.emplace();
    return *this;
  }
  void complete() override { waiter_->complete(); }
  // Precondition: begin() of `limiter` returned false.
  template <typename Limiter>
  void wait(const Limiter& limiter) {
    assert(limiter.may_wait() && "a call that waits, on the thread that would answer it");
    waiter_->wait();
  }

 private:
  std::optional<Waiter> waiter_;  // most calls need none
};

}  // namespace weir::engine
