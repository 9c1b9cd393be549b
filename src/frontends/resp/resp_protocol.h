// RespProtocol: the Redis protocol on one connection. Any Redis client can ask for a decision.
//
// All commands in the buffer are answered in one go and leave in one send, in their order; with a limiter that
// answers later, up to ReplyQueue's bounds are under way at once. What a peer may send is bounded (ReadLimits), and
// less so before it has logged in. A command that breaks the protocol gets an error and the connection ends: nothing
// after it can be trusted.
//
// A login from an address where logins have failed waits for its turn (LoginGuard): it stays unread meanwhile, and so
// does everything after it on this connection.
//
// EXEC writes the head of an array and then runs the queued commands as if they had just arrived, one by one: their
// answers are the array's members, and the bounds on answers apply between them. It is consumed after the last one.
//
// Runs on its connection's loop; completions may come from another thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "frontends/resp/check_command.h"
#include "frontends/resp/command_reader.h"
#include "frontends/resp/command_table.h"
#include "frontends/resp/lease_command.h"
#include "frontends/resp/reply_queue.h"
#include "frontends/resp/reserve_command.h"
#include "frontends/resp/session.h"
#include "frontends/resp/throttle.h"
#include "frontends/resp/transaction.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/request_identity.h"
#include "weir/ad_hoc.h"
#include "weir/limiter.h"
#include "weir/work_report.h"

namespace weir::resp {

class RespProtocol final : public transport::Protocol {
 public:
  // `limiter`, which must take ad-hoc charges, and `options` outlive the connection. `identity` may be null.
  RespProtocol(transport::Link& link, Limiter& limiter, const RespOptions& options, std::uint64_t id,
               std::shared_ptr<transport::RequestIdentity> identity = {});

  std::size_t on_bytes(std::string_view bytes) override;
  bool idle() const override { return !partial_ && replies_.empty(); }
  bool waiting() const override { return !replies_.empty() || login_held_; }
  void on_timeout() override;
  void on_shortage() override;
  // There is no way to say that the connection is about to end: commands are answered until it does.
  bool on_drain_soon() override { return true; }
  void on_drain() override;

 private:
  using Words = Session::Words;

  void perform(Words words);
  void throttle(Words words);
  // `took`: of a report, how long the work took; 0: not told.
  void check(Action action, Words words, Duration took = Duration{0});
  void report(Words words);
  void lease(LeaseQuestion::Verb verb, Words words);
  void reserve(ReservationQuestion::Verb verb, Words words);
  bool hold_login();
  void reject(const std::string& error);
  void queue(Words words);
  void multi();
  void exec();
  void discard();
  void give_back_transaction();
  void refuse(std::string_view complaint);
  template <typename Write>
  void answer(Write&& write);
  template <typename Write>
  void answer_later(ReplyQueue::Ticket ticket, Write&& write);
  void close_when_answered();

  transport::Link& link_;
  Limiter& limiter_;
  WorkReports* const work_ = work_reports(limiter_);  // may be null
  AdHocLimiter& ad_hoc_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  CommandReader reader_;
  ReplyQueue replies_;
  Session session_;
  Throttle throttle_;
  CheckCommand check_;
  LeaseCommand lease_;
  ReserveCommand reserve_;
  Transaction transaction_;
  std::size_t exec_bytes_ = 0;  // of the EXEC that is being executed
  bool partial_ = false;        // the beginning of a command was received
  bool paused_ = false;
  std::size_t reserved_ = 0;  // memory for the transaction
  bool draining_ = false;
  bool login_held_ = false;  // the command that is next shows a password and waits for its turn
  bool login_due_ = false;   // its turn has come
};

// Makes the protocols of one listener. Thread-safe; outlives its connections.
class RespService {
 public:
  explicit RespService(RespOptions options) : options_(std::move(options)) {}

  // The limiter and the identity, which may be null, are those of the link's loop.
  std::unique_ptr<transport::Protocol> serve(transport::Link& link, Limiter& limiter,
                                             std::shared_ptr<transport::RequestIdentity> identity = {}) {
    return std::make_unique<RespProtocol>(link, limiter, options_, ++last_id_, std::move(identity));
  }

 private:
  const RespOptions options_;
  std::atomic<std::uint64_t> last_id_{0};
};

}  // namespace weir::resp
