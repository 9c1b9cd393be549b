// Tracing: which distributed trace a request belongs to (weir/trace.h), for front ends whose requests can say so in the
// field `traceparent` (docs/observability.md). The front end finds the field; another room reads it, and chooses which
// of the requests without it are traced.
#pragma once

#include <cstddef>
#include <string_view>

#include "weir/trace.h"

namespace weir::transport {

inline constexpr std::string_view kTraceparent = "traceparent";
// "00-<32 digits>-<16 digits>-<2 digits>", and the first byte of what later versions may add.
inline constexpr std::size_t kTraceparentBytes = 56;

// For one loop.
class Tracing {
 public:
  virtual ~Tracing() = default;
  // `traceparent` is empty if the request has none, or several. Null: the request is part of no trace. Stays valid
  // until the next call.
  virtual const TraceContext* begin(std::string_view traceparent) = 0;
};

}  // namespace weir::transport
