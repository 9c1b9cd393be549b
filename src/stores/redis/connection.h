// Connection: keeps one connection to one server alive and lets many commands share it.
//
// What is queued in one turn of the loop leaves in one system call, or in pieces of kEagerBytes if it is more: the
// server then begins with the first while we write the next. Answers come in the order of the commands, so a connection
// on which one is overdue is closed at once: everything waiting on it fails, and nothing can ever be given the answer
// of another. Then it connects again, after a delay that doubles up to a bound, and greets the server (log in, choose
// the database, load scripts) before any command.
//
// Belongs to one loop. Handlers are borrowed and called exactly once for each command, never from inside finish().
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "stores/redis/loop_timer.h"
#include "stores/redis/options.h"
#include "stores/redis/resp.h"
#include "stores/redis/stats.h"
#include "stores/redis/wire.h"

namespace weir::redis {

class ReplyHandler {
 public:
  virtual void on_reply(Reply reply, SteadyTime now) = 0;
  // No answer came. Whether the command took effect is unknown, except for FailureKind::connect: it was never sent.
  virtual void on_lost(FailureKind kind, SteadyTime now) = 0;

 protected:
  ~ReplyHandler() = default;
};

// The commands that open a connection, written once and used by every connection of a store.
struct Greeting {
  enum class Expect : std::uint8_t { success, anything, role_master };
  std::string commands;
  std::vector<Expect> replies;
};

class ConnectionOwner {
 public:
  virtual void on_ready() = 0;
  // Not called for close().
  virtual void on_down(std::string_view why) = 0;
  // A message that answers no command (publish/subscribe). False: not expected here.
  virtual bool on_message(Reply) { return false; }

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : private WireEvents {
 public:
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{16} << 20;
  static constexpr std::size_t kEagerBytes = 8192;  // some thirty decisions
  static constexpr std::chrono::milliseconds kFirstRetry{20};
  static constexpr std::chrono::milliseconds kLongestRetry{1000};

  // Greeting and owner must outlive it.
  Connection(boost::asio::io_context& loop, std::shared_ptr<TlsSetup> tls, const Greeting& greeting,
             std::chrono::milliseconds connect_timeout, std::uint64_t seed, ConnectionOwner& owner);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Connects there, now, leaving where it was.
  void open(const Address& address);
  // Fails everything that waits and stays closed.
  void close();
  // Drops the connection and makes another at once.
  void reopen();

  bool ready() const { return state_ == State::ready; }
  // True: a command may be queued. One that is queued before the connection is ready leaves when it is.
  bool accepts() const { return (ready() || state_ == State::opening) && queued_.size() < kMaxQueuedBytes; }
  std::size_t waiting() const { return pending_.size(); }

  // Write a command to the text that start() gives, then finish() it. `skipped` answers before the command's own are
  // dropped (ASKING). Precondition: accepts().
  std::string& start() { return queued_; }
  void finish(ReplyHandler& handler, SteadyTime deadline, std::uint8_t skipped = 0);

 private:
  enum class State : std::uint8_t { closed, waiting, opening, ready };
  struct Pending {
    ReplyHandler* handler;
    SteadyTime deadline;
    std::uint8_t skipped;
  };

  void on_open() override;
  void on_read(std::string_view bytes) override;
  void on_written() override;
  void on_broken(std::string_view why) override;

  void connect();
  bool take_greeting(Reply reply);
  void take_reply(Reply reply, SteadyTime now);
  void flush();
  void watch(SteadyTime deadline);
  void on_timer();
  void drop_wire();
  // Ends the present connection; retries later.
  void break_off(FailureKind kind, std::string_view why);
  void fail_waiting(FailureKind kind);

  boost::asio::io_context& loop_;
  const std::shared_ptr<TlsSetup> tls_;
  const Greeting& greeting_;
  const std::chrono::milliseconds connect_timeout_;
  ConnectionOwner& owner_;

  Address address_;
  State state_ = State::closed;
  std::shared_ptr<Wire> wire_;
  bool writing_ = false;
  std::size_t greeted_ = 0;
  SteadyTime give_up_at_{};  // while opening
  std::string queued_;
  std::deque<Pending> pending_;
  ReplyReader reader_;
  std::chrono::milliseconds retry_delay_ = kFirstRetry;
  std::uint64_t random_;
  LoopTimer timer_;  // waiting: try again; opening and ready: the earliest deadline
  LoopTurn turn_;
};

}  // namespace weir::redis
