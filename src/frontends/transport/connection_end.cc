// Connection's other half: how it comes to its end, by timeouts, for want of memory, by a drain or by itself.
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "frontends/transport/connection.h"

namespace weir::transport {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr int kMaxDrainLooks = 8;
}  // namespace

// All is sent: ends the sending side and waits for the peer to do so.
void Connection::finish() {
  if (lingering_) return;
  lingering_ = true;
  since_ = loop_->tick();
  if (tls_) {
    tls_->end(wire_);
    send_pending();
    if (dead_) return;
  }
  if (peer_ended_) return abort();
  // What is left of a message that was turned away is of no use.
  starving_ = false;
  reserved_input_ = reserved_own_ = 0;
  if (!receiving_) input_.drop();
  error_code error;
  socket_.shutdown(Socket::shutdown_send, error);
  if (error) return abort();
  receive();
}

void Connection::abort() {
  if (dead_) return;
  dead_ = true;
  closing_ = true;
  const std::shared_ptr<Connection> self = shared_from_this();
  error_code ignored;
  socket_.close(ignored);
  service_->open.fetch_sub(1, std::memory_order_relaxed);
  loop_->remove(*this);
}

void Connection::sweep() {
  const Limits& limits = service_->limits;
  const auto older = [this](std::uint32_t since, Duration timeout) {
    return loop_->tick() - since >= loop_->ticks(timeout);
  };
  if (lingering_) {
    if (older(since_, kLingerTimeout)) abort();
    return;
  }
  if (waiting_writable_) {
    const bool pressed = unsent() > kPressedOutput && service_->memory->is_short();
    if (!older(write_since_, pressed ? limits.shortage_timeout : limits.write_timeout)) return;
    pressed ? service_->memory->count_refused() : loop_->count_timed_out();
    return abort();
  }
  if (starving_) {
    // Answers that are owed come first, and may set memory free.
    const bool owing = protocol_ && protocol_->waiting();
    if (!owing && older(starving_since_, limits.shortage_timeout)) turn_away();
    return;
  }
  if (awaits_turn_) {
    since_ = loop_->tick();
    return;
  }
  if (!protocol_) {
    if (older(since_, limits.message_timeout)) time_out();
    return;
  }
  if (protocol_->waiting()) {
    since_ = loop_->tick();
    return;
  }
  if (protocol_->idle()) {
    if (older(since_, limits.shrink_after)) shrink();
    if (!older(since_, limits.idle_timeout)) return;
    protocol_->on_idle_timeout();
    return close();
  }
  if (older(since_, limits.message_timeout)) time_out();
}

void Connection::time_out() {
  loop_->count_timed_out();
  if (!protocol_) return abort();
  protocol_->on_timeout();
  close();
}

void Connection::turn_away() {
  service_->memory->count_refused();
  if (!protocol_) return abort();
  protocol_->on_shortage();
  close();
}

// Nothing is under way: buffers that were needed once are given back.
void Connection::shrink() {
  for (std::string* const text : {&output_, &wire_}) {
    if (text->empty() && text->capacity() > InputBuffer::kFirstBytes) std::string().swap(*text);
  }
  if (input_.empty() && input_.capacity() > InputBuffer::kFirstBytes) {
    if (tls_ || !receiving_) {
      input_.drop();
    } else {
      // The socket has the buffer: it must release it first.
      shrinking_ = true;
      error_code ignored;
      socket_.cancel(ignored);
    }
  }
  charge_.settle(footprint(input_.capacity()));
}

void Connection::drain(bool last) {
  if (closed()) return;
  if (!last && (!protocol_ || protocol_->on_drain_soon())) return;
  // Behind what the loop has already queued: bytes that were received and not yet handled.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drain_now(); });
}

void Connection::drain_now() {
  if (closed()) return;
  if (!protocol_) return abort();
  // A request that has arrived and that we have not checked yet is owed an answer too. Of what was there when the
  // receive began, the socket knows nothing any more: it is queued behind us. A peer that always sends is not waited
  // for.
  if (receiving_ && protocol_->idle()) {
    if (std::exchange(drain_seen_, receives_) != receives_ && drain_looks_++ < kMaxDrainLooks) return drain(true);
    error_code ignored;
    if (socket_.available(ignored) > 0) {
      drain_after_receive_ = true;
      return;
    }
  }
  protocol_->on_drain();
  flush();
}

}  // namespace weir::transport
