// Window: how many calls may be under way at one server so that each can be answered in time.
//
// Every answer is a measurement. A call that was sent as the n-th of those under way and answered after L says that the
// server takes at most L / n for one call; so n · target / L calls are answered within `target`. The window follows
// these numbers with an eighth of the difference each time.
//
// - It grows to at most twice of what was really under way: a server is never asked for much more than it has shown
//   to bear. It shrinks only by answers that were slower than the target or given while the window was well used: a
//   single call on an idle server tells the length of the way and not how much the server can bear.
// - The target of a large window is an eighth of the deadline. That keeps a server busy and is far from the deadline:
//   a server that answers a whole window in one go makes a newcomer wait for one window before it is sent and for
//   another before it is answered, and servers have bad moments. A small window may take half of the deadline, because
//   there it is mostly something else that takes the time.
// - Where the server is far away, this is what a lone call takes, and such a part of the rest.
// - Of several windows on one server (each event loop and each node has its own) the smaller grows at the cost of the
//   larger: all get one call more than fits.
// - Until something is measured, a call is taken to need kFirstServiceTime, and kMostAtFirst is the bound.
//
// Pure: times are parameters. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>

namespace weir::redis {

class Window {
 public:
  static constexpr std::chrono::microseconds kFirstServiceTime{50};
  static constexpr std::size_t kMostAtFirst = 128;

  // Never more than `most`, never less than one. Preconditions: deadline > 0, most > 0.
  Window(std::chrono::microseconds deadline, std::size_t most);

  // A number that is only approached counts as reached.
  std::size_t size() const { return static_cast<std::size_t>(size_ + 0.01); }
  // How long a call may wait before it is sent: half of what the way to the server leaves of the deadline.
  std::chrono::microseconds patience() const;

  // An answer that took `latency` to a call that was the `place`-th of those under way, counted from 1. `behind`: how
  // many were sent after it and are still under way.
  void answered(std::size_t place, std::size_t behind, std::chrono::microseconds latency);

 private:
  double target_us(double in_flight) const;

  const double deadline_us_;
  const double most_;
  double alone_us_ = 0;  // latency of calls beside which nothing else was under way
  double size_;
};

}  // namespace weir::redis
