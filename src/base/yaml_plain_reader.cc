#include "base/yaml_plain_reader.h"

#include <yaml-cpp/anchor.h>

#include <algorithm>
#include <cstring>

namespace weir::base {
namespace {

// As yaml-cpp calls them.
const std::string kPlainTag = "?";
const std::string kQuotedTag = "!";

// yaml-cpp takes nothing longer for a key; far enough below that the last byte cannot matter.
constexpr std::ptrdiff_t kMaxKeyBytes = 1'000;

// Characters with which a plain text cannot begin, or with which it is something else as a rule.
bool may_begin_plain(char c, char next) {
  if (c == '-') return next != ' ' && next != '\n';
  return std::strchr(",[]{}#&*!|>'\"%@`?: \n", c) == nullptr;
}

bool is_null(std::string_view text) { return text == "~" || text == "null" || text == "Null" || text == "NULL"; }

// Longer texts than any rules file has are left to the bounds that the document sets for yaml-cpp.
constexpr std::size_t kMaxScalarBytes = std::size_t{64} << 10;

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7f; });
}

}  // namespace

PlainYamlReader::PlainYamlReader(std::string_view text, YAML::EventHandler& events)
    : at_(text.data()),
      end_(text.data() + text.size()),
      begin_(text.data()),
      line_start_(text.data()),
      events_(events) {}

bool PlainYamlReader::read() {
  const std::string_view text(begin_, static_cast<std::size_t>(end_ - begin_));
  if (text.starts_with("\xEF\xBB\xBF") || has_control_character(text)) return false;
  if (!skip_to_content() || at_end()) return false;
  if (column() == 0 && text.substr(static_cast<std::size_t>(at_ - begin_)).starts_with("---\n")) at_ += 3;
  started_ = true;
  return skip_to_content() && !at_end() && read_block_node(-1) && at_end();
}

YAML::Mark PlainYamlReader::mark() const {
  YAML::Mark mark;
  mark.pos = static_cast<int>(at_ - begin_);
  mark.line = line_;
  mark.column = column();
  return mark;
}

bool PlainYamlReader::at_document_marker() const {
  const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
  return started_ && column() == 0 && (rest.starts_with("---") || rest.starts_with("...") || rest.starts_with("%"));
}

void PlainYamlReader::skip_spaces() {
  while (at_ != end_ && *at_ == ' ') ++at_;
}

// Over spaces, comments and empty lines. Declines a document marker.
bool PlainYamlReader::skip_to_content() {
  for (;;) {
    skip_spaces();
    if (at_end()) return true;
    if (*at_ == '#') {
      if (at_ != line_start_ && at_[-1] != ' ') return false;
      const void* const newline = std::memchr(at_, '\n', static_cast<std::size_t>(end_ - at_));
      at_ = newline == nullptr ? end_ : static_cast<const char*>(newline);
      continue;
    }
    if (*at_ != '\n') return !at_document_marker();
    ++at_;
    ++line_;
    line_start_ = at_;
  }
}

// After a text or a flow collection that ends a line of a block: what follows must not belong to it.
bool PlainYamlReader::finish_line(int most_indent) {
  const int line = line_;
  if (!skip_to_content()) return false;
  return at_end() || (line_ != line && column() <= most_indent);
}

bool PlainYamlReader::read_block_node(int parent_indent) {
  if (at_sequence_entry()) return read_block_sequence();
  if (peek() == '{' || peek() == '[') return read_flow_node() && finish_line(parent_indent);
  Scalar scalar;
  if (!scan_block_scalar(scalar)) return false;
  if (at_key_end()) return read_block_map(scalar);
  report(scalar);
  return finish_line(parent_indent);
}

// Called behind its first key.
bool PlainYamlReader::read_block_map(const Scalar& first_key) {
  const int indent = first_key.mark.column;
  events_.OnMapStart(first_key.mark, kPlainTag, YAML::NullAnchor, YAML::EmitterStyle::Block);
  Scalar key = first_key;
  for (;;) {
    if (at_ - line_start_ - key.mark.column > kMaxKeyBytes) return false;
    report(key);
    ++at_;  // the colon
    if (!read_block_value(indent)) return false;
    if (at_end() || column() < indent) break;
    if (column() > indent || at_sequence_entry()) return false;
    if (peek() == '{' || peek() == '[' || !scan_block_scalar(key) || !at_key_end()) return false;
  }
  events_.OnMapEnd();
  return true;
}

bool PlainYamlReader::read_block_value(int indent) {
  const int line = line_;
  if (!skip_to_content() || at_end()) return false;
  if (line_ != line) {
    if (column() > indent) return read_block_node(indent);
    return column() == indent && at_sequence_entry() && read_block_sequence();
  }
  if (at_sequence_entry()) return false;
  if (peek() == '{' || peek() == '[') return read_flow_node() && finish_line(indent);
  Scalar value;
  if (!scan_block_scalar(value) || at_key_end()) return false;
  report(value);
  return finish_line(indent);
}

bool PlainYamlReader::read_block_sequence() {
  const int indent = column();
  events_.OnSequenceStart(mark(), kPlainTag, YAML::NullAnchor, YAML::EmitterStyle::Block);
  while (!at_end() && column() == indent && at_sequence_entry()) {
    ++at_;
    if (!skip_to_content() || at_end() || column() <= indent) return false;
    if (!read_block_node(indent)) return false;
    if (!at_end() && column() > indent) return false;
  }
  events_.OnSequenceEnd();
  return true;
}

