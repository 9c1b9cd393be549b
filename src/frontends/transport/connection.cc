#include "frontends/transport/connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cassert>
#include <utility>

namespace weir::transport {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {
constexpr std::size_t kLeastReceive = 2048;
constexpr std::size_t kRawBytes = std::size_t{16} << 10;
// The object, its protocol and what the system library keeps for it, roughly.
constexpr std::size_t kPlainBytes = std::size_t{4} << 10;
constexpr std::size_t kTlsBytes = std::size_t{24} << 10;
}  // namespace

std::size_t Service::connection_bytes() const { return kPlainBytes + (tls != nullptr ? kTlsBytes + kRawBytes : 0); }

Connection::Connection(std::shared_ptr<Loop> loop, std::shared_ptr<Service> service, Socket socket, Peer peer)
    : loop_(std::move(loop)),
      service_(std::move(service)),
      charge_(*service_->memory, service_->connection_bytes()),
      socket_(std::move(socket)),
      peer_(std::move(peer)) {
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
  id_ = loop_->next_connection_id();
  awaits_preamble_ = service_->preamble != nullptr;
  if (!tls_ && !awaits_preamble_) make_protocol();
  if (tls_ && !awaits_preamble_ && await_turn()) return;
  receive();
}

// True: certificates from this address were refused before, and the handshake waits or is given up.
bool Connection::await_turn() {
  if (service_->logins == nullptr || !service_->tls->asks_for_certificate()) return false;
  const LoginGuard::Turn turn = service_->logins->ask(service_->name, LoginKind::client_certificate, peer_.address);
  if (turn.refused) {
    abort();
    return true;
  }
  if (turn.wait == Duration(0)) return false;
  awaits_turn_ = true;
  after(turn.wait, [this] { take_turn(); });
  return true;
}

void Connection::take_turn() {
  awaits_turn_ = false;
  since_ = loop_->tick();
  const std::string encrypted(input_.view());
  input_.consume(input_.size());
  if (!encrypted.empty()) decrypt(encrypted);
  process();
}

void Connection::make_protocol() {
  protocol_ = service_->factories[loop_->index()](*this);
  if (loop_->draining()) drain(loop_->leaving());
}

void Connection::receive() {
  if (receiving_) return;
  const std::size_t wanted = footprint(input_.capacity_for(tls_ ? kRawBytes : kLeastReceive));
  if (!charge_.raise(wanted)) return starve(wanted);
  receiving_ = true;
  ++receives_;
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
  const bool shrinking = std::exchange(shrinking_, false);
  if (dead_) return;
  if (shrinking && error == asio::error::operation_aborted) {
    if (input_.empty()) input_.drop();
    return settle();
  }
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

// False: there is nothing to process, because the connection has ended or must wait.
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
    make_protocol();
    return true;
  }
  if (!await_turn()) take_turn();
  return false;
}

void Connection::decrypt(std::string_view bytes) {
  const TlsSession::State state = tls_->receive(bytes, input_, wire_);
  if (state == TlsSession::State::ended) peer_ended_ = true;
  if (state == TlsSession::State::failed) {
    // The alert that says why is on wire_ and goes out before the close.
    closing_ = true;
    if (service_->logins != nullptr && !tls_->refused_certificate().empty()) {
      service_->logins->failed({.listener = service_->name,
                                .kind = LoginKind::client_certificate,
                                .address = peer_.address,
                                .cause = tls_->refused_certificate()});
    }
    return;
  }
  if (!protocol_ && tls_->established()) {
    peer_.alpn = tls_->alpn();
    peer_.certificate = tls_->client_name();
    if (service_->logins != nullptr && service_->tls->asks_for_certificate()) {
      service_->logins->succeeded(LoginKind::client_certificate, peer_.address);
    }
    since_ = loop_->tick();
    make_protocol();
  }
}

void Connection::process() {
  bool more = true;
  if (measuring_) end_measuring();
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
  if (!protocol_ || paused_ || closing_ || starving_ || input_.empty() || congested()) return false;
  offering_ = true;
  offer_again_ = false;
  loop_->set_current_connection(id_);
  if (!measuring_ && service_->times[loop_->index()]->draw()) {
    measuring_ = true;
    measured_since_ = std::chrono::steady_clock::now();
  }
  const std::size_t consumed = protocol_->on_bytes(input_.view());
  loop_->set_current_connection(0);
  // A message that is not complete is not measured: how long its rest takes is up to the peer.
  if (measuring_ && consumed == 0) measuring_ = false;
  if (measuring_) end_measuring();
  offering_ = false;
  input_.consume(consumed);
  if (consumed > 0) since_ = loop_->tick();
  if (closing_ || input_.empty()) return false;
  return offer_again_ || congested();
}

void Connection::end_measuring() {
  if (protocol_->waiting()) return;
  measuring_ = false;
  service_->times[loop_->index()]->add(std::chrono::steady_clock::now() - measured_since_);
}

// The last step of every wake.
void Connection::settle() {
  if (!dead_) choose_next();
  // What is waited for stays charged; a buffer that has gone is given back.
  if (!dead_ && !starving_) charge_.settle(footprint(input_.capacity()));
}

// Decides what the connection waits for next.
void Connection::choose_next() {
  if (closing_) {
    if (unsent() == 0) finish();
    return;
  }
  if (peer_ended_) {
    const bool owing = protocol_ && (protocol_->owing() || (paused_ && !input_.empty()) || congested());
    if (!owing) close();
    return;
  }
  if (paused_ || congested() || awaits_turn_ || starving_) return;
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
  // The timeout starts again only when all that was unsent at its start has gone: a reader that takes a byte now and
  // then makes no progress.
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

bool Connection::reserve(std::size_t input, std::size_t own) {
  // With room for the receive that brings the last of it.
  const std::size_t room = input > 0 ? input + kLeastReceive : 0;
  const std::size_t input_before = std::exchange(reserved_input_, room);
  const std::size_t own_before = std::exchange(reserved_own_, own);
  const std::size_t wanted = footprint(input_.capacity());
  if (charge_.raise(wanted)) {
    input_.expect(room);
    return true;
  }
  reserved_input_ = input_before;
  reserved_own_ = own_before;
  refused_ = wanted;
  return false;
}

void Connection::starve(std::size_t wanted) {
  wanted_ = wanted;
  if (std::exchange(starving_, true)) return;
  starving_since_ = loop_->tick();
  loop_->add_starving(weak_from_this());
}

bool Connection::feed() {
  if (closed() || !starving_) return true;
  if (!charge_.raise(wanted_)) return false;
  starving_ = false;
  // From here on it is the peer that we wait for.
  since_ = loop_->tick();
  process();
  return true;
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

}  // namespace weir::transport
