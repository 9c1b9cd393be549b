// The other half of FramedSession: answers, and the frames that announce a shutdown.
#include <algorithm>

#include "frontends/http2/framed_session.h"

namespace weir::http2 {
namespace {

constexpr std::int32_t kMaxStream = 0x7fffffff;
// The size up to which bytes of a body that were sent are kept in front of the rest.
constexpr std::size_t kMostTaken = std::size_t{64} << 10;

}  // namespace

void FramedSession::respond(Stream& stream, std::span<const Field> head, bool has_body) {
  if (stream.flow.gone || stream.flow.begun || failed_) return;
  stream.flow.begun = true;
  writer_.headers(stream.id, head, !has_body);
  if (has_body) {
    pump(stream);
  } else {
    guard_.served();
    end_answer(stream);
  }
}

void FramedSession::resume(Stream& stream) {
  const Stream::Flow& flow = stream.flow;
  if (!flow.begun || flow.ended || flow.gone || failed_) return;
  if (flow.blocked) {
    hold(stream);
  } else {
    pump(stream);
  }
}

// Sends as much of the body as the windows allow, and the end after all of it.
void FramedSession::pump(Stream& stream) {
  bool ends_here = false;
  while (stream.taken < stream.body.size()) {
    const auto left = static_cast<std::int64_t>(stream.body.size() - stream.taken);
    const std::int64_t size =
        std::min({left, stream.flow.send_window, send_window_, static_cast<std::int64_t>(kMaxPayload)});
    if (size <= 0) return hold(stream);
    ends_here = size == left && stream.complete && stream.trailers.empty();
    const auto count = static_cast<std::size_t>(size);
    writer_.data(stream.id, std::string_view(stream.body).substr(stream.taken, count), ends_here);
    stream.taken += count;
    stream.flow.send_window -= size;
    send_window_ -= size;
    guard_.sent(size);
  }
  guard_.served();
  if (stream.flow.blocked) unblock(stream);
  if (stream.body.capacity() > kMostTaken) {
    std::string().swap(stream.body);
  } else {
    stream.body.clear();
  }
  stream.taken = 0;
  if (!stream.complete) return;
  if (!stream.trailers.empty()) {
    writer_.headers(stream.id, {stream.trailers.data(), stream.trailers.size()}, true);
  } else if (!ends_here) {
    writer_.data(stream.id, {}, true);
  }
  end_answer(stream);
}

// Keeps the rest of an answer until a window opens, unless too much is waiting for this peer.
void FramedSession::hold(Stream& stream) {
  if (!stream.flow.blocked) blocked_.push_back(&stream);
  stream.flow.blocked = true;
  if (stream.taken >= kMostTaken) {
    stream.body.erase(0, stream.taken);
    stream.taken = 0;
  }
  const std::size_t left = stream.body.size() - stream.taken;
  held_ = held_ - stream.flow.held + left;
  stream.flow.held = left;
  if (held_ > limits_.held) reset_for_fault(stream, Error::enhance_your_calm);
}

void FramedSession::unblock(Stream& stream) {
  stream.flow.blocked = false;
  std::erase(blocked_, &stream);
  held_ -= stream.flow.held;
  stream.flow.held = 0;
}

void FramedSession::pump_blocked() {
  if (blocked_.empty()) return;
  const std::vector<Stream*> waiting = blocked_;
  for (Stream* const stream : waiting) {
    if (send_window_ <= 0) return;
    if (stream->flow.blocked && stream->flow.send_window > 0) pump(*stream);
  }
}

void FramedSession::end_answer(Stream& stream) {
  stream.flow.ended = true;
  finished_.push_back(&stream);
}

void FramedSession::reset(Stream& stream, Error error) {
  if (stream.flow.gone || failed_) return;
  writer_.rst_stream(stream.id, error);
  drop(stream);
}

// Resets that a peer causes count like those that it sends: with both it can begin more requests than it lets us
// finish.
void FramedSession::reset_for_fault(Stream& stream, Error error) {
  if (!guard_.allow_reset()) return fail(Error::enhance_your_calm, "too many faults");
  reset(stream, error);
}

// Either side has reset the stream: the rest of it is dropped.
void FramedSession::drop(Stream& stream) {
  if (stream.flow.blocked) unblock(stream);
  stream.flow.gone = true;
  if (!stream.flow.ended) finished_.push_back(&stream);
}

void FramedSession::ping() {
  if (failed_) return;
  writer_.ping(std::string_view("\0\0\0\0\0\0\0\0", FrameWriter::kPingBytes), false);
}

void FramedSession::announce_shutdown() {
  if (!failed_ && !left_) writer_.goaway(kMaxStream, Error::none, {});
}

void FramedSession::go_away(Error error) {
  if (failed_ || left_) return;
  left_ = true;
  writer_.goaway(served_id_, error, {});
}

void FramedSession::fail(Error error, std::string_view why) {
  if (failed_) return;
  failed_ = true;
  writer_.goaway(served_id_, error, why);
}

}  // namespace weir::http2
