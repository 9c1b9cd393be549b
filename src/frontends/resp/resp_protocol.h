// RespProtocol: the Redis protocol on one connection. Any Redis client can ask for a decision.
//
// All commands in the buffer are answered in one go and leave in one send, in their order; with a limiter that
// answers later, up to ReplyQueue's bounds are under way at once. What a peer may send is bounded (ReadLimits), and
// less so before it has logged in. A command that breaks the protocol gets an error and the connection ends: nothing
// behind it can be trusted.
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
#include "frontends/resp/reply_queue.h"
#include "frontends/resp/session.h"
#include "frontends/resp/throttle.h"
#include "frontends/transport/protocol.h"
#include "weir/limiter.h"

namespace weir::frontends::resp {

class RespProtocol final : public Protocol {
 public:
  // `limiter` and `options` outlive the connection.
  RespProtocol(Link& link, Limiter& limiter, const RespOptions& options, std::uint64_t id);

  std::size_t on_bytes(std::string_view bytes) override;
  bool idle() const override { return !partial_ && replies_.empty(); }
  bool waiting() const override { return !replies_.empty(); }
  void on_timeout() override;
  void on_drain() override;

 private:
  using Words = Session::Words;

  void perform(Words words);
  void throttle(Words words);
  void check(const CommandSpec& command, Words words);
  void refuse(std::string_view complaint);
  template <typename Write>
  void answer(Write&& write);
  template <typename Write>
  void answer_later(ReplyQueue::Ticket ticket, Write&& write);
  void close_when_answered();

  Link& link_;
  Limiter& limiter_;
  const bool immediate_;
  CommandReader reader_;
  ReplyQueue replies_;
  Session session_;
  Throttle throttle_;
  CheckCommand check_;
  bool partial_ = false;  // the beginning of a command was received
  bool paused_ = false;
};

// Makes the protocols of one listener. Thread-safe; outlives its connections.
class RespService {
 public:
  explicit RespService(RespOptions options) : options_(std::move(options)) {}

  std::unique_ptr<Protocol> serve(Link& link, Limiter& limiter) {
    return std::make_unique<RespProtocol>(link, limiter, options_, ++last_id_);
  }

 private:
  const RespOptions options_;
  std::atomic<std::uint64_t> last_id_{0};
};

}  // namespace weir::frontends::resp
