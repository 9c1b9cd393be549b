// Writing JSON at the end of a string, into room made beforehand.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace weir::render {

// Writes at the end of a string, into room that was made beforehand, so that a piece costs a comparison and a copy.
// Every piece checks the room before it is written; more room is made when an estimate was too small. finish() gives
// the rest back and must be called.
class RoomWriter {
 public:
  // The most that one number takes, and one JSON string of `size` bytes.
  static constexpr std::size_t kNumber = 20;
  static constexpr std::size_t json_string_room(std::size_t size) { return 6 * size + 2; }

  RoomWriter(std::string& out, std::size_t room) : out_(out) {
    const std::size_t before = out.size();
    out.resize(before + room);
    at_ = out.data() + before;
    end_ = at_ + room;
  }

  template <std::size_t N>
  void literal(const char (&text)[N]) {
    ensure(N - 1);
    std::memcpy(at_, text, N - 1);
    at_ += N - 1;
  }
  void text(std::string_view text) {
    if (text.empty()) return;  // it may be null, which memcpy() must not be given
    ensure(text.size());
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void number(std::int64_t value) {
    ensure(kNumber);
    if (value >= 0 && value < 10) {
      *at_++ = static_cast<char>('0' + value);
    } else {
      at_ = std::to_chars(at_, at_ + kNumber, value).ptr;
    }
  }
  // With quotes, as base::append_json_string().
  void json_string(std::string_view text);

  void finish() {
    out_.resize(static_cast<std::size_t>(at_ - out_.data()));
    end_ = at_;
  }

 private:
  void ensure(std::size_t bytes) {
    if (static_cast<std::size_t>(end_ - at_) < bytes) [[unlikely]]
      grow(bytes);
  }
  void grow(std::size_t bytes);

  std::string& out_;
  char* at_;
  char* end_;  // of the room
};

}  // namespace weir::render
