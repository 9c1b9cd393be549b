// Two sessions on the same bytes, for tests: a client's side made of random choices, right and wrong, and what came of
// it in FramedSession and in nghttp2's. Used by a test with random numbers and by a fuzz target with its own bytes.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "frontends/http2/session.h"
#include "tests/support/nghttp2_oracle.h"
#include "tests/support/raw_frames.h"

namespace weir::http2 {

// A number below `most`.
using Pick = std::function<std::uint64_t(std::uint64_t most)>;

// Records every event, and answers by the number of the stream: at the end of the request or before it, with
// and without a body, small or larger than a first window.
class Recorder final : public Events {
 public:
  using MakeSession = std::function<std::unique_ptr<Session>(Events&)>;

  explicit Recorder(const MakeSession& make) : session_(make(*this)) {}

  void receive(std::string_view bytes) {
    unread_ += bytes;
    while (offer() && !unread_.empty()) {
    }
  }
  void leave() {
    session_->go_away(Error::none);
    send();
  }
  bool finished() const { return session_->finished(); }
  // What the peer said of its table in SETTINGS: from then on it understands no answer that needs a larger one.
  void set_table_size(std::size_t bytes) { reader_.set_table_size(bytes); }
  // Of an answer, in memory.
  std::size_t kept(std::int32_t id) const { return exchanges_.at(id).body.size(); }

  // What a client saw of one stream. How a body is cut into frames is not part of it.
  struct Answer {
    std::map<std::string, std::string> fields;
    std::size_t body = 0;
    bool ended = false;
    std::set<std::uint32_t> resets;
    bool operator==(const Answer&) const = default;
  };
  std::vector<std::string> log;
  std::map<std::int32_t, Answer> answers;
  std::set<std::int32_t> closed;
  std::size_t most_open = 0;
  std::map<std::uint16_t, std::uint32_t> settings;  // as announced
  std::uint32_t pings = 0;
  std::uint32_t acknowledged = 0;
  std::uint64_t opened = 0;                // bytes of the connection's window
  std::vector<std::uint32_t> goaways;      // error codes
  std::vector<std::uint32_t> last_served;  // the streams that they name

 private:
  struct Exchange : Stream {
    Fields fields;
    bool open = true;
  };

  // True if there is reason to offer the rest.
  bool offer() {
    const std::optional<std::size_t> taken = session_->receive(unread_);
    if (!taken) {
      log.emplace_back("not HTTP/2");
      unread_.clear();
      return false;
    }
    unread_.erase(0, *taken);
    send();
    return *taken > 0;
  }
  Stream& on_stream(std::int32_t id) override {
    note(id, "begins");
    Exchange& exchange = exchanges_[id];
    exchange.id = id;
    most_open = std::max(most_open, exchanges_.size() - closed.size());
    return exchange;
  }
  void on_field(Stream& stream, std::string_view name, std::string_view value) override {
    static_cast<Exchange&>(stream).fields.emplace_back(name, value);
  }
  void on_same_fields(Stream& stream) override { static_cast<Exchange&>(stream).fields = last_fields_; }
  void on_headers_end(Stream& stream) override {
    Exchange& exchange = static_cast<Exchange&>(stream);
    last_fields_ = exchange.fields;
    for (const auto& [name, value] : exchange.fields) note(stream.id, name + "=" + value);
    note(stream.id, "headers end");
    if (stream.id % 8 == 5) answer(stream);
  }
  void on_headers_too_large(Stream& stream) override {
    note(stream.id, "too large after " + std::to_string(static_cast<Exchange&>(stream).fields.size()));
    answer(stream);
  }
  void on_body(Stream& stream, std::string_view bytes) override { bodies_[stream.id] += bytes; }
  void on_request_end(Stream& stream) override {
    // FramedSession does not report the end of a request whose answer was sent.
    if (stream.complete) return;
    note(stream.id, "body " + bodies_[stream.id]);
    note(stream.id, "ends");
    answer(stream);
  }
  void on_closed(Stream& stream) override {
    static_cast<Exchange&>(stream).open = false;
    closed.insert(stream.id);
    // A session that did not forget it would send this.
    stream.flow = {};
    stream.flow.send_window = 1000;
    stream.taken = 0;
    stream.body = "stale";
  }

