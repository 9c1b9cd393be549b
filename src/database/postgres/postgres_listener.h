// PostgresListener: a connection that waits for notifications (LISTEN), on a thread of its own.
//
// A lost connection is opened again, with growing pauses, and what was missed meanwhile is reported as one
// notification: a listener learns that something has changed, not what. Polling must make up for a database that is
// away.
//
// The destructor ends the thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

struct pg_conn;

namespace weir::database {

class PostgresListener {
 public:
  // `notified` is called on the listener's thread, also once after each connect.
  PostgresListener(std::string url, std::string channel, std::function<void()> notified);
  ~PostgresListener();
  PostgresListener(const PostgresListener&) = delete;
  PostgresListener& operator=(const PostgresListener&) = delete;

  // Since the start.
  std::uint64_t notifications() const { return notifications_.load(std::memory_order_relaxed); }
  bool connected() const { return connected_.load(std::memory_order_relaxed); }

 private:
  void run();
  // Until the connection is lost, or the end.
  void listen(pg_conn* connection);
  // Counts and frees them. False: there are none.
  bool take_notices(pg_conn* connection);
  enum class Woken : std::uint8_t { ready, quiet, end };
  // Waits for the socket, if it is not -1; `quiet`: nothing came in this time.
  Woken wait(int socket, int milliseconds);

  const std::string url_;
  const std::string channel_;
  const std::function<void()> notified_;
  const int wake_;  // readable: the end has come
  std::atomic<bool> connected_{false};
  std::atomic<std::uint64_t> notifications_{0};
  std::thread thread_;
};

}  // namespace weir::database
