// CommandReader: finds one command at the start of the received bytes, in the Redis protocol's two forms.
//
//   *2\r\n$4\r\nECHO\r\n$2\r\nhi\r\n        an array of bulk strings, what every client sends
//   ECHO "hi there"\r\n                      inline, what a person types into telnet
//
// Strict and bounded: lengths are plain decimals, each bulk ends in CRLF, and a length over its bound is refused when
// it is announced, before any of it is waited for. Nothing is copied but inline arguments, which may carry escapes.
//
// Not thread-safe. Arguments are views into the bytes (or into the reader) and live until the next read().
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::resp {

struct ReadLimits {
  std::size_t arguments;
  std::size_t bulk_bytes;
  std::size_t command_bytes;  // the whole array, framing included
  std::size_t inline_bytes;
};

// Limits for a peer that has not logged in: a login is short.
inline constexpr ReadLimits kStrangerLimits{10, std::size_t{1} << 10, std::size_t{12} << 10, std::size_t{4} << 10};
inline constexpr ReadLimits kClientLimits{1024, std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{64} << 10};

class CommandReader {
 public:
  enum class Found { command, incomplete, malformed };

  // `bytes` begins with a command; after `incomplete` it must be offered again from the same start.
  Found read(std::string_view bytes, const ReadLimits& limits);

  // After `command`. No arguments: an empty line or array, which asks for nothing and gets no answer.
  std::span<const std::string_view> arguments() const { return arguments_; }
  std::size_t consumed() const { return consumed_; }

  // After `malformed`, the error for the peer. Nothing that it sends afterwards is read.
  std::string_view complaint() const { return complaint_; }

 private:
  Found read_array(std::string_view bytes, const ReadLimits& limits);
  Found read_inline(std::string_view bytes, const ReadLimits& limits);
  bool split_line(std::string_view line);
  bool unquote(std::string_view line, std::size_t& at);

  Found incomplete(std::size_t needed) {
    needed_ = needed;
    return Found::incomplete;
  }
  Found malformed(std::string_view complaint) {
    complaint_ = complaint;
    return Found::malformed;
  }

  std::vector<std::string_view> arguments_;
  std::string unescaped_;   // inline arguments; grown before use, so that views into it stay valid
  std::size_t needed_ = 0;  // fewer bytes than this cannot complete the command: not worth reading again
  std::size_t consumed_ = 0;
  std::string_view complaint_;
};

}  // namespace weir::resp
