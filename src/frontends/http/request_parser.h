// RequestParser: HTTP/1.0 and 1.1 requests from a contiguous buffer, strictly and without copying.
//
// What two implementations could read in two ways is refused, because request smuggling depends on it:
// bare CR or LF, folded lines, space before a colon, both or repeated framing fields, odd transfer codings.
//
// parse() is given all bytes from the first one of a message, each time with more behind them. It remembers how far it
// came, so feeding byte by byte costs no more than feeding at once, and gives the same answers. It stops once at
// `head`: the caller then says with allow_body() how large a body this request may have, and calls parse() again.
//
// Not thread-safe; one per connection. After `complete` or `failed`: reset().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/http/http_message.h"

namespace weir::http {

struct HttpError {
  int status = 400;
  const char* detail = "";
};

class RequestParser {
 public:
  enum class State { need_more, head, complete, failed };

  explicit RequestParser(const HttpLimits& limits) : limits_(limits) {}

  State parse(std::string_view bytes);
  void allow_body(std::size_t bytes) { body_limit_ = bytes; }

  // At `head` without its body; at `complete` whole. Refers to the bytes last given to parse().
  const HttpRequest& request() const { return request_; }
  // At `head`: the client waits for "100 Continue" before it sends the body.
  bool expects_continue() const { return expects_continue_; }
  // From `head` on: the length of the request line and the fields; 0 before.
  std::size_t head_bytes() const { return head_end_; }
  // From `head` on: the body comes in chunks, or its length.
  bool chunked() const { return chunked_; }
  std::size_t content_length() const { return chunked_ ? 0 : static_cast<std::size_t>(length_); }
  // As allow_body() said.
  std::size_t body_limit() const { return body_limit_; }
  // At `complete`: the length of the message.
  std::size_t consumed() const { return scan_; }
  // At `failed`. The connection cannot go on: where the next message begins is unknown.
  const HttpError& error() const { return error_; }
  // True when a message has begun.
  bool begun() const { return phase_ != Phase::request_line || scan_ > 0 || partial_; }
  void reset();

 private:
  enum class Phase : std::uint8_t { request_line, fields, head, sized_body, chunk_size, chunk_data, trailers };
  // A view that survives the buffer's moves.
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
    std::string_view in(std::string_view bytes) const { return bytes.substr(begin, size); }
  };
  struct FieldRange {
    Range name;
    Range value;
  };
  enum class Line { none, found, bad };

  State fail(int status, const char* detail);
  Line next_line(std::string_view bytes, std::size_t limit, std::string_view& line);
  bool parse_request_line(std::string_view bytes, std::string_view line);
  bool parse_target(std::string_view bytes, std::string_view target);
  bool parse_version(std::string_view version);
  bool parse_field(std::string_view bytes, std::string_view line);
  bool note_field(std::string_view name, std::string_view value);
  bool note_content_length(std::string_view value);
  bool note_connection(std::string_view value);
  bool finish_head();
  State enter_body(std::string_view bytes);
  State parse_sized_body(std::string_view bytes);
  State parse_chunks(std::string_view bytes);
  bool parse_chunk_size(std::string_view line);
  bool chunk_overhead_fits() const;
  State complete(std::string_view bytes, std::string_view body);
  void refer_to(std::string_view bytes);
  static Range range(std::string_view bytes, std::string_view part) {
    return {static_cast<std::uint32_t>(part.data() - bytes.data()), static_cast<std::uint32_t>(part.size())};
  }

  const HttpLimits limits_;
  Phase phase_ = Phase::request_line;
  bool partial_ = false;        // bytes of a line that has no end yet
  bool skipped_blank_ = false;  // one empty line before the request is forgiven
  std::size_t scan_ = 0;        // all before is dealt with
  std::size_t line_scan_ = 0;   // no line end between scan_ and here
  std::size_t head_end_ = 0;
  std::size_t trailers_begin_ = 0;
  std::size_t body_limit_ = 0;

  Range method_;
  Range path_;
  Range query_;
  std::vector<FieldRange> field_ranges_;
  std::vector<HttpField> fields_;
  bool absolute_target_ = false;
  bool has_host_ = false;
  bool has_length_ = false;
  bool chunked_ = false;
  bool asks_close_ = false;
  bool asks_keep_alive_ = false;
  bool expects_continue_ = false;
  std::uint64_t length_ = 0;  // of the body, or of the chunk's rest
  std::string decoded_;       // a chunked body

  const char* referred_ = nullptr;  // the bytes that request_ refers to
  HttpRequest request_;
  HttpError error_;
};

}  // namespace weir::http
