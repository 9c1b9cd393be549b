// OTLP: spans as an ExportTraceServiceRequest of the OpenTelemetry protocol, in protobuf's wire format. The fields are
// those of opentelemetry/proto/trace/v1/trace.proto; their numbers are in otlp.cc. A pure function.
#pragma once

#include <span>
#include <string>

#include "observe/span.h"

namespace weir::observe {

// Where the spans come from.
struct OtlpResource {
  std::string version;   // of the program
  std::string instance;  // the node's name
  std::string region;    // empty: none
};

std::string encode_otlp(std::span<const Span> spans, const OtlpResource& resource);

}  // namespace weir::observe
