// ingress_of(): when a gateway received a request, if its header fields say so and are trusted (ingress_time.h).
#pragma once

#include "base/ascii.h"
#include "frontends/http/http_message.h"
#include "frontends/transport/ingress_time.h"

namespace weir::http {

// `times` may be null: then no request has such a time.
inline TimePoint ingress_of(const HttpRequest& request, const transport::Peer& peer, transport::IngressTime* times) {
  if (times == nullptr) return {};
  std::size_t count = 0;
  std::string_view first;
  for (const HttpField& field : request.fields) {
    if (!base::same_ignoring_case(field.name, times->field_name())) continue;
    if (count++ == 0) first = field.value;
  }
  return times->read(count, first, peer);
}

}  // namespace weir::http
