// trace_of(): the trace that a request is part of, by its field `traceparent` (transport/tracing.h).
#pragma once

#include "base/ascii.h"
#include "frontends/http/http_message.h"
#include "frontends/transport/tracing.h"

namespace weir::http {

// `tracing` may be null: then no request is traced.
inline const TraceContext* trace_of(const HttpRequest& request, transport::Tracing* tracing) {
  if (tracing == nullptr) return nullptr;
  std::string_view found;
  std::size_t count = 0;
  for (const HttpField& field : request.fields) {
    if (!base::same_ignoring_case(field.name, transport::kTraceparent)) continue;
    found = field.value;
    ++count;
  }
  return tracing->begin(count == 1 ? found : std::string_view());
}

}  // namespace weir::http
