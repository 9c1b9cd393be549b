// FrameWriter: the frames that a server sends, gathered until they are taken.
#pragma once

#include <cassert>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/http2/frame.h"
#include "frontends/http2/header_encoder.h"
#include "frontends/http2/session.h"

namespace weir::http2 {

class FrameWriter {
 public:
  static constexpr std::size_t kPingBytes = 8;

  void settings(std::span<const std::pair<Setting, std::uint32_t>> settings) {
    append_frame_head(out_, settings.size() * 6, FrameType::settings, 0, 0);
    for (const auto& [setting, value] : settings) {
      append_u16(out_, static_cast<std::uint32_t>(setting));
      append_u32(out_, value);
    }
  }
  void settings_ack() { append_frame_head(out_, 0, FrameType::settings, kAck, 0); }
  // `payload` has kPingBytes.
  void ping(std::string_view payload, bool ack) {
    append_frame_head(out_, kPingBytes, FrameType::ping, ack ? kAck : 0, 0);
    out_.append(payload);
  }
  void goaway(std::int32_t last_id, Error error, std::string_view why) {
    append_frame_head(out_, 8 + why.size(), FrameType::goaway, 0, 0);
    append_u32(out_, static_cast<std::uint32_t>(last_id));
    append_u32(out_, static_cast<std::uint32_t>(error));
    out_.append(why);
  }
  void rst_stream(std::int32_t id, Error error) {
    append_frame_head(out_, 4, FrameType::rst_stream, 0, id);
    append_u32(out_, static_cast<std::uint32_t>(error));
  }
  void window_update(std::int32_t id, std::int64_t size) {
    append_frame_head(out_, 4, FrameType::window_update, 0, id);
    append_u32(out_, static_cast<std::uint32_t>(size));
  }
  void data(std::int32_t id, std::string_view bytes, bool ends) {
    append_frame_head(out_, bytes.size(), FrameType::data, ends ? kEndStream : 0, id);
    out_.append(bytes);
  }
  // Fields of an answer fit in one frame: their values are bounded where they are made.
  void headers(std::int32_t id, std::span<const Field> fields, bool ends) {
    const std::size_t start = out_.size();
    append_frame_head(out_, 0, FrameType::headers, kEndHeaders | (ends ? kEndStream : 0), id);
    encoder_.encode(out_, fields);
    const std::size_t length = out_.size() - start - kFrameHeadBytes;
    assert(length <= kMaxPayload);
    write_length(out_.data() + start, length);
  }

  void set_header_table(std::size_t bytes) { encoder_.set_table_size(bytes); }

  std::size_t size() const { return out_.size(); }
  // Appends everything written since the last time.
  void take(std::string& out) {
    if (out.empty()) return out.swap(out_);
    out.append(out_);
    out_.clear();
  }

 private:
  HeaderEncoder encoder_;
  std::string out_;
};

}  // namespace weir::http2
