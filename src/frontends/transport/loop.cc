#include "frontends/transport/loop.h"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <cassert>
#include <utility>

#include "frontends/transport/connection.h"
#include "frontends/transport/listener.h"

namespace weir::transport {

namespace asio = boost::asio;

void Loop::post(std::function<void()> task) {
  // A task may hold a connection, which holds this loop: queued where nothing runs any more it would be a circle.
  if (!ended_.load(std::memory_order_acquire)) asio::post(io_, std::move(task));
}

void Loop::fit_tick(Duration timeout) { tick_length_ = std::clamp(timeout / 4, kShortestTick, tick_length_); }

std::uint32_t Loop::ticks(Duration timeout) const {
  const std::int64_t whole = (timeout.count() + tick_length_.count() - 1) / tick_length_.count();
  return static_cast<std::uint32_t>(std::min<std::int64_t>(whole + 1, INT32_MAX));
}

void Loop::add_listener(std::shared_ptr<Listener> listener) { listeners_.push_back(std::move(listener)); }

void Loop::add(std::shared_ptr<Connection> connection) {
  connection->set_place(connections_.size());
  connections_.push_back(std::move(connection));
  open_.store(connections_.size(), std::memory_order_relaxed);
}

void Loop::add_starving(std::weak_ptr<Connection> connection) {
  starving_.push_back(std::move(connection));
  feed_later();
}

void Loop::feed_later() {
  if (std::exchange(feeding_, true)) return;
  feeder_.expires_after(kFeedPeriod);
  feeder_.async_wait([this](const boost::system::error_code& error) {
    feeding_ = false;
    if (!error) feed();
  });
}

void Loop::feed() {
  const std::vector<std::weak_ptr<Connection>> waiting = std::exchange(starving_, {});
  bool much_is_left = true;
  for (const std::weak_ptr<Connection>& weak : waiting) {
    const std::shared_ptr<Connection> connection = weak.lock();
    if (!connection) continue;
    const bool wants_much = connection->wants_much();
    const bool tried = much_is_left || !wants_much;
    if (tried && connection->feed()) continue;
    if (wants_much) much_is_left = false;
    starving_.push_back(weak);
  }
  if (!starving_.empty()) feed_later();
}

void Loop::remove(Connection& connection) {
  const std::size_t place = connection.place();
  assert(place < connections_.size() && connections_[place].get() == &connection);
  std::swap(connections_[place], connections_.back());
  connections_[place]->set_place(place);
  connections_.pop_back();
  open_.store(connections_.size(), std::memory_order_relaxed);
  if (connections_.empty() && empty_) std::exchange(empty_, nullptr)();
}

void Loop::run() {
  auto work = asio::make_work_guard(io_);
  for (const auto& listener : listeners_) listener->start();
  sweeper_.expires_after(tick_length_);
  sweep();
  io_.run();
}

void Loop::sweep() {
  sweeper_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    if (!forgive_late_tick()) sweep_connections();
    // From the last expiry, so that ticks keep their rate when the loop is busy; but those missed are not made up for.
    const auto now = asio::steady_timer::clock_type::now();
    sweeper_.expires_at(std::max(sweeper_.expiry(), now - tick_length_) + tick_length_);
    sweep();
  });
}

// True: this tick comes so late that the peers' bytes must be read before any peer counts as slow.
bool Loop::forgive_late_tick() {
  const bool late = asio::steady_timer::clock_type::now() - sweeper_.expiry() >= tick_length_;
  forgave_late_tick_ = late && !forgave_late_tick_;
  return forgave_late_tick_;
}

void Loop::sweep_connections() {
  ++tick_;
  // Backward, because a connection that closes puts the last one in its place.
  for (std::size_t i = connections_.size(); i-- > 0;) {
    if (i >= connections_.size()) continue;
    const std::shared_ptr<Connection> connection = connections_[i];
    connection->sweep();
  }
}

void Loop::drain(Duration grace, std::function<void()> empty) {
  draining_ = true;
  leaving_ = grace <= Duration(0);
  for (const auto& listener : listeners_) listener->close();
  drain_connections();
  if (connections_.empty()) return empty();
  empty_ = std::move(empty);
  if (leaving_) return;
  grace_.expires_after(grace);
  grace_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    leaving_ = true;
    drain_connections();
  });
}

void Loop::drain_connections() {
  const std::vector<std::shared_ptr<Connection>> present = connections_;
  for (const auto& connection : present) connection->drain(leaving_);
}

void Loop::shut_down() {
  draining_ = leaving_ = true;
  for (const auto& listener : listeners_) listener->close();
  while (!connections_.empty()) {
    const std::shared_ptr<Connection> last = connections_.back();
    last->abort();
  }
  sweeper_.cancel();
  grace_.cancel();
  feeder_.cancel();
  // Behind the handlers that the lines above have queued, so that those release their connections.
  asio::post(io_, [this] { io_.stop(); });
}

void Loop::discard_queued() {
  ended_.store(true, std::memory_order_release);
  io_.restart();
  io_.poll();
  // A connection that was handed over after shut_down().
  while (!connections_.empty()) {
    const std::shared_ptr<Connection> last = connections_.back();
    last->abort();
  }
  io_.poll();
  // A listener holds the loops that it deals to: this breaks the reference cycle.
  listeners_.clear();
}

Counters Loop::counters() const {
  return {.accepted = accepted_.load(std::memory_order_relaxed),
          .refused = refused_.load(std::memory_order_relaxed),
          .timed_out = timed_out_.load(std::memory_order_relaxed),
          .open = open_.load(std::memory_order_relaxed)};
}

}  // namespace weir::transport
