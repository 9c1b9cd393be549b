// Listener: one accepting socket on one loop. A TCP endpoint has one on each loop (SO_REUSEPORT), and the kernel
// spreads the connections; a Unix socket has one, which deals its connections out to the loops in turn.
//
// start() and close() run on the loop's thread. The socket is made by bind_tcp() or bind_local(), on any thread.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "frontends/transport/connection.h"
#include "frontends/transport/endpoint.h"
#include "frontends/transport/loop.h"
#include "weir/result.h"

namespace weir::transport {

// A descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();

  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

// A listening TCP socket. When endpoint.port is 0, the port that was taken is written there.
Result<Descriptor> bind_tcp(Endpoint& endpoint);
// A listening Unix socket. A file left behind by a process that is gone is removed; one that a process listens on, or
// that is no socket, is a failure. `mode` is the file's permissions: who may write to it may connect.
Result<Descriptor> bind_local(const Endpoint& endpoint, unsigned mode);

class Listener : public std::enable_shared_from_this<Listener> {
 public:
  // After accept() failed for want of descriptors or memory.
  static constexpr Duration kPauseAfterFailure = std::chrono::milliseconds(100);
  // Accepted in one wake, so that a flood of connections does not starve those that exist.
  static constexpr int kAcceptBatch = 64;

  Listener(Loop& loop, std::vector<std::shared_ptr<Loop>> targets, std::shared_ptr<Service> service, Descriptor socket,
           std::string remove_at_close);

  void start();
  // Takes in what already waits to be accepted, then closes.
  void close();

 private:
  enum class Outcome { accepted, drained, failed };

  void wait();
  void pause();
  void on_ready();
  Outcome accept_one();
  void hand_over(Descriptor fd, Peer peer);

  Loop& loop_;
  const std::vector<std::shared_ptr<Loop>> targets_;
  const std::shared_ptr<Service> service_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer pause_;
  const std::string remove_at_close_;
  std::size_t turn_ = 0;
};

}  // namespace weir::transport
