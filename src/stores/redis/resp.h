// RESP2, the protocol that Redis speaks: commands are written by CommandWriter, answers read by ReplyReader.
//
// Neither does any I/O. Every size that a server may announce has a bound; beyond it the stream counts as broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

// Appends one command to `out`. Exactly `words` calls of word() or number() must follow.
class CommandWriter {
 public:
  CommandWriter(std::string& out, std::size_t words);
  CommandWriter& word(std::string_view text);
  CommandWriter& number(std::int64_t value);

 private:
  std::string& out_;
};

enum class ReplyKind : std::uint8_t { nil, integer, text, error, array };

struct ReplyItem {
  ReplyKind kind = ReplyKind::nil;
  std::int64_t number = 0;  // integer: its value; array: how many items follow in it
  std::string_view text;    // text, error
};

// One complete answer, flat: an array is followed by its items, nested ones likewise. Valid until the reader goes on.
using Reply = std::span<const ReplyItem>;

// True for an error whose first word is `word`, such as "MOVED".
bool is_error(const ReplyItem& item, std::string_view word);

class ReplyReader {
 public:
  static constexpr std::size_t kMaxReplyBytes = std::size_t{4} << 20;
  static constexpr std::int64_t kMaxItems = 200'000;
  static constexpr std::size_t kMaxDepth = 8;

  enum class Progress : std::uint8_t { complete, incomplete, broken };

  void add(std::string_view bytes);

  // Takes the next answer from what was received. The views of the last one end here.
  Progress next();
  Reply reply() const { return items_; }

  void clear();

 private:
  Progress read_item(std::size_t& at, std::size_t depth);
  Progress read_line(std::size_t& at, std::string_view& line);
  Progress read_bulk(std::size_t& at, std::int64_t length);
  Progress read_array(std::size_t& at, std::int64_t count, std::size_t depth);

  std::string buffer_;
  std::size_t taken_ = 0;  // bytes before this belong to answers already given out
  std::vector<ReplyItem> items_;
};

}  // namespace weir::redis
