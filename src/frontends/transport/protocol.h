// Protocol and Link: the two halves of a connection. A Protocol turns bytes into requests and decisions into bytes;
// a Link is the connection as the protocol sees it. Sockets, TLS, timeouts, back-pressure and drain are the
// connection's (connection.h) and are written once for HTTP, gRPC, RESP and SPOP.
//
// Everything here runs on one loop's thread: no locks. A Protocol is owned by its connection.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weir/time.h"

namespace weir::transport {

// Who is on the other side.
struct Peer {
  std::string address;  // "192.0.2.7" or "2001:db8::1"; empty for a Unix socket
  int port = 0;
  bool tls = false;
  std::string alpn;  // what the TLS handshake agreed on, such as "h2"; known before the Protocol is made
  // The common name in the client certificate that was verified; empty if there is none.
  std::string certificate{};
};

class Link {
 public:
  virtual const Peer& peer() const = 0;

  // Append answers here. What was appended during on_bytes() is sent in one system call when it returns.
  virtual std::string& output() = 0;
  // Sends what was appended outside on_bytes(), as when a store answered later.
  virtual void flush() = 0;
  // Closes once everything appended so far has been sent (or at once if it cannot be sent). No more bytes arrive.
  virtual void close() = 0;

  // While paused no more bytes are read: a protocol with too many decisions in flight pauses. Bytes already received
  // are offered again by resume().
  virtual void pause() = 0;
  virtual void resume() = 0;

  // True when unsent output is over Limits::output_bytes, or when this connection has enough under way (Backpressure).
  // A protocol then stops where it is, even with whole messages left in `bytes`; on_bytes() is called again once the
  // peer has taken its answers, or some of those that it is owed have been made.
  virtual bool congested() const = 0;

  // Memory for the message under way, out of what all connections share (ConnectionMemory): `input` bytes for as much
  // of it as will lie in the received bytes, and `own` bytes that the protocol holds itself. Each call replaces what
  // the one before reserved; 0 and 0 end it. What a small message needs is there without a call. False: there is not
  // enough left, and nothing changes.
  [[nodiscard]] virtual bool reserve(std::size_t /*input*/, std::size_t /*own*/) { return true; }
  // After reserve() has failed: nothing more is read until it would succeed; then on_bytes() is called again. If that
  // takes too long, on_shortage() is called and the connection closed.
  virtual void await_memory() {}

  // Keeps the connection, and so the protocol, alive for a completion that may outlive it. closed() then says so.
  virtual std::shared_ptr<Link> hold() = 0;
  virtual bool closed() const = 0;

  // Runs `task` on this loop after `delay`, unless the connection is closed by then. The task must not hold the link:
  // it would keep a closed connection in memory until its time comes.
  virtual void after(Duration delay, std::function<void()> task) = 0;

  // For completions that may run on another thread; the only two methods that such a thread may call. post() runs
  // `task` on this loop, soon.
  virtual bool on_loop() const = 0;
  virtual void post(std::function<void()> task) = 0;

 protected:
  ~Link() = default;
};

class Protocol {
 public:
  virtual ~Protocol() = default;

  // `bytes` is all that was received and not yet consumed. Returns how much of it is dealt with; the rest is offered
  // again, with more behind it. A protocol that is offered a full buffer and consumes nothing is closed, so it must
  // answer "too large" itself before that (Limits::input_bytes).
  virtual std::size_t on_bytes(std::string_view bytes) = 0;

  // True between messages, when nothing is begun and nothing is owed. Decides which timeout runs: the idle one, or
  // the one for a message that does not come to its end. That one starts again whenever bytes are consumed, so a
  // protocol that consumes messages piecemeal bounds their duration itself.
  virtual bool idle() const = 0;
  // True while an answer is owed: the peer waits for us and not we for the peer, so no timeout runs.
  virtual bool waiting() const { return false; }
  // Asked once the peer has sent its last byte: true while there are answers worth keeping the connection for.
  virtual bool owing() const { return waiting(); }

  // The message timeout expired: report it in the protocol's own way, if it has one. The link closes afterwards.
  virtual void on_timeout() {}
  // Nothing came for the idle timeout: likewise.
  virtual void on_idle_timeout() {}
  // There was no memory for the message under way: likewise.
  virtual void on_shortage() {}
  // The server is about to stop. True: the protocol continues for a while, so that requests that are on their way are
  // answered, and tells its peer with the next answer if it has words for that; on_drain() follows when the while is
  // over. False: on_drain() follows at once.
  virtual bool on_drain_soon() { return false; }
  // The server is stopping: finish what is begun, then call Link::close().
  virtual void on_drain() = 0;
};

using ProtocolFactory = std::function<std::unique_ptr<Protocol>(Link&)>;

}  // namespace weir::transport
