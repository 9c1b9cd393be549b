// H2Peer: the other side of a gRPC connection for tests, made of raw frames so that it can also misbehave.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frontends/grpc/grpc_server.h"
#include "frontends/grpc/toy_link.h"

namespace weir::grpc {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Frame {
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
  std::int32_t stream = 0;
  std::string payload;
  std::map<std::string, std::string> fields;  // of HEADERS, decoded

  // The error code of RST_STREAM or GOAWAY.
  std::uint32_t error() const { return number(type == NGHTTP2_GOAWAY ? 4 : 0); }
  std::uint32_t number(std::size_t at) const {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(payload.at(at + i));
    return value;
  }
};

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = bytes - 1; i >= 0; --i) out += static_cast<char>(value >> (8 * i));
  return out;
}

inline std::string frame(std::uint8_t type, std::uint8_t flags, std::int32_t stream, std::string_view payload) {
  std::string out = big_endian(payload.size(), 3);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  out += big_endian(static_cast<std::uint32_t>(stream), 4);
  out += payload;
  return out;
}

// Literal fields without indexing, so that every block stands for itself.
inline std::string header_block(const Fields& fields) {
  const auto text = [](const std::string& value) {
    std::string out;
    std::size_t size = value.size();
    if (size < 127) {
      out += static_cast<char>(size);
    } else {
      out += '\x7f';
      for (size -= 127; size >= 128; size >>= 7) out += static_cast<char>(size | 128);
      out += static_cast<char>(size);
    }
    return out + value;
  };
  std::string out;
  for (const auto& [name, value] : fields) out += '\0' + text(name) + text(value);
  return out;
}

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
    nghttp2_hd_inflate_new(&inflater_);
  }
  ~H2Peer() { nghttp2_hd_inflate_del(inflater_); }
  H2Peer(const H2Peer&) = delete;
  H2Peer& operator=(const H2Peer&) = delete;

  void send(std::string_view bytes) { consumed += protocol->on_bytes(bytes); }
  void greet() {
    send(kPreface);
    send(frame(NGHTTP2_SETTINGS, 0, 0, ""));
    receive();
  }
  void send_call(std::int32_t stream, std::string_view path, std::string_view body) {
    send(frame(NGHTTP2_HEADERS, NGHTTP2_FLAG_END_HEADERS, stream, header_block(call_fields(path))) +
         frame(NGHTTP2_DATA, NGHTTP2_FLAG_END_STREAM, stream, body));
  }

  // Everything sent since the last look.
  std::vector<Frame> receive() {
    std::vector<Frame> frames;
    const std::string bytes = link->take_output();
    std::size_t at = 0;
    while (at + 9 <= bytes.size()) {
      Frame next;
      std::size_t size = 0;
      for (std::size_t i = 0; i < 3; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
      next.type = static_cast<std::uint8_t>(bytes[at + 3]);
      next.flags = static_cast<std::uint8_t>(bytes[at + 4]);
      for (std::size_t i = 5; i < 9; ++i) next.stream = next.stream << 8 | static_cast<unsigned char>(bytes[at + i]);
      next.payload = bytes.substr(at + 9, size);
      if (next.type == NGHTTP2_HEADERS) inflate(next);
      frames.push_back(std::move(next));
      at += 9 + size;
    }
    return frames;
  }
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
  std::unique_ptr<frontends::Protocol> protocol;
  std::size_t consumed = 0;

 private:
  void inflate(Frame& headers) {
    auto* in = reinterpret_cast<std::uint8_t*>(headers.payload.data());
    std::size_t left = headers.payload.size();
    while (true) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t read = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, in, left, 1);
      if (read < 0) break;
      in += read;
      left -= static_cast<std::size_t>(read);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        headers.fields[std::string(reinterpret_cast<char*>(field.name), field.namelen)] =
            std::string(reinterpret_cast<char*>(field.value), field.valuelen);
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        break;
      }
    }
  }

  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace weir::grpc
