// PlainYamlReader: reads the YAML that people and generators write most (block and flow collections, plain and quoted
// texts on one line, comments) at a small fraction of what yaml-cpp takes, which matters for files of megabytes.
//
// It reports the same events, marks and order as yaml-cpp, or nothing that counts: read() is false for a text with
// anything unusual or wrong in it, and yaml-cpp must then read the text from its beginning. So no text is read in
// another way than yaml-cpp reads it, and all errors are yaml-cpp's. yaml_plain_reader_test.cc and
// tests/fuzz/yaml_fuzz.cc compare the two.
//
// Declined: tabs, carriage returns and other control characters, directives, several documents, anchors, aliases, tags,
// block scalars, explicit keys, texts and keys over several lines, missing values, most escapes, trailing commas.
//
// Used by one thread. Exceptions of the handler pass through.
#pragma once

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/mark.h>

#include <string>
#include <string_view>

namespace weir::base {

class PlainYamlReader {
 public:
  // Refers to both. The text must be valid UTF-8 without NUL.
  PlainYamlReader(std::string_view text, YAML::EventHandler& events);

  // Once. False: what was reported so far means nothing.
  bool read();

 private:
  struct Scalar {
    YAML::Mark mark;
    bool plain = true;
  };

  // Each of these is called at the first character of what it reads, and leaves off at the first character of what
  // follows: the next token in a flow collection, the next line with contents in a block. False: declined.
  bool read_block_node(int parent_indent);
  bool read_block_map(const Scalar& first_key);
  bool read_block_value(int indent);
  bool read_block_sequence();
  bool read_flow_node();
  bool read_flow_map();
  bool read_flow_sequence();
  bool read_flow_key();
  bool read_flow_plain();

  // Reads into text_; nothing is reported yet.
  bool scan_scalar(Scalar& scalar);
  bool scan_block_scalar(Scalar& scalar);
  bool scan_plain();
  bool scan_single_quoted();
  bool scan_double_quoted();
  void report(const Scalar& scalar);

  bool finish_line(int most_indent);
  bool skip_to_content();
  void skip_spaces();

  bool at_end() const { return at_ == end_; }
  char peek(std::size_t ahead = 0) const { return static_cast<std::size_t>(end_ - at_) > ahead ? at_[ahead] : '\n'; }
  bool at_sequence_entry() const { return peek() == '-' && is_blank(peek(1)); }
  bool at_key_end() const { return !at_end() && peek() == ':' && is_blank(peek(1)); }
  bool at_document_marker() const;
  int column() const { return static_cast<int>(at_ - line_start_); }
  YAML::Mark mark() const;
  static bool is_blank(char c) { return c == ' ' || c == '\n'; }

  const char* at_;
  const char* const end_;
  const char* const begin_;
  const char* line_start_;
  int line_ = 0;
  bool started_ = false;  // the document has: a marker would begin another
  YAML::EventHandler& events_;
  std::string text_;  // of the scalar scanned last
};

}  // namespace weir::base
