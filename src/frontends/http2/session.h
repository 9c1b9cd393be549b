// Session: HTTP/2 framing for one server connection. Bytes in, events out; answers in, bytes out. No sockets, and
// nothing of what the exchanges mean. FramedSession (framed_session.cc) is the one in use; a second one on nghttp2
// (nghttp2_oracle.h) exists for the tests, which want the same events from both.
//
// Single-threaded, like the connection it serves. Events are called from inside receive() and send(); they may call
// respond(), resume() and reset(), never receive() or send().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frontends/http2/flood_guard.h"
#include "weir/inline_vector.h"

namespace weir::http2 {

struct Field {
  std::string_view name;
  std::string_view value;
  // Goes out with nearly every answer, so the peer is asked to remember it. Both views must stay valid forever.
  bool often = false;
};

// One exchange. Owned by the handler of the events; alive from on_stream() to on_closed().
struct Stream {
  std::int32_t id = 0;
  bool request_ended = false;  // the peer has sent all it will

  // The body of the answer. Bytes before `taken` are gone; `complete` says that none will be appended.
  std::string body;
  std::size_t taken = 0;
  bool complete = false;
  // Sent after the body. Views: they must live until on_closed().
  InlineVector<Field, 3> trailers;

  // The session's own notes.
  struct Flow {
    std::int64_t send_window = 0;    // what the peer still takes
    std::int64_t received = 0;       // of the body, since the last WINDOW_UPDATE
    std::int64_t content_left = -1;  // of the content-length that the request announced; -1: it did not
    std::size_t held = 0;            // of the answer, while it waits for a window
    bool begun = false;              // the head of the answer is out
    bool ended = false;              // all of the answer is out
    bool gone = false;               // reset, by either side
    bool blocked = false;            // waits for a window
  } flow;
};

class Events {
 public:
  // A request begins.
  virtual Stream& on_stream(std::int32_t id) = 0;
  // Its header fields, one by one, then on_headers_end(). Trailers are not reported.
  virtual void on_field(Stream& stream, std::string_view name, std::string_view value) = 0;
  // Instead of on_field(): the fields are those of the last request that had on_headers_end().
  virtual void on_same_fields(Stream& stream) = 0;
  virtual void on_headers_end(Stream& stream) = 0;
  // Instead of on_headers_end(): the fields are larger than SessionLimits::header_list. To be answered at once.
  virtual void on_headers_too_large(Stream& stream) = 0;
  virtual void on_body(Stream& stream, std::string_view bytes) = 0;
  // The request is whole: stream.request_ended is set.
  virtual void on_request_end(Stream& stream) = 0;
  // Answered, reset or lost. The session forgets the stream.
  virtual void on_closed(Stream& stream) = 0;

 protected:
  ~Events() = default;
};

struct SessionLimits {
  std::uint32_t streams = 256;                          // open at the same time
  std::uint32_t header_list = std::uint32_t{16} << 10;  // all fields of a request, as HTTP/2 counts them
  std::uint32_t window = std::uint32_t{256}
                         << 10;             // what a peer may send ahead, per stream and in all; 64 KiB at least
  std::size_t held = std::size_t{4} << 20;  // answers that wait for the peer's windows, in all
};

// RFC 9113, section 7.
enum class Error : std::uint32_t {
  none = 0,
  protocol = 1,
  internal = 2,
  flow_control = 3,
  stream_closed = 5,
  frame_size = 6,
  refused_stream = 7,
  cancel = 8,
  compression = 9,
  enhance_your_calm = 11,
};

class Session {
 public:
  virtual ~Session() = default;

  // How many of the bytes were handled; the rest must be offered again: after send() if that is more than 0, since much
  // may have been written, else with more bytes after it. Nothing when they are not HTTP/2 at all: nothing is to
  // be sent either. Anything else that goes wrong ends in a GOAWAY, and finished() turns true once that is sent.
  [[nodiscard]] virtual std::optional<std::size_t> receive(std::string_view bytes) = 0;
  // True while the peer is sending a block of header fields that takes several frames.
  virtual bool amid_fields() const = 0;
  // Appends what is to be sent.
  virtual void send(std::string& out) = 0;

  // Begins the answer. Without a body the head is all there is. An answer that ends before its request did tells the
  // peer to keep the rest.
  virtual void respond(Stream& stream, std::span<const Field> head, bool has_body) = 0;
  // stream.body has grown, or stream.complete was set.
  virtual void resume(Stream& stream) = 0;
  virtual void reset(Stream& stream, Error error) = 0;

  virtual void ping() = 0;
  // "I am about to leave": streams that are on their way are still served.
  virtual void announce_shutdown() = 0;
  // "I have left": open streams are still served, new ones are not.
  virtual void go_away(Error error) = 0;
  // Bytes of answers that wait for the peer's windows.
  virtual std::size_t held() const = 0;
  // Nothing more will come of this connection: close it.
  virtual bool finished() const = 0;
};

std::unique_ptr<Session> make_session(Events& events, const SessionLimits& limits, FloodGuard guard);

}  // namespace weir::http2
