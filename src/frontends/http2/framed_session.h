// FramedSession: HTTP/2 framing by hand (RFC 9113), with nghttp2's HPACK decoder. Why by hand: docs/decisions/0009.
//
// Frames are handled whole, where they lie in the received bytes. Answers are written as soon as they are known, in
// the order they become so; what a window holds back waits in its stream. Invariants:
//  - every stream in streams_ had on_stream() and will have on_closed(), which only send() calls;
//  - a stream is in finished_ exactly if its flow is `ended` or `gone`, and in blocked_ exactly if it is `blocked`,
//    which none of those is;
//  - held_ is the sum of what the streams in blocked_ hold, and at most limits_.held;
//  - once failed_ nothing is read, and the last frame written is a GOAWAY.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/http2/field_rules.h"
#include "frontends/http2/frame.h"
#include "frontends/http2/frame_writer.h"
#include "frontends/http2/header_decoder.h"
#include "frontends/http2/session.h"
#include "frontends/http2/stream_table.h"

namespace weir::http2 {

class FramedSession final : public Session {
 public:
  static constexpr std::size_t kMaxSettings = 32;      // in one frame
  static constexpr std::size_t kMaxContinuations = 4;  // of one block of header fields
  // Receiving stops after the frame that reaches one of these, so that send() is called.
  static constexpr std::size_t kMuchWritten = std::size_t{64} << 10;
  static constexpr std::size_t kManyFinished = 256;

  FramedSession(Events& events, const SessionLimits& limits, FloodGuard guard);

  std::optional<std::size_t> receive(std::string_view bytes) override;
  bool amid_fields() const override { return pieces_.stream != 0; }
  void send(std::string& out) override;
  void respond(Stream& stream, std::span<const Field> head, bool has_body) override;
  void resume(Stream& stream) override;
  void reset(Stream& stream, Error error) override;
  void ping() override;
  void announce_shutdown() override;
  void go_away(Error error) override;
  std::size_t held() const override { return held_; }
  bool finished() const override { return failed_ || ((left_ || peer_left_) && streams_.empty()); }

 private:
  // A block of header fields that came in pieces.
  struct Pieces {
    std::string block;
    std::int32_t stream = 0;  // 0: none is under way
    std::size_t continuations = 0;
    bool ends_request = false;
  };
  // The fields of the last request that had on_headers_end(), if the same bytes would mean the same again.
  struct Known {
    std::string block;
    std::int64_t content_length = -1;
  };

  bool should_send() const { return writer_.size() >= kMuchWritten || finished_.size() >= kManyFinished; }
  void on_frame(const FrameHead& head, std::string_view payload);
  void on_data(const FrameHead& head, std::string_view payload);
  void on_headers(const FrameHead& head, std::string_view payload);
  void on_continuation(const FrameHead& head, std::string_view payload);
  void on_rst_stream(const FrameHead& head, std::string_view payload);
  void on_settings(const FrameHead& head, std::string_view payload);
  void on_ping(const FrameHead& head, std::string_view payload);
  void on_goaway(const FrameHead& head, std::string_view payload);
  void on_window_update(const FrameHead& head, std::string_view payload);
  bool apply_setting(std::uint32_t setting, std::uint32_t value);
  bool set_peer_window(std::uint32_t window);

  void on_block(std::int32_t id, std::string_view block, bool ends_request);
  void begin_request(std::int32_t id, std::string_view block, bool ends_request);
  bool take_fields(Stream& stream, std::string_view block);
  void take_trailers(Stream& stream, std::string_view block, bool ends_request);
  bool skip_fields(std::string_view block);
  void refuse(std::int32_t id, std::string_view block);
  bool take_body(Stream& stream, std::string_view bytes);
  void end_request(Stream& stream);
  void count_received(std::size_t size);

  // False, and the connection failed, if there is more padding than payload.
  bool strip_padding(const FrameHead& head, std::string_view& payload);
  bool is_idle(std::int32_t id) const { return id > last_id_ || id % 2 == 0; }
  Stream* open_stream(std::int32_t id) const;

  void pump(Stream& stream);
  void pump_blocked();
  void hold(Stream& stream);
  void unblock(Stream& stream);
  void end_answer(Stream& stream);
  void reset_for_fault(Stream& stream, Error error);
  void drop(Stream& stream);
  void fail(Error error, std::string_view why);

  Events& events_;
  const SessionLimits limits_;
  // Of the connection and of each stream. Never below what a peer may assume before it has read our SETTINGS: it could
  // have sent more than it then may, and would wait for us while we wait for it.
  const std::int64_t own_window_;
  FloodGuard guard_;
  HeaderDecoder decoder_;
  FrameWriter writer_;
  StreamTable streams_;
  std::vector<Stream*> finished_;
  std::vector<Stream*> blocked_;
  std::size_t held_ = 0;
  Pieces pieces_;
  Known known_;
  std::int64_t send_window_;
  std::int64_t peer_window_;  // what each new stream begins with
  std::int64_t received_ = 0;
  std::int32_t last_id_ = 0;    // the highest that the peer has used
  std::int32_t served_id_ = 0;  // the highest that events were called for
  bool greeted_ = false;
  bool settings_seen_ = false;
  bool left_ = false;
  bool peer_left_ = false;
  bool failed_ = false;
};

}  // namespace weir::http2
