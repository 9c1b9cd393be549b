// FieldRules: which header fields make a well-formed request (RFC 9113, section 8). One object per block, fed field by
// field in the order they came.
//
// Also detects where a block becomes too large: one byte of it may represent a field of the table's whole size, so what
// follows that point is not read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::http2 {

class FieldRules {
 public:
  enum class Block : std::uint8_t { request, trailers };
  // What HTTP/2 counts for a field besides its bytes.
  static constexpr std::size_t kFieldOverhead = 32;

  FieldRules(Block block, std::size_t most_bytes) : block_(block), bytes_left_(most_bytes) {}

  // False: this field and all after it do not count, because the request is malformed or its fields are too large.
  [[nodiscard]] bool accept(std::string_view name, std::string_view value) {
    if (too_large_ || malformed_) return false;
    const std::size_t bytes = name.size() + value.size() + kFieldOverhead;
    too_large_ = bytes > bytes_left_;
    if (too_large_) return false;
    bytes_left_ -= bytes;
    malformed_ = !well_formed(name, value);
    return !malformed_;
  }
  bool too_large() const { return too_large_; }
  // False: the request is malformed. Called after the last field.
  [[nodiscard]] bool good() const { return !malformed_ && complete(); }
  // -1: none given.
  std::int64_t content_length() const { return content_length_; }

 private:
  bool well_formed(std::string_view name, std::string_view value);
  bool complete() const;
  bool accept_pseudo(std::string_view name, std::string_view value);
  bool accept_content_length(std::string_view value);

  const Block block_;
  std::size_t bytes_left_;
  bool too_large_ = false;
  bool malformed_ = false;
  bool regular_seen_ = false;
  bool method_ = false;
  bool scheme_ = false;
  bool authority_ = false;
  bool path_ = false;
  bool connect_ = false;
  bool options_ = false;
  bool path_is_star_ = false;
  std::int64_t content_length_ = -1;
};

}  // namespace weir::http2
