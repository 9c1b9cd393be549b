// SpopProtocol: an agent for HAProxy's stream processing offload, on one connection. HAProxy sends what it knows of a
// request, we answer with variables (actions.h), and its configuration acts on them. The attributes are HAProxy's own
// (notify.h), or ours when it sends the client's request (client_message.h).
//
// Frames are bounded by the size agreed on in the handshake, fragments are not supported and not announced. A frame
// that breaks the protocol is answered with a disconnect that carries SPOP's status code, and the connection ends.
// With a limiter that answers later, answers are sent as they arrive: SPOP's pipelining does not need an order.
//
// Runs on its connection's loop; completions may come from another thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "frontends/spop/actions.h"
#include "frontends/spop/client_message.h"
#include "frontends/spop/client_reader.h"
#include "frontends/spop/frame.h"
#include "frontends/spop/notify.h"
#include "frontends/transport/protocol.h"
#include "weir/limiter.h"

namespace weir::spop {

struct SpopOptions {
  std::shared_ptr<ClientReader> clients{};  // this loop's; none: messages with a client's request are refused
  std::uint32_t max_frame_bytes = kMaxFrameBytes;
  render::HeaderOptions headers{};
};

class SpopProtocol final : public transport::Protocol {
 public:
  // Decisions under way on one connection, beyond which nothing more is read.
  static constexpr std::size_t kMaxInFlight = 1024;

  // `limiter` outlives the connection.
  SpopProtocol(transport::Link& link, Limiter& limiter, SpopOptions options = {});

  std::size_t on_bytes(std::string_view bytes) override;
  bool idle() const override { return !partial_ && in_flight_ == 0; }
  bool waiting() const override { return in_flight_ > 0; }
  void on_timeout() override;
  void on_drain() override;

 private:
  void on_frame(std::string_view bytes);
  void on_hello(const Frame& frame);
  void on_notify(const Frame& frame);
  void on_client(const Frame& frame);
  void decide(const Frame& frame, const Request& request);
  void refuse(const Frame& frame, int status);
  void answer_later(std::uint64_t stream, std::uint64_t id, const Decision& decision);
  void say_farewell(Farewell code);
  void close_when_answered();

  transport::Link& link_;
  Limiter& limiter_;
  const std::shared_ptr<ClientReader> clients_;
  NotifyReader notify_;
  ClientMessageReader client_messages_;
  ActionWriter actions_;
  std::uint32_t max_frame_bytes_;  // what we take, and after the handshake what was agreed
  std::size_t in_flight_ = 0;
  bool greeted_ = false;
  bool partial_ = false;  // the beginning of a frame was received
  bool paused_ = false;
  bool leaving_ = false;
  Farewell farewell_ = Farewell::normal;
  bool silent_ = false;  // leaves without a farewell
};

}  // namespace weir::spop