  void note(std::int32_t id, std::string_view what) { log.push_back(std::to_string(id) + " " + std::string(what)); }

  void answer(Stream& stream) {
    if (stream.complete || !static_cast<Exchange&>(stream).open) return;
    static constexpr std::array<Field, 2> kHead = {Field{":status", "200"},
                                                   Field{"content-type", "application/grpc", true}};
    stream.complete = true;
    if (stream.id % 16 == 7) return session_->respond(stream, kHead, false);
    stream.body.assign(stream.id % 16 == 9 ? 100'000 : 100, 'a');
    if (stream.id % 16 != 11) stream.trailers.push_back({"grpc-status", "0", true});
    session_->respond(stream, kHead, true);
  }
  void send() {
    take_output();
    // What FramedSession does by itself: an answer that is out makes the rest of its request useless.
    for (auto& [id, exchange] : exchanges_) {
      if (exchange.open && !exchange.request_ended && answers[id].ended) session_->reset(exchange, Error::none);
    }
    take_output();
  }
  void take_output() {
    std::string out;
    session_->send(out);
    for (const Frame& frame : reader_.read(out)) {
      const bool ends = (frame.flags & NGHTTP2_FLAG_END_STREAM) != 0;
      Answer ignored;
      Answer& seen = frame.stream > 0 ? answers[frame.stream] : ignored;
      switch (frame.type) {
        case NGHTTP2_HEADERS:
          seen.fields.insert(frame.fields.begin(), frame.fields.end());
          seen.ended = seen.ended || ends;
          break;
        case NGHTTP2_DATA:
          seen.body += frame.payload.size();
          seen.ended = seen.ended || ends;
          break;
        case NGHTTP2_RST_STREAM:
          seen.resets.insert(frame.error());
          break;
        case NGHTTP2_PING:
          ++pings;
          break;
        case NGHTTP2_WINDOW_UPDATE:
          if (frame.stream == 0) opened += frame.number(0);
          break;
        case NGHTTP2_SETTINGS:
          acknowledged += frame.flags & NGHTTP2_FLAG_ACK;
          for (std::size_t at = 0; at < frame.payload.size(); at += 6) {
            settings[static_cast<std::uint16_t>(frame.number(at) >> 16)] = frame.number(at + 2);
          }
          break;
        case NGHTTP2_GOAWAY:
          goaways.push_back(frame.error());
          last_served.push_back(frame.number(0));
          break;
        default:
          break;
      }
    }
  }

  std::unique_ptr<Session> session_;
  std::map<std::int32_t, Exchange> exchanges_;
  std::map<std::int32_t, std::string> bodies_;
  Fields last_fields_;
  FrameReader reader_;
  std::string unread_;
};

// A client's bytes, step by step. Where RFC 9113 leaves a choice that nghttp2 and FramedSession take differently, the
// step is left out; session_oracle_test.cc has the list.
class Script {
 public:
  explicit Script(Pick pick) : pick_(std::move(pick)) { nghttp2_hd_deflate_new(&deflater_, 4096); }
  ~Script() { nghttp2_hd_deflate_del(deflater_); }
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  // With so much room on the connection that no stream waits for another: whose turn it is would be a choice too.
  static std::string greeting() {
    return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(NGHTTP2_SETTINGS, 0, 0, "") +
           frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(1U << 30, 4));
  }

