// Connection: one accepted socket, plain or TLS, TCP or Unix, and the Protocol that speaks on it.
//
// Lives on one loop's thread; on_loop() and post() are the exceptions. Its loop owns it until it is closed, then
// whoever holds it (Link::hold). The Protocol lives exactly as long as its Connection.
//
// A wake is one receive, one on_bytes() with all that is there, one send. Invariants:
//  - at most one receive and one wait for writability are under way;
//  - nothing is received while the protocol paused, while unsent output is over its limit, or once closing;
//  - bytes in [sent_, end) of the outgoing buffer are unsent, and a non-empty rest means waiting_writable_.
#pragma once

#include <atomic>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontends/transport/input_buffer.h"
#include "frontends/transport/limits.h"
#include "frontends/transport/loop.h"
#include "frontends/transport/preamble.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/tls.h"

namespace weir::frontends {

// What a listener gives to its connections, on all loops. Constant after construction but for `open`.
struct Service {
  Limits limits;
  std::vector<ProtocolFactory> factories;  // one for each loop
  std::shared_ptr<const TlsContext> tls;   // null: plain
  Preamble preamble;                       // none: connections begin with their protocol
  std::atomic<std::size_t> open{0};
};

class Connection final : public Link, public std::enable_shared_from_this<Connection> {
 public:
  // With the loop's own executor type: no virtual call between the socket and its loop.
  using Socket =
      boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, boost::asio::io_context::executor_type>;

  Connection(std::shared_ptr<Loop> loop, std::shared_ptr<Service> service, Socket socket, Peer peer);

  void start();
  // Closes if a timeout has passed.
  void sweep();
  // Lets the protocol finish what has arrived, then close.
  void drain();
  // Closes at once; what is unsent is lost.
  void abort();

  std::size_t place() const { return place_; }
  void set_place(std::size_t place) { place_ = place; }

  const Peer& peer() const override { return peer_; }
  std::string& output() override { return output_; }
  void flush() override;
  void close() override;
  void pause() override { paused_ = true; }
  void resume() override;
  bool congested() const override { return unsent() > service_->limits.output_bytes; }
  std::shared_ptr<Link> hold() override { return shared_from_this(); }
  bool closed() const override { return closing_ || dead_; }
  void after(Duration delay, std::function<void()> task) override;
  bool on_loop() const override { return loop_->on_thread(); }
  void post(std::function<void()> task) override;

 private:
  void receive();
  void on_received(const boost::system::error_code& error, std::size_t count);
  bool take_in(std::size_t count);
  bool take_preamble();
  void decrypt(std::string_view bytes);
  void process();
  bool offer();
  void settle();
  void send_pending();
  void wait_writable();
  void compact_outgoing();
  void finish();
  void time_out();
  void drain_now();

  // With TLS, output_ is what the protocol said and wire_ what goes out; without, output_ itself goes out.
  std::string& outgoing() { return tls_ ? wire_ : output_; }
  std::size_t unsent() const { return output_.size() + wire_.size() - sent_; }

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Service> service_;
  Socket socket_;
  Peer peer_;
  std::unique_ptr<TlsSession> tls_;
  std::unique_ptr<char[]> raw_;  // TLS: what is being received, still encrypted
  InputBuffer input_;
  std::string output_;
  std::string wire_;
  std::size_t sent_ = 0;
  std::size_t write_mark_ = 0;  // sent_ must reach this before the write timeout
  std::uint32_t write_since_ = 0;
  std::uint32_t since_ = 0;  // the tick when the message or the idleness under way began
  std::size_t place_ = 0;
  std::size_t lingered_ = 0;  // bytes thrown away while lingering_

  bool awaits_preamble_ = false;  // until then even what belongs to TLS is gathered in input_
  bool receiving_ = false;
  bool waiting_writable_ = false;
  bool offering_ = false;     // inside on_bytes()
  bool offer_again_ = false;  // resumed while offering_
  bool wake_posted_ = false;
  bool paused_ = false;
  bool drain_after_receive_ = false;
  bool peer_ended_ = false;
  bool closing_ = false;
  bool lingering_ = false;  // all is sent and our side is shut; waiting for the peer's end
  bool dead_ = false;
  std::unique_ptr<Protocol> protocol_;  // null until the preamble and the TLS handshake are done
};

}  // namespace weir::frontends
