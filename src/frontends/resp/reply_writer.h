// ReplyWriter: appends one answer in the Redis protocol, version 2 or 3, to a string.
//
// Version 3 has types of its own for maps, sets and null; version 2 gets flat arrays and the null bulk string, so a
// caller says what it means and both kinds of client get what they expect. Not thread-safe; refers to the string.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weir::resp {

enum class RespVersion : std::uint8_t { two = 2, three = 3 };

class ReplyWriter {
 public:
  ReplyWriter(std::string& out, RespVersion version) : out_(out), version_(version) {}

  void simple(std::string_view text) {
    out_ += '+';
    line(text);
  }
  // `text` begins with a code word, as in "ERR no such thing". Line breaks, which would end the answer, become spaces.
  void error(std::string_view text) {
    out_ += '-';
    const std::size_t start = out_.size();
    out_ += text;
    for (std::size_t i = start; i < out_.size(); ++i) {
      if (out_[i] == '\r' || out_[i] == '\n') out_[i] = ' ';
    }
    out_ += "\r\n";
  }
  void integer(std::int64_t value) { number(':', value); }
  void bulk(std::string_view bytes) {
    number('$', static_cast<std::int64_t>(bytes.size()));
    line(bytes);
  }
  void null() { out_ += version_ == RespVersion::three ? "_\r\n" : "$-1\r\n"; }

  // Followed by `size` values.
  void array(std::size_t size) { number('*', static_cast<std::int64_t>(size)); }
  void set(std::size_t size) { number(version_ == RespVersion::three ? '~' : '*', static_cast<std::int64_t>(size)); }
  // Followed by `size` pairs of values.
  void map(std::size_t size) {
    if (version_ == RespVersion::three) return number('%', static_cast<std::int64_t>(size));
    number('*', static_cast<std::int64_t>(size) * 2);
  }

  // An array of integers in one piece.
  template <std::size_t N>
  void integers(const std::int64_t (&values)[N]) {
    static_assert(N < 10);
    char text[4 + N * kMaxNumber];
    char* end = text;
    *end++ = '*';
    *end++ = static_cast<char>('0' + N);
    *end++ = '\r';
    *end++ = '\n';
    for (const std::int64_t value : values) end = put_number(end, ':', value);
    out_.append(text, static_cast<std::size_t>(end - text));
  }

  RespVersion version() const { return version_; }

 private:
  static constexpr std::size_t kMaxNumber = 1 + 20 + 2;  // type, sign and digits, CRLF

  static char* put_number(char* at, char type, std::int64_t value) {
    *at++ = type;
    at = std::to_chars(at, at + 20, value).ptr;
    *at++ = '\r';
    *at++ = '\n';
    return at;
  }
  void number(char type, std::int64_t value) {
    char text[kMaxNumber];
    out_.append(text, static_cast<std::size_t>(put_number(text, type, value) - text));
  }
  void line(std::string_view text) {
    out_ += text;
    out_ += "\r\n";
  }

  std::string& out_;
  const RespVersion version_;
};

}  // namespace weir::resp
