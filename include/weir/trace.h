// TraceContext: which distributed trace a request is part of, as W3C's Trace Context names it.
//
// Front ends take it from the header field `traceparent`, or make one for a request that they choose to trace.
// Observers see it with the decision (RequestContext).
#pragma once

#include <array>
#include <cstdint>

namespace weir {

using TraceId = std::array<std::uint8_t, 16>;
using SpanId = std::array<std::uint8_t, 8>;

struct TraceContext {
  TraceId trace{};
  SpanId parent{};       // the caller's span; all zero: the trace begins here
  bool sampled = false;  // its spans are recorded. False: only lines in logs name it
};

}  // namespace weir
