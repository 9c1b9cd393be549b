// LoopTimer and LoopTurn: call something later on an event loop, and never after the owner has gone.
//
// Asio may already have queued a handler when its timer is destroyed; both classes make that harmless. Each belongs to
// the loop it was made for.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

#include "stores/redis/breaker.h"

namespace weir::redis {

// One alarm, which may be moved.
class LoopTimer {
 public:
  LoopTimer(boost::asio::io_context& loop, std::function<void()> action)
      : timer_(loop), action_(std::make_shared<std::function<void()>>(std::move(action))) {}
  ~LoopTimer() { cancel(); }
  LoopTimer(const LoopTimer&) = delete;
  LoopTimer& operator=(const LoopTimer&) = delete;

  void arm(SteadyTime at) {
    cancel();
    armed_ = true;
    at_ = at;
    timer_.expires_at(at);
    timer_.async_wait([this, generation = generation_, action = std::weak_ptr(action_)](const auto& error) {
      const auto alive = action.lock();  // without it `this` is gone
      if (error || !alive || generation != generation_) return;
      armed_ = false;
      (*alive)();
    });
  }
  void arm_after(std::chrono::microseconds delay) { arm(std::chrono::steady_clock::now() + delay); }
  void cancel() {
    if (!armed_) return;
    armed_ = false;
    ++generation_;
    timer_.cancel();
  }
  bool armed() const { return armed_; }
  SteadyTime at() const { return at_; }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::function<void()>> action_;
  std::uint64_t generation_ = 0;
  bool armed_ = false;
  SteadyTime at_{};
};

// Runs an action once in the next turn of the loop, however often it was asked for in this one.
class LoopTurn {
 public:
  LoopTurn(boost::asio::io_context& loop, std::function<void()> action)
      : loop_(loop), state_(std::make_shared<State>(State{std::move(action)})) {}

  void ask() {
    if (state_->asked) return;
    state_->asked = true;
    boost::asio::post(loop_, [weak = std::weak_ptr(state_)] {
      const auto state = weak.lock();
      if (!state) return;
      state->asked = false;
      state->action();
    });
  }

 private:
  struct State {
    std::function<void()> action;
    bool asked = false;
  };
  boost::asio::io_context& loop_;
  std::shared_ptr<State> state_;
};

}  // namespace weir::redis
