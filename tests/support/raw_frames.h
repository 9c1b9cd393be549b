// Raw HTTP/2 frames for tests: written by hand, so that they can also be wrong, and read back with nghttp2's decoder.
#pragma once

#include <nghttp2/nghttp2.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::http2 {

using Fields = std::vector<std::pair<std::string, std::string>>;

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

// Literal fields without indexing, so that every block is self-contained.
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

// Reads what one connection was sent, in order. Good blocks are all it understands: fields of a bad one are missing.
class FrameReader {
 public:
  FrameReader() { nghttp2_hd_inflate_new(&inflater_); }
  ~FrameReader() { nghttp2_hd_inflate_del(inflater_); }
  FrameReader(const FrameReader&) = delete;
  FrameReader& operator=(const FrameReader&) = delete;

  std::vector<Frame> read(std::string_view bytes) {
    std::vector<Frame> frames;
    std::size_t at = 0;
    while (at + 9 <= bytes.size()) {
      Frame next;
      std::size_t size = 0;
      for (std::size_t i = 0; i < 3; ++i) size = size << 8 | static_cast<unsigned char>(bytes[at + i]);
      next.type = static_cast<std::uint8_t>(bytes[at + 3]);
      next.flags = static_cast<std::uint8_t>(bytes[at + 4]);
      for (std::size_t i = 5; i < 9; ++i) next.stream = next.stream << 8 | static_cast<unsigned char>(bytes[at + i]);
      next.payload = bytes.substr(at + 9, size);
      if (next.type == NGHTTP2_HEADERS) inflate(next.payload, next.fields);
      frames.push_back(std::move(next));
      at += 9 + size;
    }
    return frames;
  }
  // False: the block makes no sense.
  bool inflate(std::string_view block, std::map<std::string, std::string>& fields) {
    const auto* in = reinterpret_cast<const std::uint8_t*>(block.data());
    std::size_t left = block.size();
    while (true) {
      nghttp2_nv field;
      int flags = 0;
      const ssize_t count = nghttp2_hd_inflate_hd2(inflater_, &field, &flags, in, left, 1);
      if (count < 0) return false;
      in += count;
      left -= static_cast<std::size_t>(count);
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields[std::string(reinterpret_cast<char*>(field.name), field.namelen)] =
            std::string(reinterpret_cast<char*>(field.value), field.valuelen);
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_);
        return true;
      }
    }
  }
  void set_table_size(std::size_t bytes) { nghttp2_hd_inflate_change_table_size(inflater_, bytes); }

 private:
  nghttp2_hd_inflater* inflater_ = nullptr;
};

}  // namespace weir::http2
