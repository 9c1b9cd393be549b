// W3C Trace Context: the field `traceparent`, and which requests without it are traced.
//
//   00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
//   version, trace, the caller's span, flags (01: sampled)
//
// Pure functions, and TraceChoice, which belongs to one event loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weir/trace.h"

namespace weir::observe {

// Nothing for anything that is not one. Versions after 00 are read as far as they are the same.
std::optional<TraceContext> parse_traceparent(std::string_view text);

// In hexadecimal digits.
std::string trace_id_text(const TraceId& id);

// SplitMix64: enough to tell traces apart, not to keep secrets.
class TraceRandom {
 public:
  explicit TraceRandom(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next();
  SpanId span();  // never all zero
  TraceId trace();

 private:
  std::uint64_t state_;
};

// Who is asked first decides: a request with a traceparent is traced as its flag says, of the others a share.
class TraceChoice {
 public:
  // `sample` is in parts of a million.
  TraceChoice(std::int64_t sample, std::uint64_t seed) : sample_(sample), random_(seed) {}

  // Null: no trace. Valid until the next call.
  const TraceContext* begin(std::string_view traceparent);

 private:
  const std::int64_t sample_;
  TraceRandom random_;
  TraceContext current_;
};

}  // namespace weir::observe
