// Nghttp2Oracle: a Session that leaves everything to nghttp2. For tests: FramedSession must report the same events.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <new>
#include <vector>

#include "frontends/http2/session.h"

namespace weir::http2 {

class Nghttp2Oracle final : public Session {
 public:
  Nghttp2Oracle(Events& events, const SessionLimits& limits, FloodGuard guard)
      : events_(events), guard_(std::move(guard)) {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_option* option = nullptr;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) throw std::bad_alloc();
    if (nghttp2_option_new(&option) != 0) {
      nghttp2_session_callbacks_del(callbacks);
      throw std::bad_alloc();
    }
    set_callbacks(callbacks);
    nghttp2_option_set_no_closed_streams(option, 1);
    nghttp2_option_set_max_settings(option, kMaxSettingsEntries);
    nghttp2_option_set_max_outbound_ack(option, kMaxQueuedAcks);
    nghttp2_option_set_max_continuations(option, kMaxContinuations);
    nghttp2_option_set_stream_reset_rate_limit(option, kNoLimit, kNoLimit);
    const int made = nghttp2_session_server_new2(&session_, callbacks, this, option);
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    if (made != 0) throw std::bad_alloc();
    announce(limits);
  }
  ~Nghttp2Oracle() override { nghttp2_session_del(session_); }
  Nghttp2Oracle(const Nghttp2Oracle&) = delete;
  Nghttp2Oracle& operator=(const Nghttp2Oracle&) = delete;

  std::optional<std::size_t> receive(std::string_view bytes) override {
    if (broken_) return bytes.size();
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (taken >= 0) return bytes.size();
    if (taken == NGHTTP2_ERR_BAD_CLIENT_MAGIC) return std::nullopt;
    const bool flood = flooded_ || taken == NGHTTP2_ERR_FLOODED || taken == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
    nghttp2_session_terminate_session(session_, flood ? NGHTTP2_ENHANCE_YOUR_CALM : NGHTTP2_INTERNAL_ERROR);
    broken_ = true;
    return bytes.size();
  }

  bool amid_fields() const override { return false; }  // nghttp2 does not tell

