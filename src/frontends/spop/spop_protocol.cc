#include "frontends/spop/spop_protocol.h"

#include <utility>

#include "weir/ask.h"

namespace weir::spop {
namespace {

constexpr int kBadRequest = 400;

}  // namespace

SpopProtocol::SpopProtocol(transport::Link& link, Limiter& limiter, SpopOptions options)
    : link_(link),
      limiter_(limiter),
      clients_(std::move(options.clients)),
      actions_(options.headers),
      max_frame_bytes_(options.max_frame_bytes) {}

std::size_t SpopProtocol::on_bytes(std::string_view bytes) {
  std::size_t at = 0;
  while (!leaving_ && !link_.congested()) {
    if (in_flight_ >= kMaxInFlight) {
      paused_ = true;
      link_.pause();
      break;
    }
    Cursor cursor(bytes.substr(at));
    std::uint32_t size = 0;
    if (!cursor.uint32(size)) break;
    if (size > max_frame_bytes_) {
      say_farewell(Farewell::too_big);
      break;
    }
    if (cursor.rest().size() < size) break;
    at += kLengthBytes + size;
    on_frame(cursor.rest().substr(0, size));
  }
  // What follows a disconnect is ignored.
  if (leaving_) at = bytes.size();
  partial_ = at < bytes.size();
  close_when_answered();
  return at;
}

void SpopProtocol::on_frame(std::string_view bytes) {
  Frame frame;
  if (!read_frame(bytes, frame)) return say_farewell(Farewell::invalid);
  if (frame.type == FrameType::unset || (frame.flags & kFinal) == 0) {
    return say_farewell(Farewell::fragmentation_not_supported);
  }
  switch (frame.type) {
    case FrameType::haproxy_hello:
      return on_hello(frame);
    case FrameType::haproxy_disconnect:
      return say_farewell(Farewell::normal);
    case FrameType::notify:
      return on_notify(frame);
    case FrameType::unset:
    case FrameType::agent_hello:
    case FrameType::agent_disconnect:
    case FrameType::ack:
      return say_farewell(Farewell::invalid);
  }
  // Types of a later version are skipped after the handshake.
  if (!greeted_) say_farewell(Farewell::invalid);
}

void SpopProtocol::on_hello(const Frame& frame) {
  if (greeted_) return say_farewell(Farewell::invalid);
  Hello hello;
  const Farewell code = read_hello(frame, max_frame_bytes_, hello);
  if (code != Farewell::normal) return say_farewell(code);
  greeted_ = true;
  max_frame_bytes_ = hello.max_frame_bytes;
  write_hello(link_.output(), hello);
  if (hello.healthcheck) {
    leaving_ = true;
    silent_ = true;
  }
}

void SpopProtocol::on_notify(const Frame& frame) {
  if (!greeted_) return say_farewell(Farewell::invalid);
  Request request;
  switch (notify_.read(frame.payload, request)) {
    case NotifyReader::Found::request:
      return decide(frame, request);
    case NotifyReader::Found::client:
      return on_client(frame);
    case NotifyReader::Found::unacceptable:
      return refuse(frame, kBadRequest);
    case NotifyReader::Found::malformed:
      return say_farewell(Farewell::invalid);
  }
}

void SpopProtocol::on_client(const Frame& frame) {
  if (clients_ == nullptr) return refuse(frame, kBadRequest);
  ClientMessage message;
  if (const auto fault = client_messages_.read(frame.payload, message)) {
    clients_->note(*fault);
    return refuse(frame, kBadRequest);
  }
  http::Caller caller;
  if (const auto refusal = clients_->read(message.request, caller)) return refuse(frame, refusal->status);
  Request request(caller.attributes, message.cost.value_or(caller.cost));
  request.peek = message.peek;
  request.ingress = caller.ingress;
  decide(frame, request);
}

void SpopProtocol::refuse(const Frame& frame, int status) {
  ActionWriter::write_refusal(link_.output(), frame.stream, frame.id, status);
}

void SpopProtocol::decide(const Frame& frame, const Request& request) {
  const auto now = [&](const Decision& decision) {
    actions_.write_decision(link_.output(), frame.stream, frame.id, decision, max_frame_bytes_);
  };
  ask(limiter_, Action::take, request, now, [&] {
    ++in_flight_;
    return [this, stream = frame.stream, id = frame.id, held = link_.hold()](const Decision& decision) {
      if (link_.on_loop()) return answer_later(stream, id, decision);
      link_.post([this, stream, id, held, decision] { answer_later(stream, id, decision); });
    };
  });
}

void SpopProtocol::answer_later(std::uint64_t stream, std::uint64_t id, const Decision& decision) {
  --in_flight_;
  if (link_.closed()) return;
  actions_.write_decision(link_.output(), stream, id, decision, max_frame_bytes_);
  link_.flush();
  close_when_answered();
  if (paused_ && in_flight_ <= kMaxInFlight / 2) {
    paused_ = false;
    link_.resume();
  }
}

// Sent once every request has been answered.
void SpopProtocol::say_farewell(Farewell code) {
  leaving_ = true;
  farewell_ = code;
}

void SpopProtocol::close_when_answered() {
  if (!leaving_ || in_flight_ > 0 || link_.closed()) return;
  if (!silent_) write_disconnect(link_.output(), farewell_);
  link_.close();
}

void SpopProtocol::on_timeout() { write_disconnect(link_.output(), Farewell::timeout); }

void SpopProtocol::on_drain() {
  say_farewell(Farewell::normal);
  close_when_answered();
}

}  // namespace weir::spop
