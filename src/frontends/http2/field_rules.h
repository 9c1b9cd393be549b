// FieldRules: which header fields make a well-formed request (RFC 9113, section 8). One object per block, fed field by
// field in the order they came.
#pragma once

#include <cstdint>
#include <string_view>

namespace weir::http2 {

class FieldRules {
 public:
  enum class Block : std::uint8_t { request, trailers };

  explicit FieldRules(Block block) : block_(block) {}

  // False: the request is malformed.
  [[nodiscard]] bool accept(std::string_view name, std::string_view value);
  // False: something that every request has is missing. Asked behind the last field.
  [[nodiscard]] bool complete() const;
  // -1: none given.
  std::int64_t content_length() const { return content_length_; }

 private:
  bool accept_pseudo(std::string_view name, std::string_view value);
  bool accept_content_length(std::string_view value);

  const Block block_;
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
