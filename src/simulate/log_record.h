// LogRecord: one request of an access log, as its line says it.
//
// Refers to the line and to the parser that filled it; both must stay until it was used. Reused between lines, so that
// its lists keep their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "weir/time.h"

namespace weir::simulate {

struct LogField {
  std::string_view name;
  std::string_view value;
};

// The most fields and header fields that are kept of one line; the rest is ignored.
inline constexpr std::size_t kMaxLogFields = 64;

struct LogRecord {
  TimePoint time{};
  std::string_view address;    // of the client or proxy that sent the request, without a port; empty: not logged
  std::string_view forwarded;  // the list in X-Forwarded-For, if it is logged
  std::string_view method;
  std::string_view target;  // path and query
  std::string_view host;
  std::string_view scheme;
  std::string_view cost;          // empty: 1
  std::int64_t status = 0;        // of the answer; 0: not logged
  std::vector<LogField> headers;  // of the request
  std::vector<LogField> fields;   // all that has a name of its own, for --map

  void clear() {
    time = {};
    address = forwarded = method = target = host = scheme = cost = {};
    status = 0;
    headers.clear();
    fields.clear();
  }
  void add_field(std::string_view name, std::string_view value) {
    if (!value.empty() && fields.size() < kMaxLogFields) fields.push_back({name, value});
  }
  void add_header(std::string_view name, std::string_view value) {
    if (!value.empty() && headers.size() < kMaxLogFields) headers.push_back({name, value});
  }
};

// A line, or a text that a number is expected in, has this many readable bytes behind it.
inline constexpr std::size_t kLinePadding = 64;

// Reads the lines of one format. Not thread-safe: it keeps what it learned from the last line.
class LineParser {
 public:
  virtual ~LineParser() = default;
  // Null: `record` is filled. Else what is wrong, a phrase that does not change; `record` then means nothing.
  // Precondition: kLinePadding bytes behind the line can be read.
  virtual const char* parse(std::string_view line, LogRecord& record) = 0;
};

}  // namespace weir::simulate
