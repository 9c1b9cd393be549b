#include "frontends/resp/command_reader.h"

#include <cstdint>

#include "base/ascii.h"

namespace weir::resp {
namespace {

constexpr std::string_view kLineEnd = "\r\n";
// Enough for every length within the bounds, and too few to overflow.
constexpr std::size_t kMaxLengthDigits = 10;

enum class Length { read, incomplete, wrong };

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads "123\r\n" at `at` and moves past it.
Length read_length(std::string_view bytes, std::size_t& at, std::uint64_t& value) {
  std::size_t end = at;
  value = 0;
  while (end < bytes.size() && is_digit(bytes[end])) {
    if (end - at == kMaxLengthDigits) return Length::wrong;
    value = value * 10 + static_cast<std::uint64_t>(bytes[end] - '0');
    ++end;
  }
  const std::size_t digits = end - at;
  if (digits > 1 && bytes[at] == '0') return Length::wrong;
  if (end == bytes.size()) return Length::incomplete;
  if (digits == 0 || bytes[end] != '\r') return Length::wrong;
  if (end + 1 == bytes.size()) return Length::incomplete;
  if (bytes[end + 1] != '\n') return Length::wrong;
  at = end + kLineEnd.size();
  return Length::read;
}

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f' || c == '\0'; }

char escaped(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

}  // namespace

CommandReader::Found CommandReader::read(std::string_view bytes, const ReadLimits& limits) {
  if (bytes.empty() || bytes.size() < needed_) return Found::incomplete;
  needed_ = 0;
  arguments_.clear();
  return bytes.front() == '*' ? read_array(bytes, limits) : read_inline(bytes, limits);
}

CommandReader::Found CommandReader::read_array(std::string_view bytes, const ReadLimits& limits) {
  std::size_t at = 1;
  std::uint64_t count = 0;
  Length length = read_length(bytes, at, count);
  if (length == Length::incomplete) return incomplete(bytes.size() + 1);
  if (length == Length::wrong || count > limits.arguments) return malformed("invalid multibulk length");

  for (std::uint64_t i = 0; i < count; ++i) {
    if (at == bytes.size()) return incomplete(at + 1);
    if (bytes[at] != '$') return malformed("expected '$' before the length of an argument");
    ++at;
    std::uint64_t size = 0;
    length = read_length(bytes, at, size);
    if (length == Length::incomplete) return incomplete(bytes.size() + 1);
    if (length == Length::wrong || size > limits.bulk_bytes) return malformed("invalid bulk length");
    const std::size_t end = at + static_cast<std::size_t>(size);
    if (end + kLineEnd.size() > limits.command_bytes) return malformed("too big command");
    if (end + kLineEnd.size() > bytes.size()) return incomplete(end + kLineEnd.size());
    if (bytes[end] != '\r' || bytes[end + 1] != '\n') return malformed("expected CRLF after an argument");
    arguments_.push_back(bytes.substr(at, static_cast<std::size_t>(size)));
    at = end + kLineEnd.size();
  }
  consumed_ = at;
  return Found::command;
}

CommandReader::Found CommandReader::read_inline(std::string_view bytes, const ReadLimits& limits) {
  const std::size_t end = bytes.substr(0, limits.inline_bytes).find('\n');
  if (end == std::string_view::npos) {
    if (bytes.size() >= limits.inline_bytes) return malformed("too big inline request");
    return incomplete(bytes.size() + 1);
  }
  if (!split_line(bytes.substr(0, end))) return malformed("unbalanced quotes in request");
  if (arguments_.size() > limits.arguments) return malformed("too many arguments in an inline request");
  consumed_ = end + 1;
  return Found::command;
}

// Words apart by white space; "…" with escapes, '…' with \' only, and a closing quote ends its word.
bool CommandReader::split_line(std::string_view line) {
  unescaped_.clear();
  unescaped_.reserve(line.size());
  std::size_t at = 0;
  for (;;) {
    while (at < line.size() && is_space(line[at])) ++at;
    if (at == line.size()) return true;
    const std::size_t start = unescaped_.size();
    while (at < line.size() && !is_space(line[at])) {
      if (line[at] == '"' || line[at] == '\'') {
        if (!unquote(line, at)) return false;
        break;
      }
      unescaped_ += line[at++];
    }
    arguments_.push_back(std::string_view(unescaped_).substr(start));
  }
}

// Copies the quoted part that begins at `at`. A quote that does not close, or closes in mid-word, is refused.
bool CommandReader::unquote(std::string_view line, std::size_t& at) {
  const char quote = line[at++];
  while (at < line.size()) {
    const char c = line[at];
    if (c == quote) {
      ++at;
      return at == line.size() || is_space(line[at]);
    }
    const std::size_t left = line.size() - at;
    if (c == '\\' && quote == '\'' && left > 1 && line[at + 1] == '\'') {
      unescaped_ += '\'';
      at += 2;
    } else if (c == '\\' && quote == '"' && left > 3 && line[at + 1] == 'x' && base::hex_digit(line[at + 2]) >= 0 &&
               base::hex_digit(line[at + 3]) >= 0) {
      unescaped_ += static_cast<char>(base::hex_digit(line[at + 2]) * 16 + base::hex_digit(line[at + 3]));
      at += 4;
    } else if (c == '\\' && quote == '"' && left > 1) {
      unescaped_ += escaped(line[at + 1]);
      at += 2;
    } else {
      unescaped_ += c;
      ++at;
    }
  }
  return false;
}

}  // namespace weir::resp
