// Http2Session: HTTP/2 framing for one server connection, behind an interface so that another framing can take the
// place of nghttp2's. Bytes in, events out; answers in, bytes out. No sockets.
//
// Single-threaded, like the connection it serves. Events are called from inside receive() and send(); they may call
// respond(), resume() and reset(), never receive() or send().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "frontends/grpc/flood_guard.h"
#include "weir/inline_vector.h"

namespace weir::grpc {

struct Http2Field {
  std::string_view name;
  std::string_view value;
};

// One exchange. Owned by whoever handles the events; alive from on_stream() to on_closed().
struct Http2Stream {
  std::int32_t id = 0;
  bool request_ended = false;  // the peer has sent all it will

  // The body of the answer. Bytes before `taken` are gone; `complete` says that none will be appended.
  std::string body;
  std::size_t taken = 0;
  bool complete = false;
  // Sent behind the body. Views: they must live until on_closed().
  InlineVector<Http2Field, 3> trailers;
};

class Http2Events {
 public:
  // A request begins.
  virtual Http2Stream& on_stream(std::int32_t id) = 0;
  virtual void on_header(Http2Stream& stream, std::string_view name, std::string_view value) = 0;
  virtual void on_headers_end(Http2Stream& stream) = 0;
  virtual void on_body(Http2Stream& stream, std::string_view bytes) = 0;
  // The request is whole: stream.request_ended is set.
  virtual void on_request_end(Http2Stream& stream) = 0;
  // Answered, reset or lost. The session forgets the stream.
  virtual void on_closed(Http2Stream& stream) = 0;

 protected:
  ~Http2Events() = default;
};

struct Http2Limits {
  std::uint32_t streams = 256;                          // open at the same time
  std::uint32_t header_list = std::uint32_t{16} << 10;  // announced; on_header() sees the fields and enforces it
  std::uint32_t window = std::uint32_t{256} << 10;      // what a peer may send ahead, per stream and in all
};

enum class Http2Error : std::uint32_t { none = 0, cancel = 8, enhance_your_calm = 11 };

class Http2Session {
 public:
  virtual ~Http2Session() = default;

  // Takes all bytes. False when they are not HTTP/2 at all: nothing is to be sent. Anything else that goes wrong ends
  // in a GOAWAY, and finished() turns true once that is sent.
  [[nodiscard]] virtual bool receive(std::string_view bytes) = 0;
  // Appends what is to be sent.
  virtual void send(std::string& out) = 0;

  // Begins the answer. Without a body the head is all there is.
  virtual void respond(Http2Stream& stream, std::span<const Http2Field> head, bool has_body) = 0;
  // stream.body has grown, or stream.complete was set.
  virtual void resume(Http2Stream& stream) = 0;
  virtual void reset(Http2Stream& stream, Http2Error error) = 0;

  virtual void ping() = 0;
  // "I am about to leave": streams that are on their way are still served.
  virtual void announce_shutdown() = 0;
  // "I have left": open streams end in peace, new ones are not served.
  virtual void go_away(Http2Error error) = 0;
  // Nothing more will come of this connection: close it.
  virtual bool finished() const = 0;
};

std::unique_ptr<Http2Session> make_nghttp2_session(Http2Events& events, const Http2Limits& limits, FloodGuard guard);

}  // namespace weir::grpc
