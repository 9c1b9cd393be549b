#include "frontends/http2/framed_session.h"

#include <algorithm>
#include <array>

namespace weir::http2 {
namespace {

constexpr std::int64_t kInitialWindow = 65535;
constexpr std::int64_t kMaxWindow = 0x7fffffff;
constexpr std::size_t kSettingBytes = 6;
constexpr std::size_t kPriorityBytes = 5;
constexpr std::uint32_t kLargestFrame = (1U << 24) - 1;
// Longer blocks are not worth keeping: an ordinary client's takes a few dozen bytes once its table is filled.
constexpr std::size_t kMaxKnownBlock = 512;

}  // namespace

FramedSession::FramedSession(Events& events, const SessionLimits& limits, FloodGuard guard)
    : events_(events),
      limits_(limits),
      own_window_(std::max<std::int64_t>(limits.window, kInitialWindow)),
      guard_(std::move(guard)),
      send_window_(kInitialWindow),
      peer_window_(kInitialWindow) {
  const std::array<std::pair<Setting, std::uint32_t>, 3> settings = {
      {{Setting::max_concurrent_streams, limits.streams},
       {Setting::max_header_list_size, limits.header_list},
       {Setting::initial_window_size, static_cast<std::uint32_t>(own_window_)}}};
  writer_.settings(settings);
  if (own_window_ > kInitialWindow) writer_.window_update(0, own_window_ - kInitialWindow);
}

std::optional<std::size_t> FramedSession::receive(std::string_view bytes) {
  std::size_t taken = 0;
  if (!greeted_) {
    const std::size_t size = std::min(bytes.size(), kPreface.size());
    if (bytes.substr(0, size) != kPreface.substr(0, size)) return std::nullopt;
    if (size < kPreface.size()) return 0;
    greeted_ = true;
    taken = size;
  }
  while (!failed_ && bytes.size() - taken >= kFrameHeadBytes) {
    const FrameHead head = read_frame_head(bytes.data() + taken);
    if (head.length > kMaxPayload) {
      fail(Error::frame_size, "a frame is larger than 16384 bytes");
      break;
    }
    if (bytes.size() - taken < kFrameHeadBytes + head.length) break;
    on_frame(head, bytes.substr(taken + kFrameHeadBytes, head.length));
    taken += kFrameHeadBytes + head.length;
    if (should_send()) break;
  }
  return failed_ ? bytes.size() : taken;
}

void FramedSession::send(std::string& out) {
  for (Stream* const stream : finished_) {
    // The answer is out and the rest of the request is of no use: asks the peer not to send it.
    if (!stream->flow.gone && !stream->request_ended && !failed_) writer_.rst_stream(stream->id, Error::none);
    streams_.erase(*stream);
    events_.on_closed(*stream);
  }
  finished_.clear();
  writer_.take(out);
}

void FramedSession::on_frame(const FrameHead& head, std::string_view payload) {
  if (!settings_seen_ && (head.type != FrameType::settings || head.has(kAck))) {
    return fail(Error::protocol, "the first frame is not SETTINGS");
  }
  if (pieces_.stream != 0 && (head.type != FrameType::continuation || head.stream != pieces_.stream)) {
    return fail(Error::protocol, "header fields are not continued");
  }
  switch (head.type) {
    case FrameType::data:
      return on_data(head, payload);
    case FrameType::headers:
      return on_headers(head, payload);
    case FrameType::continuation:
      return on_continuation(head, payload);
    case FrameType::rst_stream:
      if (!guard_.allow_reset()) return fail(Error::enhance_your_calm, "too many resets");
      return on_rst_stream(head, payload);
    case FrameType::priority:
    case FrameType::settings:
    case FrameType::push_promise:
    case FrameType::ping:
    case FrameType::goaway:
    case FrameType::window_update:
      break;
    default:
      // Types of extensions are skipped, however many: an empty one costs less than the same bytes of calls do.
      return;
  }
  if (!guard_.allow_control()) return fail(Error::enhance_your_calm, "too many control frames");
  switch (head.type) {
    case FrameType::settings:
      return on_settings(head, payload);
    case FrameType::ping:
      return on_ping(head, payload);
    case FrameType::goaway:
      return on_goaway(head, payload);
    case FrameType::window_update:
      return on_window_update(head, payload);
    case FrameType::priority:
      if (head.stream == 0) return fail(Error::protocol, "PRIORITY for no stream");
      if (payload.size() != kPriorityBytes) return fail(Error::frame_size, "PRIORITY of a wrong size");
      return;
    default:
      return fail(Error::protocol, "PUSH_PROMISE from a client");
  }
}

// --- requests ---

bool FramedSession::strip_padding(const FrameHead& head, std::string_view& payload) {
  if (!head.has(kPadded)) return true;
  const std::size_t padding = payload.empty() ? 0 : static_cast<unsigned char>(payload.front());
  if (padding >= payload.size()) {
    fail(Error::protocol, "more padding than payload");
    return false;
  }
  payload = payload.substr(1, payload.size() - 1 - padding);
  return true;
}

Stream* FramedSession::open_stream(std::int32_t id) const {
  Stream* const stream = streams_.find(id);
  return stream != nullptr && !stream->flow.gone ? stream : nullptr;
}

// Counts what arrived and opens the window again when the peer has used half of it. The connection's window
// cannot be exceeded: before each frame less than half of it is used, and a frame is smaller than the other half.
static_assert(kInitialWindow - kInitialWindow / 2 >= static_cast<std::int64_t>(kMaxPayload));
void FramedSession::count_received(std::size_t size) {
  received_ += static_cast<std::int64_t>(size);
  if (received_ < own_window_ / 2) return;
  writer_.window_update(0, received_);
  received_ = 0;
}

void FramedSession::on_data(const FrameHead& head, std::string_view payload) {
  if (is_idle(head.stream)) return fail(Error::protocol, "DATA for a stream that is not open");
  // Padding counts like data.
  count_received(payload.size());
  std::string_view bytes = payload;
  if (!strip_padding(head, bytes)) return;
  if (bytes.empty() && !head.has(kEndStream) && !guard_.allow_control()) {
    return fail(Error::enhance_your_calm, "too many empty frames");
  }
  Stream* const stream = open_stream(head.stream);
  if (stream == nullptr) return;
  if (stream->request_ended) return fail(Error::stream_closed, "DATA after the end of a request");
  stream->flow.received += static_cast<std::int64_t>(payload.size());
  // Only a stream that is answered already gets here: the windows of others are opened again in time.
  if (stream->flow.received > own_window_) return reset_for_fault(*stream, Error::flow_control);
  if (!take_body(*stream, bytes)) return;
  if (head.has(kEndStream)) return end_request(*stream);
  if (stream->flow.received >= own_window_ / 2 && !stream->flow.ended && !stream->flow.gone) {
    writer_.window_update(head.stream, stream->flow.received);
    stream->flow.received = 0;
  }
}

// False: the request has more of a body than it announced, and is reset.
bool FramedSession::take_body(Stream& stream, std::string_view bytes) {
  if (stream.flow.content_left >= 0) {
    stream.flow.content_left -= static_cast<std::int64_t>(bytes.size());
    if (stream.flow.content_left < 0) {
      reset_for_fault(stream, Error::protocol);
      return false;
    }
  }
  // The rest of a request that was answered is not needed.
  if (!stream.flow.ended && !bytes.empty()) events_.on_body(stream, bytes);
  return true;
}

void FramedSession::end_request(Stream& stream) {
  if (stream.flow.gone) return;
  if (stream.flow.content_left > 0) return reset_for_fault(stream, Error::protocol);
  stream.request_ended = true;
  if (!stream.flow.ended) events_.on_request_end(stream);
}

void FramedSession::on_headers(const FrameHead& head, std::string_view payload) {
  if (head.stream % 2 == 0) return fail(Error::protocol, "HEADERS for a stream that is not a client's");
  if (!strip_padding(head, payload)) return;
  if (head.has(kPriority)) {
    if (payload.size() < kPriorityBytes) return fail(Error::frame_size, "HEADERS of a wrong size");
    payload.remove_prefix(kPriorityBytes);
  }
  if (head.has(kEndHeaders)) return on_block(head.stream, payload, head.has(kEndStream));
  pieces_.block.assign(payload);
  pieces_.stream = head.stream;
  pieces_.continuations = 0;
  pieces_.ends_request = head.has(kEndStream);
}

void FramedSession::on_continuation(const FrameHead& head, std::string_view payload) {
  if (pieces_.stream == 0) return fail(Error::protocol, "CONTINUATION of nothing");
  if (++pieces_.continuations > kMaxContinuations) {
    return fail(Error::enhance_your_calm, "header fields without end");
  }
  pieces_.block.append(payload);
  if (!head.has(kEndHeaders)) return;
  pieces_.stream = 0;
  on_block(head.stream, pieces_.block, pieces_.ends_request);
  std::string().swap(pieces_.block);
}

void FramedSession::on_block(std::int32_t id, std::string_view block, bool ends_request) {
  if (id > last_id_) return begin_request(id, block, ends_request);
  Stream* const stream = open_stream(id);
  if (stream == nullptr) {
    // Of a stream that is over; its fields still count for the table.
    if (!guard_.allow_control()) return fail(Error::enhance_your_calm, "too many frames for closed streams");
    static_cast<void>(skip_fields(block));
    return;
  }
  if (stream->request_ended) return fail(Error::stream_closed, "HEADERS after the end of a request");
  take_trailers(*stream, block, ends_request);
}

void FramedSession::begin_request(std::int32_t id, std::string_view block, bool ends_request) {
  last_id_ = id;
  if (left_) {
    static_cast<void>(skip_fields(block));
    return;
  }
  if (streams_.size() - finished_.size() >= limits_.streams) return refuse(id, block);
  served_id_ = id;
  Stream& stream = events_.on_stream(id);
  stream.flow = {};
  stream.flow.send_window = peer_window_;
  stream.request_ended = ends_request;
  streams_.insert(stream);
  if (!take_fields(stream, block)) return;
  if (ends_request && stream.flow.content_left > 0) {
    known_.block.clear();
    return reset_for_fault(stream, Error::protocol);
  }
  events_.on_headers_end(stream);
  if (ends_request && !stream.flow.ended && !stream.flow.gone) events_.on_request_end(stream);
}

// False: the request is malformed and reset, or too large and answered, or the connection has failed.
bool FramedSession::take_fields(Stream& stream, std::string_view block) {
  if (block == known_.block && !block.empty()) {
    stream.flow.content_left = known_.content_length;
    events_.on_same_fields(stream);
    return true;
  }
  known_.block.clear();
  FieldRules rules(FieldRules::Block::request, limits_.header_list);
  const bool sense = decoder_.decode(block, [&](std::string_view name, std::string_view value) {
    if (rules.accept(name, value)) events_.on_field(stream, name, value);
  });
  if (!sense) {
    fail(Error::compression, "invalid header fields");
    return false;
  }
  if (rules.too_large()) {
    events_.on_headers_too_large(stream);
    return false;
  }
  if (!rules.good()) {
    reset_for_fault(stream, Error::protocol);
    return false;
  }
  stream.flow.content_left = rules.content_length();
  if (block.size() <= kMaxKnownBlock && HeaderDecoder::leaves_table(block)) {
    known_.block.assign(block);
    known_.content_length = rules.content_length();
  }
  return true;
}

void FramedSession::take_trailers(Stream& stream, std::string_view block, bool ends_request) {
  known_.block.clear();
  FieldRules rules(FieldRules::Block::trailers, limits_.header_list);
  const bool sense = decoder_.decode(
      block, [&](std::string_view name, std::string_view value) { static_cast<void>(rules.accept(name, value)); });
  if (!sense) return fail(Error::compression, "invalid header fields");
  if (rules.too_large()) return reset_for_fault(stream, Error::enhance_your_calm);
  if (!rules.good() || !ends_request) return reset_for_fault(stream, Error::protocol);
  end_request(stream);
}

bool FramedSession::skip_fields(std::string_view block) {
  known_.block.clear();
  if (decoder_.decode(block, [](std::string_view, std::string_view) {})) return true;
  fail(Error::compression, "invalid header fields");
  return false;
}

// More streams than our SETTINGS allow. One that was sent before our SETTINGS arrived is not an error, so only many
// are.
void FramedSession::refuse(std::int32_t id, std::string_view block) {
  if (!guard_.allow_reset()) return fail(Error::enhance_your_calm, "too many streams");
  if (skip_fields(block)) writer_.rst_stream(id, Error::refused_stream);
}

void FramedSession::on_rst_stream(const FrameHead& head, std::string_view payload) {
  if (is_idle(head.stream)) return fail(Error::protocol, "RST_STREAM for a stream that is not open");
  if (payload.size() != 4) return fail(Error::frame_size, "RST_STREAM of a wrong size");
  if (Stream* const stream = open_stream(head.stream); stream != nullptr) drop(*stream);
}

// --- the connection ---

void FramedSession::on_settings(const FrameHead& head, std::string_view payload) {
  if (head.stream != 0) return fail(Error::protocol, "SETTINGS for a stream");
  if (head.has(kAck)) {
    if (!payload.empty()) return fail(Error::frame_size, "SETTINGS of a wrong size");
    return;
  }
  if (payload.size() % kSettingBytes != 0) return fail(Error::frame_size, "SETTINGS of a wrong size");
  if (payload.size() / kSettingBytes > kMaxSettings) return fail(Error::enhance_your_calm, "too many settings");
  for (std::size_t at = 0; at < payload.size(); at += kSettingBytes) {
    if (!apply_setting(read_u16(payload.data() + at), read_u32(payload.data() + at + 2))) return;
  }
  settings_seen_ = true;
  writer_.settings_ack();
  pump_blocked();
}

// False: the connection has failed.
bool FramedSession::apply_setting(std::uint32_t setting, std::uint32_t value) {
  switch (static_cast<Setting>(setting)) {
    case Setting::header_table_size:
      writer_.set_header_table(value);
      return true;
    case Setting::enable_push:
      if (value <= 1) return true;
      break;
    case Setting::initial_window_size:
      if (value <= kMaxWindow && set_peer_window(value)) return true;
      fail(Error::flow_control, "a window that is too large");
      return false;
    case Setting::max_frame_size:
      if (value >= kMaxPayload && value <= kLargestFrame) return true;
      break;
    default:
      return true;
  }
  fail(Error::protocol, "a setting out of range");
  return false;
}

// The difference counts for the streams that are open too. False: a window became too large.
bool FramedSession::set_peer_window(std::uint32_t window) {
  const std::int64_t difference = window - peer_window_;
  peer_window_ = window;
  bool good = true;
  streams_.each([&](Stream& stream) {
    stream.flow.send_window += difference;
    good = good && stream.flow.send_window <= kMaxWindow;
  });
  return good;
}

void FramedSession::on_ping(const FrameHead& head, std::string_view payload) {
  if (head.stream != 0) return fail(Error::protocol, "PING for a stream");
  if (payload.size() != FrameWriter::kPingBytes) return fail(Error::frame_size, "PING of a wrong size");
  if (head.has(kAck)) return;
  writer_.ping(payload, true);
}

void FramedSession::on_goaway(const FrameHead& head, std::string_view payload) {
  if (head.stream != 0) return fail(Error::protocol, "GOAWAY for a stream");
  if (payload.size() < 8) return fail(Error::frame_size, "GOAWAY of a wrong size");
  peer_left_ = true;
}

void FramedSession::on_window_update(const FrameHead& head, std::string_view payload) {
  if (payload.size() != 4) return fail(Error::frame_size, "WINDOW_UPDATE of a wrong size");
  const std::int64_t size = read_u31(payload.data());
  if (head.stream == 0) {
    if (size == 0) return fail(Error::protocol, "WINDOW_UPDATE of nothing");
    if (size > kMaxWindow - send_window_) return fail(Error::flow_control, "a window that is too large");
    send_window_ += size;
    return pump_blocked();
  }
  if (is_idle(head.stream)) return fail(Error::protocol, "WINDOW_UPDATE for a stream that is not open");
  Stream* const stream = open_stream(head.stream);
  if (stream == nullptr || stream->flow.ended) return;
  if (size == 0) return reset_for_fault(*stream, Error::protocol);
  if (size > kMaxWindow - stream->flow.send_window) return reset_for_fault(*stream, Error::flow_control);
  stream->flow.send_window += size;
  if (stream->flow.blocked) pump(*stream);
}

std::unique_ptr<Session> make_session(Events& events, const SessionLimits& limits, FloodGuard guard) {
  return std::make_unique<FramedSession>(events, limits, std::move(guard));
}

}  // namespace weir::http2
