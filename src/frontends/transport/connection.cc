#include "frontends/transport/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cassert>
#include <utility>

namespace weir::frontends {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr std::size_t kLeastReceive = 2048;
constexpr std::size_t kRawBytes = std::size_t{16} << 10;
}  // namespace

Connection::Connection(std::shared_ptr<Loop> loop, std::shared_ptr<Service> service, Socket socket, Peer peer)
    : loop_(std::move(loop)), service_(std::move(service)), socket_(std::move(socket)), peer_(std::move(peer)) {
  since_ = loop_->tick();
  if (service_->tls) {
    tls_ = std::make_unique<TlsSession>(service_->tls);
    raw_ = std::make_unique_for_overwrite<char[]>(kRawBytes);
    peer_.tls = true;
  }
}

void Connection::start() {
  error_code ignored;
  socket_.non_blocking(true, ignored);
  awaits_preamble_ = service_->preamble != nullptr;
  if (!tls_ && !awaits_preamble_) protocol_ = service_->factories[loop_->index()](*this);
  receive();
}

void Connection::receive() {
  if (receiving_) return;
  receiving_ = true;
  asio::mutable_buffer room;
  if (tls_) {
    room = asio::buffer(raw_.get(), kRawBytes);
  } else {
    const std::span<char> space = input_.prepare(kLeastReceive);
    room = asio::buffer(space.data(), space.size());
  }
  socket_.async_receive(room, [self = shared_from_this()](const error_code& error, std::size_t count) {
    self->on_received(error, count);
  });
}

void Connection::on_received(const error_code& error, std::size_t count) {
  receiving_ = false;
  if (dead_) return;
  if (error && error != asio::error::eof) return abort();
  if (lingering_) {
    lingered_ += count;
    return error || lingered_ > kLingerBytes ? abort() : receive();
  }
  if (error) {
    peer_ended_ = true;
    return process();
  }
  if (closing_) return settle();
  // The first bytes of a message end the idleness; later ones do not prolong a message.
  if (input_.empty()) since_ = loop_->tick();
  if (!take_in(count)) return;
  process();
  if (std::exchange(drain_after_receive_, false)) drain_now();
}

// False if the connection has ended.
bool Connection::take_in(std::size_t count) {
  if (!tls_) {
    input_.commit(count);
    return !awaits_preamble_ || take_preamble();
  }
  if (!awaits_preamble_) {
    decrypt({raw_.get(), count});
    return true;
  }
  input_.append({raw_.get(), count});
  return take_preamble();
}

bool Connection::take_preamble() {
  PreambleOutcome outcome = service_->preamble(input_.view(), peer_);
  if (outcome.state == PreambleOutcome::State::incomplete) return true;
  if (outcome.state == PreambleOutcome::State::refused) {
    abort();
    return false;
  }
  awaits_preamble_ = false;
  since_ = loop_->tick();
  input_.consume(outcome.length);
  if (!outcome.address.empty()) {
    peer_.address = std::move(outcome.address);
    peer_.port = outcome.port;
  }
  if (!tls_) {
    protocol_ = service_->factories[loop_->index()](*this);
    return true;
  }
  const std::string encrypted(input_.view());
  input_.consume(input_.size());
  if (!encrypted.empty()) decrypt(encrypted);
  return true;
}

void Connection::decrypt(std::string_view bytes) {
  const TlsSession::State state = tls_->receive(bytes, input_, wire_);
  if (state == TlsSession::State::ended) peer_ended_ = true;
  if (state == TlsSession::State::failed) {
    // The alert that says why is on wire_ and goes out before the close.
    closing_ = true;
    return;
  }
  if (!protocol_ && tls_->established()) {
    peer_.alpn = tls_->alpn();
    since_ = loop_->tick();
    protocol_ = service_->factories[loop_->index()](*this);
  }
}

void Connection::process() {
  bool more = true;
  while (more && !dead_) {
    more = offer();
    send_pending();
    // Stopped because its answers took too much room, and there is room again.
    more = more && !congested();
  }
  settle();
}

