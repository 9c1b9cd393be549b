// Connection: keeps one connection to one server alive and lets many commands share it.
//
// What is queued in one turn of the loop leaves in one system call, or in pieces of kEagerBytes if it is more: the
// server then begins with the first while we write the next. Answers come in the order of the commands. A command that
// is not answered by its deadline fails; while others are being answered its answer is only late and is dropped when it
// comes. When a command is overdue and nothing at all has come for `silence`, the connection is closed: everything that
// waits on it fails, and nothing can ever be given the answer of another. Then it connects again, after a delay that
// doubles up to a bound, and greets the server (log in, choose the database, load scripts) before any command.
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
  // No answer came: connect, timeout, late or lost. Whether the command took effect is unknown, except for
  // FailureKind::connect: it was never sent.
  virtual void on_lost(FailureKind kind, SteadyTime now) = 0;

 protected:
  ~ReplyHandler() = default;
};

// The commands that open a connection, written once and used by every connection of a store.
struct Greeting {
  enum class Step : std::uint8_t { log_in, select, anything, script, role };
  std::string commands;
  std::vector<Step> steps;  // what each of the commands is for
  std::string secret;       // never to be shown: what log_in sends
};

// Appends the commands that log in and choose the database.
void greet(Greeting& greeting, const std::string& user, const std::string& password, int database);

class ConnectionOwner {
 public:
  virtual void on_ready() = 0;
  // The connection broke (`was_ready`) or could not be made. Called before the commands that wait on it fail …
  virtual void on_trouble(const Trouble& trouble, bool was_ready) = 0;
  // … and this afterwards. Neither is called for close().
  virtual void on_down() = 0;
  // A message that answers no command (publish/subscribe). False: not expected here.
  virtual bool on_message(Reply) { return false; }
  // A command was answered, in time or late, which was the `place`-th of those under way when it was sent.
  virtual void on_answered(std::size_t /*place*/, std::chrono::microseconds /*latency*/) {}
  // All that had arrived has been handed out.
  virtual void on_caught_up(SteadyTime /*now*/) {}

 protected:
  ~ConnectionOwner() = default;
};

class Connection final : private WireEvents {
 public:
  static constexpr std::size_t kMaxQueuedBytes = std::size_t{16} << 20;
  static constexpr std::size_t kEagerBytes = 8192;  // some thirty decisions
  static constexpr std::chrono::milliseconds kFirstRetry{20};
  static constexpr std::chrono::milliseconds kLongestRetry{1000};
  // Late commands are looked for no more often than this.
  static constexpr std::chrono::milliseconds kLateTick{1};
  // How often what has arrived is read before the commands that are still not answered are called late.
  static constexpr int kMostReadsFirst = 4;

  struct Timeouts {
    std::chrono::milliseconds connect;  // TCP, TLS and greeting together
    std::chrono::milliseconds silence;
  };

  // Greeting and owner must outlive it.
  Connection(boost::asio::io_context& loop, std::shared_ptr<TlsSetup> tls, const Greeting& greeting, Timeouts timeouts,
             std::uint64_t seed, ConnectionOwner& owner);
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
  // Commands that the server has not answered, late ones included.
  std::size_t waiting() const { return pending_.size(); }

  struct Sending {
    SteadyTime now;
    SteadyTime deadline;
    std::uint8_t skipped = 0;  // answers before the command's own that are dropped (ASKING)
    std::uint32_t place = 0;   // for ConnectionOwner::on_answered(); 0: not measured
  };
  // Write a command to the text that start() gives, then finish() it. Precondition: accepts().
  std::string& start() { return queued_; }
  void finish(ReplyHandler& handler, const Sending& sending);

 private:
  enum class State : std::uint8_t { closed, waiting, opening, ready };
  struct Pending {
    ReplyHandler* handler;  // null: given up, the answer is dropped
    SteadyTime sent;
    SteadyTime deadline;
    std::uint32_t place;
    std::uint8_t skipped;
  };

  void on_open() override;
  void on_read(std::string_view bytes) override;
  void on_written() override;
  void on_broken(const Trouble& trouble) override;

  void connect();
  void become_ready();
  bool take_greeting(Reply reply);
  void take_reply(Reply reply, SteadyTime now);
  void flush();
  void watch(SteadyTime deadline);
  void on_timer();
  void look_for_late(SteadyTime now);
  void drop_wire();
  // Ends the present connection; retries later.
  void break_off(FailureKind kind, const Trouble& trouble);
  void fail_waiting(FailureKind kind);
  static void fail(const std::deque<Pending>& failed, FailureKind kind);

  boost::asio::io_context& loop_;
  const std::shared_ptr<TlsSetup> tls_;
  const Greeting& greeting_;
  const Timeouts timeouts_;
  ConnectionOwner& owner_;

  Address address_;
  State state_ = State::closed;
  std::shared_ptr<Wire> wire_;
  bool writing_ = false;
  bool greeting_sent_ = false;
  std::size_t greeted_ = 0;
  SteadyTime give_up_at_{};  // while opening
  SteadyTime ready_since_{};
  SteadyTime last_read_{};
  int reads_first_ = 0;
  std::string queued_;
  std::deque<Pending> pending_;
  ReplyReader reader_;
  std::chrono::milliseconds retry_delay_ = kFirstRetry;
  std::uint64_t random_;
  LoopTimer timer_;  // waiting: try again; opening and ready: the earliest deadline
  LoopTurn turn_;
};

}  // namespace weir::redis
