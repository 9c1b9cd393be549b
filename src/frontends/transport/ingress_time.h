// IngressTime: when a gateway received a request, for front ends whose requests can carry that (docs/time.md). The
// front end finds the field; another room says whether it is trusted.
#pragma once

#include <cstddef>
#include <string_view>

#include "frontends/transport/protocol.h"
#include "weir/time.h"

namespace weir::transport {

// For one loop.
class IngressTime {
 public:
  virtual ~IngressTime() = default;
  // The field's name, in lower case.
  virtual std::string_view field_name() const = 0;
  // How many such fields the request has, and the value of the first. The epoch: the gateway's time does not count, and
  // our own clock says when.
  virtual TimePoint read(std::size_t count, std::string_view value, const Peer& peer) = 0;
};

}  // namespace weir::transport