  std::string step() {
    switch (pick_(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return whole_request();
      case 4:
        return begin_request();
      case 5:
      case 6:
        return frame(NGHTTP2_DATA, pick_(3) == 0 ? NGHTTP2_FLAG_END_STREAM : 0, some_stream(), some_body());
      case 7:
        return padded(NGHTTP2_DATA, pick_(2) == 0 ? NGHTTP2_FLAG_END_STREAM : 0, some_stream(), some_body());
      case 8:
        return frame(NGHTTP2_RST_STREAM, 0, some_stream(), big_endian(NGHTTP2_CANCEL, 4));
      case 9:
        return frame(NGHTTP2_WINDOW_UPDATE, 0, pick_(2) == 0 ? 0 : some_stream(), big_endian(1 + pick_(200'000), 4));
      case 10:
        return frame(NGHTTP2_PING, pick_(4) == 0 ? NGHTTP2_FLAG_ACK : 0, 0, "12345678");
      case 11:
        return settings();
      case 12:
        return frame(NGHTTP2_PRIORITY, 0, 1 + 2 * static_cast<std::int32_t>(pick_(50)), std::string(5, '\0'));
      case 13:
        return frame(static_cast<std::uint8_t>(20 + pick_(100)), static_cast<std::uint8_t>(pick_(256)),
                     static_cast<std::int32_t>(pick_(9)), std::string(pick_(20), 'u'));
      case 14:
        return trailers();
      default:
        return pick_(4) == 0 ? something_wrong() : whole_request();
    }
  }

 private:
  std::string whole_request() {
    const std::string body = some_body();
    if (pick_(5) == 0) return begin(NGHTTP2_FLAG_END_STREAM, pick_(4) == 0 ? std::optional(pick_(2)) : std::nullopt);
    const bool tell_length = pick_(4) == 0;
    std::string bytes = begin(0, tell_length ? std::optional(body.size() + (pick_(8) == 0 ? 1 : 0)) : std::nullopt);
    return bytes + frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, latest_, body);
  }
  std::string begin_request() { return begin(0, std::nullopt); }

  std::string begin(std::uint8_t flags, std::optional<std::size_t> length) {
    latest_ += 2 * static_cast<std::int32_t>(1 + pick_(2));
    Fields fields = {{":method", pick_(20) == 0 ? "GET" : "POST"},
                     {":scheme", "http"},
                     {":path", pick_(8) == 0 ? "/grpc.health.v1.Health/Check" : "/a.B/C"},
                     {":authority", "weir"},
                     {"content-type", "application/grpc"},
                     {"te", "trailers"}};
    // In trailers too: after them the same byte may mean another value.
    if (pick_(2) == 0) fields.emplace_back("x-checksum", std::to_string(pick_(40)));
    if (length) fields.emplace_back("content-length", std::to_string(*length));
    if (pick_(40) == 0) fields[pick_(6)] = {"Upper", "case"};
    if (pick_(40) == 0) fields.emplace_back("connection", "close");
    if (pick_(40) == 0) fields.emplace_back(":late", "x");
    if (pick_(40) == 0) fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(pick_(3)));
    // The client's table may be smaller than ours, and changes with the next block.
    if (pick_(20) == 0) nghttp2_hd_deflate_change_table_size(deflater_, pick_(2) == 0 ? 4096 : pick_(300));
    const std::string block = pick_(20) == 0 ? header_block(fields) : deflate(fields);
    if (pick_(6) == 0) return in_pieces(flags, block);
    if (pick_(6) == 0) return padded(NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS, latest_, block);
    if (pick_(6) == 0) {
      return frame(NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS | NGHTTP2_FLAG_PRIORITY, latest_,
                   std::string(5, '\0') + block);
    }
    return frame(NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS, latest_, block);
  }
  std::string in_pieces(std::uint8_t flags, const std::string& block) {
    const std::size_t middle = pick_(block.size());
    return frame(NGHTTP2_HEADERS, flags, latest_, block.substr(0, middle)) +
           frame(NGHTTP2_CONTINUATION, 0, latest_, "") +
           frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, latest_, block.substr(middle));
  }
  std::string trailers() {
    const Fields fields = {{"x-checksum", std::to_string(pick_(40))}};
    return frame(NGHTTP2_HEADERS,
                 static_cast<std::uint8_t>(NGHTTP2_FLAG_END_HEADERS | (pick_(8) == 0 ? 0 : NGHTTP2_FLAG_END_STREAM)),
                 some_stream(), deflate(fields));
  }
  std::string settings() {
    std::string payload;
    for (std::uint64_t i = pick_(3); i > 0; --i) {
      switch (pick_(5)) {
        case 0:
          payload += big_endian(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) + big_endian(pick_(200'000), 4);
          break;
        case 1:
          payload += big_endian(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 2) + big_endian(16384 + pick_(1000), 4);
          break;
        case 2:
          payload += big_endian(NGHTTP2_SETTINGS_ENABLE_PUSH, 2) + big_endian(0, 4);
          break;
        case 3:
          payload += big_endian(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, 2) + big_endian(pick_(3) * 100, 4);
          break;
        default:
          payload += big_endian(0x99, 2) + big_endian(pick_(1000), 4);
      }
    }
    return frame(NGHTTP2_SETTINGS, 0, 0, payload);
  }
  // Each of these is the connection's end.
  std::string something_wrong() {
    switch (pick_(15)) {
      case 0:
        return frame(NGHTTP2_PING, 0, 0, "short");
      case 1:
        return frame(NGHTTP2_PING, 0, 1, "12345678");
      case 2:
        return frame(NGHTTP2_SETTINGS, 0, 1, "");
      case 3:
        return frame(NGHTTP2_SETTINGS, 0, 0, "odd");
      case 4:
        return frame(NGHTTP2_SETTINGS, 0, 0, big_endian(NGHTTP2_SETTINGS_ENABLE_PUSH, 2) + big_endian(2, 4));
      case 5:
        return frame(NGHTTP2_SETTINGS, 0, 0,
                     big_endian(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 2) + big_endian(0x80000000U, 4));
      case 6:
        return frame(NGHTTP2_SETTINGS, 0, 0, big_endian(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 2) + big_endian(100, 4));
      case 7:
        return frame(NGHTTP2_DATA, 0, 0, "x");
      case 8:
        return frame(NGHTTP2_DATA, 0, latest_ + 2, "x");
      case 9:
        return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, 0, header_block({{"a", "b"}}));
      case 10:
        return frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, latest_ + 2, "\xff\xff\xff\xff\xff\xff");
      case 11:
        return frame(NGHTTP2_RST_STREAM, 0, latest_ + 2, big_endian(NGHTTP2_CANCEL, 4));
      case 12:
        return frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(0, 4));
      case 13:
        return frame(NGHTTP2_WINDOW_UPDATE, 0, 0, big_endian(0x7fffffff, 4));
      default:
        return frame(NGHTTP2_CONTINUATION, NGHTTP2_FLAG_END_HEADERS, latest_, "\x82");
    }
  }

