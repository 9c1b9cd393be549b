// FramedSession's other half: answers, and the frames by which a server says that it leaves.
#include <algorithm>

#include "frontends/http2/framed_session.h"

namespace weir::http2 {
namespace {

constexpr std::int32_t kMaxStream = 0x7fffffff;

}  // namespace

void FramedSession::respond(Stream& stream, std::span<const Field> head, bool has_body) {
  if (stream.flow.gone || stream.flow.begun || failed_) return;
  stream.flow.begun = true;
  writer_.headers(stream.id, head, !has_body);
  guard_.served();
  if (has_body) {
    pump(stream);
  } else {
    end_answer(stream);
  }
}

void FramedSession::resume(Stream& stream) {
  const Stream::Flow& flow = stream.flow;
  if (flow.begun && !flow.ended && !flow.gone && !flow.blocked && !failed_) pump(stream);
}

// Sends as much of the body as the windows let through, and the end behind all of it.
void FramedSession::pump(Stream& stream) {
  bool ends_here = false;
  while (stream.taken < stream.body.size()) {
    const auto left = static_cast<std::int64_t>(stream.body.size() - stream.taken);
    const std::int64_t size =
        std::min({left, stream.flow.send_window, send_window_, static_cast<std::int64_t>(kMaxPayload)});
    if (size <= 0) {
      if (!stream.flow.blocked) blocked_.push_back(&stream);
      stream.flow.blocked = true;
      return;
    }
    ends_here = size == left && stream.complete && stream.trailers.empty();
    const auto count = static_cast<std::size_t>(size);
    writer_.data(stream.id, std::string_view(stream.body).substr(stream.taken, count), ends_here);
    stream.taken += count;
    stream.flow.send_window -= size;
    send_window_ -= size;
  }
  if (stream.flow.blocked) {
    stream.flow.blocked = false;
    std::erase(blocked_, &stream);
  }
  stream.body.clear();
  stream.taken = 0;
  if (!stream.complete) return;
  if (!stream.trailers.empty()) {
    writer_.headers(stream.id, {stream.trailers.data(), stream.trailers.size()}, true);
  } else if (!ends_here) {
    writer_.data(stream.id, {}, true);
  }
  end_answer(stream);
}

void FramedSession::pump_blocked() {
  if (blocked_.empty()) return;
  const std::vector<Stream*> waiting = blocked_;
  for (Stream* const stream : waiting) {
    if (!stream->flow.gone) pump(*stream);
  }
}

void FramedSession::end_answer(Stream& stream) {
  stream.flow.ended = true;
  finished_.push_back(&stream);
}

void FramedSession::reset(Stream& stream, Error error) {
  if (stream.flow.gone || failed_) return;
  writer_.rst_stream(stream.id, error);
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
