// H2Peer: the other side of a gRPC connection for tests, made of raw frames so that it can also misbehave.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc/grpc_server.h"
#include "tests/support/raw_frames.h"
#include "tests/support/toy_link.h"

namespace weir::grpc {

using http2::big_endian;
using http2::Fields;
using http2::frame;
using http2::Frame;
using http2::header_block;

inline Fields call_fields(std::string_view path) {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", std::string(path)},
          {":authority", "weir"},
          {"content-type", "application/grpc"},
          {"te", "trailers"}};
}

inline std::string grpc_message(std::string_view payload, char compressed = 0) {
  return compressed + big_endian(payload.size(), 4) + std::string(payload);
}

class H2Peer {
 public:
  static constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

  H2Peer(Limiter& limiter, const GrpcOptions& options) : link(std::make_shared<ToyLink>()) {
    protocol = grpc_protocols(limiter, options)(*link);
  }

  // As a connection does it: what is left over is offered again with more after it.
  void send(std::string_view bytes) {
    unread_ += bytes;
    const std::size_t count = protocol->on_bytes(unread_);
    consumed += count;
    unread_.erase(0, count);
  }
  void greet(std::string_view settings = {}) {
    send(kPreface);
    send(frame(NGHTTP2_SETTINGS, 0, 0, settings));
    receive();
  }
  void send_call(std::int32_t stream, std::string_view path, std::string_view body) {
    send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(call_fields(path))) +
         frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, body));
  }

  // Everything sent since the last look.
  std::vector<Frame> receive() { return reader_.read(link->take_output()); }
  // What one stream was sent: its header fields and trailers together, and its messages.
  struct Answer {
    std::map<std::string, std::string> fields;
    std::string body;
    bool ended = false;
    bool reset = false;
    std::uint32_t reset_error = 0;
  };
  std::map<std::int32_t, Answer> receive_answers() {
    std::map<std::int32_t, Answer> answers;
    for (const Frame& next : receive()) {
      if (next.stream == 0) continue;
      Answer& answer = answers[next.stream];
      answer.fields.insert(next.fields.begin(), next.fields.end());
      if (next.type == NGHTTP2_DATA) answer.body += next.payload;
      if (next.type == NGHTTP2_RST_STREAM) {
        answer.reset = true;
        answer.reset_error = next.error();
      } else if ((next.type == NGHTTP2_DATA || next.type == NGHTTP2_HEADERS) &&
                 (next.flags & NGHTTP2_FLAG_END_STREAM) != 0) {
        answer.ended = true;
      }
    }
    return answers;
  }

  std::shared_ptr<ToyLink> link;
  std::unique_ptr<transport::Protocol> protocol;
  std::size_t consumed = 0;

 private:
  http2::FrameReader reader_;
  std::string unread_;
};

}  // namespace weir::grpc
