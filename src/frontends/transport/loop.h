// Loop: one event loop, one thread, its own connections.
//
// Everything but post(), on_thread() and counters() is for the loop's own thread, or for any thread before the loop
// runs. Connections hold their loop, so a completion that outlives the server still finds it.
//
// Time is counted in ticks of one sweeping timer: connections note the tick of what they did, and the sweep closes the
// stale ones. A request costs no timer and no look at the clock. A tick that comes late by its own length or more, as
// after SIGSTOP or a suspended machine, ages nothing: what arrived meanwhile is read first. Two such ticks in a row do
// not happen, so that a loop that is always late still ends slow connections, in twice the time.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "weir/time.h"

namespace weir::transport {

class Connection;
class Listener;

struct Counters {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;    // over the cap, or the process had no descriptor left
  std::uint64_t timed_out = 0;  // slow messages and slow readers; idle connections leave uncounted
  std::uint64_t open = 0;
};

// Something behind the protocols that shares its room between connections, such as a store with calls under way.
class Backpressure {
 public:
  // True: this connection is read no further for now. Only of one that is still owed an answer, because the answer is
  // what makes the connection look again. Called on the loop's thread, before each message.
  virtual bool holds_back(std::uint64_t connection) const = 0;

 protected:
  ~Backpressure() = default;
};

class Loop : public std::enable_shared_from_this<Loop> {
 public:
  static constexpr Duration kLongestTick = std::chrono::milliseconds(500);
  static constexpr Duration kShortestTick = std::chrono::milliseconds(5);
  static constexpr Duration kFeedPeriod = std::chrono::milliseconds(5);

  explicit Loop(std::size_t index) : index_(index), io_(1), sweeper_(io_), grace_(io_), feeder_(io_) {}

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

  // The connection whose bytes a protocol handles at this moment; 0: none. Never the same number for two.
  std::uint64_t current_connection() const { return current_connection_; }
  void set_current_connection(std::uint64_t id) { current_connection_ = id; }
  std::uint64_t next_connection_id() { return ++last_connection_id_; }

  // Before the loop runs. Borrowed.
  void set_backpressure(const Backpressure& from) { backpressure_ = &from; }
  bool holds_back(std::uint64_t connection) const {
    return backpressure_ != nullptr && backpressure_->holds_back(connection);
  }

  void add_listener(std::shared_ptr<Listener> listener);
  void add(std::shared_ptr<Connection> connection);
  // Calls Connection::feed() now and then until it returns true: in the order in which they came, but one that wants
  // little does not wait for one that wants much.
  void add_starving(std::weak_ptr<Connection> connection);
  void remove(Connection& connection);
  // Nothing new is accepted, and leaving(): what is idle is closed.
  bool draining() const { return draining_; }
  bool leaving() const { return leaving_; }

  // Runs until shut_down(), on the calling thread.
  void run();
  // Stops accepting and asks every connection to come to its end; `empty` runs, on this thread, when none is left. For
  // `grace` connections that are idle stay open, where their protocol has a use for that, and answer what still comes.
  void drain(Duration grace, std::function<void()> empty);
  // Closes everything at once and ends run().
  void shut_down();
  // After run() has ended: releases what was still queued.
  void discard_queued();

  void count_accepted() { accepted_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() { refused_.fetch_add(1, std::memory_order_relaxed); }
  void count_timed_out() { timed_out_.fetch_add(1, std::memory_order_relaxed); }
  Counters counters() const;

 private:
  void sweep();
  bool forgive_late_tick();
  void sweep_connections();
  void drain_connections();
  void feed_later();
  void feed();

  const std::size_t index_;
  boost::asio::io_context io_;
  boost::asio::steady_timer sweeper_;
  boost::asio::steady_timer grace_;  // between draining_ and leaving_
  boost::asio::steady_timer feeder_;
  std::vector<std::weak_ptr<Connection>> starving_;  // in the order in which they came
  bool feeding_ = false;                             // the feeder is set
  Duration tick_length_ = kLongestTick;
  std::uint32_t tick_ = 0;
  bool forgave_late_tick_ = false;
  std::uint64_t current_connection_ = 0;
  std::uint64_t last_connection_id_ = 0;
  const Backpressure* backpressure_ = nullptr;
  bool draining_ = false;
  bool leaving_ = false;
  std::vector<std::shared_ptr<Listener>> listeners_;
  std::vector<std::shared_ptr<Connection>> connections_;  // each knows its place
  std::function<void()> empty_;
  std::atomic<bool> ended_{false};

  std::atomic<std::uint64_t> accepted_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> timed_out_{0};
  std::atomic<std::uint64_t> open_{0};
};

}  // namespace weir::transport