  void send(std::string& out) override {
    while (true) {
      const std::uint8_t* data = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &data);
      if (size <= 0) {
        if (size < 0) broken_ = true;
        return;
      }
      out.append(reinterpret_cast<const char*>(data), static_cast<std::size_t>(size));
    }
  }

  void respond(Stream& stream, std::span<const Field> head, bool has_body) override {
    const std::vector<nghttp2_nv> fields = to_nv(head);
    nghttp2_data_provider provider{};
    provider.source.ptr = &stream;
    provider.read_callback = read_body;
    nghttp2_submit_response(session_, stream.id, fields.data(), fields.size(), has_body ? &provider : nullptr);
    guard_.served();
  }

  void resume(Stream& stream) override { nghttp2_session_resume_data(session_, stream.id); }

  void reset(Stream& stream, Error error) override {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream.id, static_cast<std::uint32_t>(error));
  }

  void ping() override { nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr); }
  void announce_shutdown() override { nghttp2_submit_shutdown_notice(session_); }
  void go_away(Error error) override {
    nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                          static_cast<std::uint32_t>(error), nullptr, 0);
  }
  std::size_t held() const override { return 0; }
  bool finished() const override {
    return broken_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
  }

 private:
  static constexpr std::size_t kMaxSettingsEntries = 32;
  static constexpr std::size_t kMaxQueuedAcks = 512;
  static constexpr std::size_t kMaxContinuations = 4;
  // nghttp2 has a reset limit of its own; FloodGuard is asked instead.
  static constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 40;

  static std::string_view view(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
  }
  // nghttp2 takes non-const pointers and, with these flags, only reads.
  static std::vector<nghttp2_nv> to_nv(std::span<const Field> fields) {
    std::vector<nghttp2_nv> made;
    for (const Field& field : fields) {
      made.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.name.data())),
                      reinterpret_cast<std::uint8_t*>(const_cast<char*>(field.value.data())), field.name.size(),
                      field.value.size(), NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE});
    }
    return made;
  }

  void announce(const SessionLimits& limits) {
    const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streams},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.header_list},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.window},
    };
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings, std::size(settings));
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(limits.window));
  }

  static void set_callbacks(nghttp2_session_callbacks* callbacks) {
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
  }

  static Nghttp2Oracle& self(void* user) { return *static_cast<Nghttp2Oracle*>(user); }
  // Events of one stream come in a row, so the last one found is nearly always the one wanted.
  Stream* stream(std::int32_t id) {
    if (id != latest_id_) {
      latest_ = static_cast<Stream*>(nghttp2_session_get_stream_user_data(session_, id));
      latest_id_ = id;
    }
    return latest_;
  }
  void forget_latest() {
    latest_id_ = 0;
    latest_ = nullptr;
  }

  // Frames of unknown types do not pass here: nghttp2 skips them, and they cost no more than their bytes.
  static int on_begin_frame(nghttp2_session*, const nghttp2_frame_hd* head, void* user) {
    Nghttp2Oracle& session = self(user);
    bool allowed = true;
    switch (head->type) {
      case NGHTTP2_HEADERS:
      case NGHTTP2_CONTINUATION:
        break;
      case NGHTTP2_DATA:
        if (head->length == 0 && (head->flags & NGHTTP2_FLAG_END_STREAM) == 0) allowed = session.guard_.allow_control();
        break;
      case NGHTTP2_RST_STREAM:
        allowed = session.guard_.allow_reset();
        break;
      default:
        allowed = session.guard_.allow_control();
    }
    if (allowed) return 0;
    session.flooded_ = true;
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  static int on_begin_headers(nghttp2_session* nghttp2, const nghttp2_frame* frame, void* user) {
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Nghttp2Oracle& session = self(user);
    Stream& stream = session.events_.on_stream(frame->hd.stream_id);
    nghttp2_session_set_stream_user_data(nghttp2, frame->hd.stream_id, &stream);
    session.forget_latest();
    return 0;
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_size,
                       const std::uint8_t* value, std::size_t value_size, std::uint8_t, void* user) {
    Nghttp2Oracle& session = self(user);
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    Stream* const stream = session.stream(frame->hd.stream_id);
    if (stream != nullptr) session.events_.on_field(*stream, view(name, name_size), view(value, value_size));
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type != NGHTTP2_DATA && frame->hd.type != NGHTTP2_HEADERS) return 0;
    Nghttp2Oracle& session = self(user);
    Stream* const stream = session.stream(frame->hd.stream_id);
    if (stream == nullptr) return 0;
    const bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (ends) stream->request_ended = true;
    if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
      session.events_.on_headers_end(*stream);
    }
    if (ends) session.events_.on_request_end(*stream);
    return 0;
  }

  static int on_data(nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* data, std::size_t size,
                     void* user) {
    Nghttp2Oracle& session = self(user);
    Stream* const stream = session.stream(id);
    if (stream != nullptr) session.events_.on_body(*stream, view(data, size));
    return 0;
  }

  static int on_close(nghttp2_session*, std::int32_t id, std::uint32_t, void* user) {
    Nghttp2Oracle& session = self(user);
    Stream* const stream = session.stream(id);
    session.forget_latest();
    if (stream != nullptr) session.events_.on_closed(*stream);
    return 0;
  }

  static ssize_t read_body(nghttp2_session* nghttp2, std::int32_t id, std::uint8_t* room, std::size_t size,
                           std::uint32_t* flags, nghttp2_data_source* source, void*) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const std::size_t count = std::min(size, stream.body.size() - stream.taken);
    std::copy_n(stream.body.data() + stream.taken, count, reinterpret_cast<char*>(room));
    stream.taken += count;
    if (stream.taken < stream.body.size()) return static_cast<ssize_t>(count);
    stream.body.clear();
    stream.taken = 0;
    if (!stream.complete && count == 0) return NGHTTP2_ERR_DEFERRED;
    if (!stream.complete) return static_cast<ssize_t>(count);
    *flags = NGHTTP2_DATA_FLAG_EOF;
    if (stream.trailers.empty()) return static_cast<ssize_t>(count);
    *flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
    const std::vector<nghttp2_nv> trailers = to_nv({stream.trailers.data(), stream.trailers.size()});
    if (nghttp2_submit_trailer(nghttp2, id, trailers.data(), trailers.size()) != 0) {
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return static_cast<ssize_t>(count);
  }

  Events& events_;
  FloodGuard guard_;
  nghttp2_session* session_ = nullptr;
  std::int32_t latest_id_ = 0;
  Stream* latest_ = nullptr;
  bool flooded_ = false;
  bool broken_ = false;
};

}  // namespace weir::http2