// Offers what was received. True when the rest may be worth another offer without new bytes.
bool Connection::offer() {
  if (!protocol_ || paused_ || closing_ || input_.empty() || congested()) return false;
  offering_ = true;
  offer_again_ = false;
  const std::size_t consumed = protocol_->on_bytes(input_.view());
  offering_ = false;
  input_.consume(consumed);
  if (consumed > 0) since_ = loop_->tick();
  if (closing_ || input_.empty()) return false;
  return offer_again_ || (consumed > 0 && congested());
}

// Decides what the connection waits for next. The last step of every wake.
void Connection::settle() {
  if (dead_) return;
  if (closing_) {
    if (unsent() == 0) finish();
    return;
  }
  if (peer_ended_) {
    const bool owing = protocol_ && (protocol_->owing() || (paused_ && !input_.empty()) || congested());
    if (!owing) close();
    return;
  }
  if (paused_ || congested()) return;
  // A protocol answers before its buffer is full; one that does not would never be woken again.
  if (input_.size() >= service_->limits.input_bytes) return abort();
  receive();
}

void Connection::send_pending() {
  if (dead_) return;
  if (tls_ && !output_.empty()) {
    if (!tls_->send(output_, wire_)) return abort();
    output_.clear();
  }
  if (waiting_writable_) return;
  std::string& out = outgoing();
  while (sent_ < out.size()) {
    error_code error;
    sent_ += socket_.send(asio::buffer(out.data() + sent_, out.size() - sent_), 0, error);
    if (error == asio::error::interrupted) continue;
    if (error == asio::error::would_block || error == asio::error::try_again) return wait_writable();
    if (error) return abort();
  }
  sent_ = 0;
  write_mark_ = 0;
  if (out.capacity() > kKeptBufferBytes) {
    std::string().swap(out);
  } else {
    out.clear();
  }
}

void Connection::wait_writable() {
  // The clock runs anew only when all that was unsent at its start has gone: a reader that takes a byte now and then
  // makes no progress.
  if (write_mark_ == 0 || sent_ >= write_mark_) {
    write_mark_ = outgoing().size();
    write_since_ = loop_->tick();
  }
  compact_outgoing();
  waiting_writable_ = true;
  socket_.async_wait(Socket::wait_write, [self = shared_from_this()](const error_code& error) {
    self->waiting_writable_ = false;
    if (self->dead_) return;
    if (error) return self->abort();
    self->send_pending();
    self->process();
  });
}

void Connection::compact_outgoing() {
  if (sent_ < kKeptBufferBytes) return;
  outgoing().erase(0, sent_);
  write_mark_ -= sent_;
  sent_ = 0;
}

// All is sent: says goodbye and waits for the peer to do so.
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
    if (!older(write_since_, limits.write_timeout)) return;
    loop_->count_timed_out();
    return abort();
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

void Connection::drain() {
  // Behind what the loop has already queued: bytes that were received and not yet handled.
  asio::post(socket_.get_executor(), [self = shared_from_this()] { self->drain_now(); });
}

void Connection::drain_now() {
  if (closed()) return;
  if (!protocol_) return abort();
  // A request that has arrived and that we have not looked at yet is owed an answer too.
  error_code ignored;
  if (receiving_ && protocol_->idle() && socket_.available(ignored) > 0) {
    drain_after_receive_ = true;
    return;
  }
  protocol_->on_drain();
  flush();
}

void Connection::flush() {
  if (offering_ || wake_posted_ || dead_) return;
  // Soon instead of now: completions that arrive together leave in one system call.
  wake_posted_ = true;
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->wake_posted_ = false;
    if (self->dead_) return;
    self->process();
  });
}

void Connection::close() {
  if (closing_) return;
  closing_ = true;
  flush();
}

void Connection::resume() {
  if (!paused_) return;
  paused_ = false;
  offer_again_ = true;
  flush();
}

void Connection::after(Duration delay, std::function<void()> task) {
  auto timer = std::make_shared<asio::steady_timer>(loop_->io(), delay);
  timer->async_wait([timer, weak = weak_from_this(), task = std::move(task)](const error_code& error) {
    const std::shared_ptr<Connection> self = weak.lock();
    if (error || !self || self->closed()) return;
    task();
  });
}

void Connection::post(std::function<void()> task) {
  loop_->post([self = shared_from_this(), task = std::move(task)] { task(); });
}

}  // namespace weir::frontends