bool PlainYamlReader::read_flow_node() {
  if (peek() == '{') return read_flow_map();
  if (peek() == '[') return read_flow_sequence();
  if (peek() != '"' && peek() != '\'') return read_flow_plain();
  Scalar scalar;
  if (!scan_scalar(scalar)) return false;
  report(scalar);
  return true;
}

bool PlainYamlReader::read_flow_plain() {
  Scalar scalar;
  scalar.mark = mark();
  if (!may_begin_plain(peek(), peek(1)) || (peek() == '-' && std::strchr(",]}", peek(1)) != nullptr)) return false;
  const char* const start = at_;
  while (!at_end() && std::strchr(",?[]{}\n", *at_) == nullptr) {
    if (*at_ == ':' && (is_blank(peek(1)) || std::strchr(",[]{}", peek(1)) != nullptr)) break;
    if (*at_ == '#' && at_[-1] == ' ') break;
    ++at_;
  }
  const char* last = at_;
  while (last[-1] == ' ') --last;
  text_.assign(start, last);
  if (text_.size() > kMaxScalarBytes) return false;
  report(scalar);
  return true;
}

// Called at the key, leaves off at the value.
bool PlainYamlReader::read_flow_key() {
  const char* const start = at_;
  const int line = line_;
  const bool quoted = peek() == '"' || peek() == '\'';
  if (peek() == '{' || peek() == '[' || !read_flow_node()) return false;
  const bool adjacent = quoted && peek() == ':';  // as in JSON: {"a":1}
  skip_spaces();
  if (at_end() || *at_ != ':' || !(adjacent || is_blank(peek(1))) || at_ - start > kMaxKeyBytes) return false;
  ++at_;
  return skip_to_content() && !at_end() && line_ == line;
}

bool PlainYamlReader::read_flow_map() {
  events_.OnMapStart(mark(), kPlainTag, YAML::NullAnchor, YAML::EmitterStyle::Flow);
  ++at_;
  if (!skip_to_content()) return false;
  for (bool first = true; peek() != '}' || at_end(); first = false) {
    if (!first) {
      if (at_end() || *at_ != ',') return false;
      ++at_;
      if (!skip_to_content()) return false;
    }
    if (at_end() || !read_flow_key() || !read_flow_node() || !skip_to_content()) return false;
  }
  ++at_;
  events_.OnMapEnd();
  return true;
}

bool PlainYamlReader::read_flow_sequence() {
  events_.OnSequenceStart(mark(), kPlainTag, YAML::NullAnchor, YAML::EmitterStyle::Flow);
  ++at_;
  if (!skip_to_content()) return false;
  for (bool first = true; peek() != ']' || at_end(); first = false) {
    if (!first) {
      if (at_end() || *at_ != ',') return false;
      ++at_;
      if (!skip_to_content()) return false;
    }
    if (at_end() || !read_flow_node() || !skip_to_content()) return false;
  }
  ++at_;
  events_.OnSequenceEnd();
  return true;
}

bool PlainYamlReader::scan_scalar(Scalar& scalar) {
  scalar.mark = mark();
  const char first = peek();
  scalar.plain = first != '"' && first != '\'';
  if (scalar.plain) return scan_plain() && text_.size() <= kMaxScalarBytes;
  ++at_;
  if (!(first == '"' ? scan_double_quoted() : scan_single_quoted())) return false;
  if (text_.size() > kMaxScalarBytes) return false;
  // Nothing but the end of the line, a comment, a colon or, in a flow collection, what goes on there.
  return at_end() || std::strchr(" \n:,]}", *at_) != nullptr;
}

bool PlainYamlReader::scan_block_scalar(Scalar& scalar) {
  if (!scan_scalar(scalar)) return false;
  if (!scalar.plain) skip_spaces();  // a colon may follow
  return true;
}

bool PlainYamlReader::scan_plain() {
  if (!may_begin_plain(peek(), peek(1))) return false;
  const char* const start = at_;
  while (!at_end() && *at_ != '\n') {
    if (*at_ == ':' && is_blank(peek(1))) break;
    if (*at_ == '#' && at_[-1] == ' ') break;
    ++at_;
  }
  const char* last = at_;
  while (last[-1] == ' ') --last;
  text_.assign(start, last);
  return true;
}

bool PlainYamlReader::scan_single_quoted() {
  text_.clear();
  for (; !at_end() && *at_ != '\n'; ++at_) {
    if (*at_ == '\'') {
      ++at_;
      if (at_end() || *at_ != '\'') return true;
    }
    text_ += *at_;
  }
  return false;
}

bool PlainYamlReader::scan_double_quoted() {
  text_.clear();
  for (; !at_end() && *at_ != '\n'; ++at_) {
    if (*at_ == '"') {
      ++at_;
      return true;
    }
    if (*at_ == '\\') {
      ++at_;
      if (at_end() || std::strchr("\\\"/", *at_) == nullptr) return false;
    }
    text_ += *at_;
  }
  return false;
}

void PlainYamlReader::report(const Scalar& scalar) {
  if (scalar.plain && is_null(text_)) return events_.OnNull(scalar.mark, YAML::NullAnchor);
  events_.OnScalar(scalar.mark, scalar.plain ? kPlainTag : kQuotedTag, YAML::NullAnchor, text_);
}

}  // namespace weir::base