  std::string padded(std::uint8_t type, std::uint8_t flags, std::int32_t stream, const std::string& payload) {
    const std::size_t padding = pick_(20);
    return frame(type, static_cast<std::uint8_t>(flags | NGHTTP2_FLAG_PADDED), stream,
                 static_cast<char>(padding) + payload + std::string(padding, '\0'));
  }
  std::string deflate(const Fields& fields) {
    std::vector<nghttp2_nv> values;
    for (const auto& [name, value] : fields) {
      values.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                        reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                        NGHTTP2_NV_FLAG_NONE});
    }
    std::string out(nghttp2_hd_deflate_bound(deflater_, values.data(), values.size()), '\0');
    const ssize_t size = nghttp2_hd_deflate_hd(deflater_, reinterpret_cast<std::uint8_t*>(out.data()), out.size(),
                                               values.data(), values.size());
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return out;
  }
  // One that was begun, most likely a recent one.
  std::int32_t some_stream() {
    const std::int32_t back = 2 * static_cast<std::int32_t>(pick_(4));
    return std::max(latest_ - back, 1);
  }
  std::string some_body() { return std::string(pick_(12) == 0 ? 9000 : pick_(40), 'b'); }

  Pick pick_;
  nghttp2_hd_deflater* deflater_ = nullptr;
  std::int32_t latest_ = -1;
};

}  // namespace weir::http2
