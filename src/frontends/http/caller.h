// Caller and CallerRefusal: the result of identifying the caller of a client's request, for every front end that
// gateways use. Plain data; the code that makes them says how long their texts are valid.
#pragma once

#include <span>
#include <string_view>

#include "weir/request.h"
#include "weir/time.h"

namespace weir::http {

// The attributes of a client's request. Valid until the reader reads again.
struct Caller {
  std::span<const Attribute> attributes{};
  Cost cost{};
  TimePoint ingress{};  // as in Request
};

// Why a request is refused before any rule is evaluated. The texts are sent to the client.
struct CallerRefusal {
  int status = 400;  // 400 or 401
  std::string_view detail{};
};

}  // namespace weir::http
