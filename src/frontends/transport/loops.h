// Loops: the server's event loops, one thread each, and everything that listens on them.
//
//   Loops loops(2);
//   Result<Endpoint> bound = loops.listen({.endpoint = endpoint, .protocols = [&](std::size_t) { return factory; }});
//   loops.start();
//   …
//   loops.drain(std::chrono::seconds(10));
//
// listen() before start(). counters() and post() from any thread; the rest from the thread that owns the Loops, which
// is not one of its loops. Nothing here throws but for lack of memory or threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/latency_counts.h"
#include "frontends/transport/connection_memory.h"
#include "frontends/transport/endpoint.h"
#include "frontends/transport/limits.h"
#include "frontends/transport/login_guard.h"
#include "frontends/transport/loop.h"
#include "frontends/transport/preamble.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/tls.h"
#include "weir/result.h"

namespace weir::transport {

struct ListenOptions {
  Endpoint endpoint{};
  Limits limits{};
  // Asked once for each loop: what the factory's protocols share needs no lock.
  std::function<ProtocolFactory(std::size_t loop)> protocols{};
  std::shared_ptr<const TlsContext> tls{};     // null: plain
  unsigned local_mode = 0600;                  // permissions of a Unix socket's file
  Preamble preamble{};                         // none: connections begin with their protocol
  std::string name{};                          // its name in logs and metrics: "grpc"
  std::shared_ptr<LoginGuard> logins{};        // null: refused client certificates have no consequences
  std::shared_ptr<ConnectionMemory> memory{};  // shared with other listeners; null: unbounded
};

// How long the answers of one listener took: a sample of them, since the start.
struct ListenerTimes {
  std::string name;
  base::LatencySums sums;
};

struct Service;

class Loops {
 public:
  explicit Loops(std::size_t count);
  ~Loops();
  Loops(const Loops&) = delete;
  Loops& operator=(const Loops&) = delete;

  std::size_t size() const { return loops_.size(); }
  // Answers where it listens: the endpoint with the port that was taken. An endpoint that is off does nothing.
  Result<Endpoint> listen(const ListenOptions& options);
  void start();

  void post(std::size_t loop, std::function<void()> task) { loops_[loop]->post(std::move(task)); }
  Loop& loop(std::size_t index) { return *loops_[index]; }
  boost::asio::io_context& io(std::size_t loop) { return loops_[loop]->io(); }

  // Stops accepting, lets every connection finish what it has begun, waits for that at most `deadline`, then stops. For
  // `grace`, within the deadline, requests that still come on open connections are answered.
  void drain(Duration deadline, Duration grace = Duration(0));
  // Closes everything and joins the threads. Idempotent.
  void stop();

  Counters counters(std::size_t loop) const { return loops_[loop]->counters(); }
  Counters total() const;
  // From any thread, once listen() is no longer called.
  std::vector<ListenerTimes> answer_times() const;

 private:
  std::vector<std::shared_ptr<Loop>> loops_;
  std::vector<std::shared_ptr<Service>> services_;  // one for each listener
  std::vector<std::thread> threads_;
  bool stopped_ = false;
};

}  // namespace weir::transport
