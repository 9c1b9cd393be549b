// Loop: one event loop, one thread, its own connections.
//
// Everything but post(), on_thread() and counters() is for the loop's own thread, or for any thread before the loop
// runs. Connections hold their loop, so a completion that outlives the server still finds it.
//
// Time is counted in ticks of one sweeping timer: connections note the tick of what they did, and the sweep closes the
// stale ones. A request costs no timer and no look at the clock.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weir/time.h"

namespace weir::frontends {

class Connection;
class Listener;

struct Counters {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;    // over the cap, or the process had no descriptor left
  std::uint64_t timed_out = 0;  // slow messages and slow readers; idle connections leave uncounted
  std::uint64_t open = 0;
};

class Loop : public std::enable_shared_from_this<Loop> {
 public:
  static constexpr Duration kLongestTick = std::chrono::milliseconds(500);
  static constexpr Duration kShortestTick = std::chrono::milliseconds(5);

  explicit Loop(std::size_t index) : index_(index), io_(1), sweeper_(io_) {}

  std::size_t index() const { return index_; }
  boost::asio::io_context& io() { return io_; }
  bool on_thread() { return io_.get_executor().running_in_this_thread(); }
  // After the loop's end the task is dropped.
  void post(std::function<void()> task);

  // Lets a tick be no longer than `timeout` needs to be kept to about a quarter.
  void fit_tick(Duration timeout);
  std::uint32_t tick() const { return tick_; }
  // Rounded up, plus one for the tick under way: never early.
  std::uint32_t ticks(Duration timeout) const;

  void add_listener(std::shared_ptr<Listener> listener);
  void add(std::shared_ptr<Connection> connection);
  void remove(Connection& connection);
  bool draining() const { return draining_; }

  // Runs until shut_down(), on the calling thread.
  void run();
  // Stops accepting and asks every connection to come to its end; `empty` runs, on this thread, when none is left.
  void drain(std::function<void()> empty);
  // Closes everything at once and ends run().
  void shut_down();
  // After run() has ended: lets go of what was still queued.
  void discard_queued();

  void count_accepted() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  void count_timed_out() { timed_out_.fetch_add(1, std::memory_order_relaxed); }
  Counters counters() const;

 private:
  void sweep();

  const std::size_t index_;
  boost::asio::io_context io_;
  boost::asio::steady_timer sweeper_;
  Duration tick_length_ = kLongestTick;
  std::uint32_t tick_ = 0;
  bool draining_ = false;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<std::shared_ptr<Connection>> connections_;  // each knows its place
  std::function<void()> empty_;
  std::atomic<bool> ended_{false};

  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> timed_out_{0};
  std::atomic<std::uint64_t> open_{0};
};

}  // namespace weir::frontends
