#include "stores/redis/resp.h"

#include <charconv>
#include <cstring>

#include "base/ascii.h"

namespace weir::redis {
namespace {

bool parse_integer(std::string_view text, std::int64_t& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

CommandWriter::CommandWriter(std::string& out, std::size_t words) : out_(out) {
  out_ += '*';
  base::append_number(out_, static_cast<std::int64_t>(words));
  out_ += "\r\n";
}

CommandWriter& CommandWriter::word(std::string_view text) {
  out_ += '$';
  base::append_number(out_, static_cast<std::int64_t>(text.size()));
  out_ += "\r\n";
  out_ += text;
  out_ += "\r\n";
  return *this;
}

CommandWriter& CommandWriter::number(std::int64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return word({digits, static_cast<std::size_t>(end - digits)});
}

bool is_error(const ReplyItem& item, std::string_view word) {
  return item.kind == ReplyKind::error && item.text.starts_with(word) &&
         (item.text.size() == word.size() || item.text[word.size()] == ' ');
}

void ReplyReader::add(std::string_view bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  buffer_ += bytes;
}

ReplyReader::Progress ReplyReader::next() {
  items_.clear();
  if (taken_ == buffer_.size()) return Progress::incomplete;
  std::size_t at = taken_;
  const Progress progress = read_item(at, 0);
  if (progress == Progress::complete) taken_ = at;
  if (progress == Progress::incomplete && buffer_.size() - taken_ > kMaxReplyBytes) return Progress::broken;
  return progress;
}

void ReplyReader::clear() {
  taken_ = 0;
  buffer_.clear();
  items_.clear();
}

ReplyReader::Progress ReplyReader::read_line(std::size_t& at, std::string_view& line) {
  const std::size_t end = buffer_.find('\r', at);
  if (end == std::string::npos || end + 1 == buffer_.size()) return Progress::incomplete;
  if (buffer_[end + 1] != '\n') return Progress::broken;
  line = std::string_view(buffer_).substr(at, end - at);
  at = end + 2;
  return Progress::complete;
}

ReplyReader::Progress ReplyReader::read_item(std::size_t& at, std::size_t depth) {
  if (depth > kMaxDepth || static_cast<std::int64_t>(items_.size()) >= kMaxItems) return Progress::broken;
  std::string_view line;
  if (const Progress progress = read_line(at, line); progress != Progress::complete) return progress;
  if (line.empty()) return Progress::broken;
  const char type = line.front();
  line.remove_prefix(1);
  if (type == '+' || type == '-') {
    items_.push_back({type == '+' ? ReplyKind::text : ReplyKind::error, 0, line});
    return Progress::complete;
  }
  std::int64_t number = 0;
  if (!parse_integer(line, number)) return Progress::broken;
  switch (type) {
    case ':':
      items_.push_back({ReplyKind::integer, number, {}});
      return Progress::complete;
    case '$':
      return read_bulk(at, number);
    case '*':
      return read_array(at, number, depth);
    default:
      return Progress::broken;
  }
}

ReplyReader::Progress ReplyReader::read_bulk(std::size_t& at, std::int64_t length) {
  if (length == -1) {
    items_.push_back({});
    return Progress::complete;
  }
  if (length < 0 || length > static_cast<std::int64_t>(kMaxReplyBytes)) return Progress::broken;
  const auto size = static_cast<std::size_t>(length);
  if (buffer_.size() - at < size + 2) return Progress::incomplete;
  if (std::memcmp(buffer_.data() + at + size, "\r\n", 2) != 0) return Progress::broken;
  items_.push_back({ReplyKind::text, 0, {buffer_.data() + at, size}});
  at += size + 2;
  return Progress::complete;
}

ReplyReader::Progress ReplyReader::read_array(std::size_t& at, std::int64_t count, std::size_t depth) {
  if (count == -1) {
    items_.push_back({});
    return Progress::complete;
  }
  if (count < 0 || count > kMaxItems) return Progress::broken;
  items_.push_back({ReplyKind::array, count, {}});
  for (std::int64_t i = 0; i < count; ++i) {
    if (const Progress progress = read_item(at, depth + 1); progress != Progress::complete) return progress;
  }
  return Progress::complete;
}

}  // namespace weir::redis
