// Connection: one accepted socket, plain or TLS, TCP or Unix, and the Protocol that speaks on it.
//
// Lives on one loop's thread; on_loop() and post() are the exceptions. Its loop owns it until it is closed, then
// its holders do (Link::hold). The Protocol lives exactly as long as its Connection.
//
// A wake is one receive, one on_bytes() with all that is there, one send. Invariants:
//  - at most one receive and one wait for writability are under way;
//  - nothing is received while the protocol paused, while unsent output is over its limit, while it is held back
//    (Backpressure), or once closing;
//  - a buffer for input does not grow before its growth is charged, and while that must wait nothing is received;
//  - bytes in [sent_, end) of the outgoing buffer are unsent, and a non-empty rest means waiting_writable_.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/latency_counts.h"
#include "frontends/transport/connection_memory.h"
#include "frontends/transport/input_buffer.h"
#include "frontends/transport/limits.h"
#include "frontends/transport/login_guard.h"
#include "frontends/transport/loop.h"
#include "frontends/transport/preamble.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/tls.h"

namespace weir::transport {

// How long answers take on one loop: from when bytes were received until all answers to them were made. One in
// kMeasured offers is measured.
class AnswerTimes {
 public:
  static constexpr std::uint32_t kMeasured = 4;

  // The loop only.
  bool draw() { return offers_++ % kMeasured == 0; }
  void add(std::chrono::nanoseconds took) { counts_.add(static_cast<std::uint64_t>(took.count())); }
  // From any thread.
  base::LatencySums sums() const { return counts_.sums(); }

 private:
  std::uint32_t offers_ = 0;
  base::LatencyCounts counts_;
};

// What a listener gives to its connections, on all loops. Constant after construction but for `open`.
struct Service {
  Limits limits;
  std::vector<ProtocolFactory> factories;           // one for each loop
  std::vector<std::unique_ptr<AnswerTimes>> times;  // likewise
  std::shared_ptr<const TlsContext> tls;            // null: plain
  Preamble preamble;                                // none: connections begin with their protocol
  std::string name;                                 // of the listener, its name in logs and metrics
  std::shared_ptr<LoginGuard> logins;               // null: refused certificates have no consequences
  std::shared_ptr<ConnectionMemory> memory = std::make_shared<ConnectionMemory>();
  std::atomic<std::size_t> open{0};

  // What a connection takes besides its buffers.
  std::size_t connection_bytes() const;
};

class Connection final : public Link, public std::enable_shared_from_this<Connection> {
 public:
  // With the loop's own executor type: no virtual call between the socket and its loop.
  using Socket =
      boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol, boost::asio::io_context::executor_type>;

  Connection(std::shared_ptr<Loop> loop, std::shared_ptr<Service> service, Socket socket, Peer peer);

  void start();
  // Closes if a timeout has passed, and gives memory back that is not in use.
  void sweep();
  // Tries again to get the memory that it waits for. False: there still is not enough.
  bool feed();
  bool wants_much() const { return wanted_ > MemoryCharge::kSmallBytes; }
  // Lets the protocol finish what has arrived, then close. `last`: now; otherwise the protocol may go on for a while.
  void drain(bool last);
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
  bool congested() const override { return too_much_unsent() || loop_->holds_back(id_); }
  bool reserve(std::size_t input, std::size_t own) override;
  void await_memory() override { starve(refused_); }
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
  bool await_turn();
  void take_turn();
  void decrypt(std::string_view bytes);
  void process();
  bool offer();
  void end_measuring();
  void settle();
  void choose_next();
  void starve(std::size_t wanted);
  void shrink();
  void turn_away();
  void send_pending();
  void wait_writable();
  void compact_outgoing();
  void finish();
  void time_out();
  void make_protocol();
  void drain_now();

  // With TLS, output_ is what the protocol said and wire_ what goes out; without, output_ itself goes out.
  std::string& outgoing() { return tls_ ? wire_ : output_; }
  std::size_t unsent() const { return output_.size() + wire_.size() - sent_; }

  bool too_much_unsent() const {
    const std::size_t bytes = unsent();
    if (bytes <= kPressedOutput) return false;
    return bytes > service_->limits.output_bytes || service_->memory->is_short();
  }
  // The memory of all buffers if that for input had this capacity.
  std::size_t footprint(std::size_t input_capacity) const {
    return std::max(input_capacity, reserved_input_) + reserved_own_ + output_.capacity() + wire_.capacity();
  }

  const std::shared_ptr<Loop> loop_;
  const std::shared_ptr<Service> service_;
  MemoryCharge charge_;
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
  std::uint64_t id_ = 0;          // on its loop
  std::size_t lingered_ = 0;      // bytes thrown away while lingering_
  std::uint32_t receives_ = 0;    // begun so far
  std::uint32_t drain_seen_ = 0;  // how many of them had begun when a drain last looked
  int drain_looks_ = 0;
  std::size_t reserved_input_ = 0;
  std::size_t reserved_own_ = 0;
  std::size_t refused_ = 0;  // the footprint that the last reserve() failed for
  std::size_t wanted_ = 0;   // the footprint that it waits for, while starving_
  std::uint32_t starving_since_ = 0;

  std::chrono::steady_clock::time_point measured_since_;  // while measuring_

  bool measuring_ = false;        // the answers to what was offered are not all made
  bool awaits_preamble_ = false;  // until then even what belongs to TLS is gathered in input_
  bool awaits_turn_ = false;      // a handshake that must wait; what has arrived of it may be in input_
  bool starving_ = false;         // waits for memory
  bool shrinking_ = false;        // the receive was called off, to begin again with a smaller buffer
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

}  // namespace weir::transport
