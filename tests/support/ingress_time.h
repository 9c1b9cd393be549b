// ToyIngressTime: trusts every time it is given, and records what it was asked.
#pragma once

#include <charconv>
#include <string>
#include <vector>

#include "frontends/transport/ingress_time.h"

namespace weir::transport {

class ToyIngressTime final : public IngressTime {
 public:
  std::string_view field_name() const override { return "x-request-start"; }
  // The value in microseconds.
  TimePoint read(std::size_t count, std::string_view value, const Peer& peer) override {
    asked.push_back(std::to_string(count) + " '" + std::string(value) + "' from " + peer.address);
    std::int64_t micros = 0;
    std::from_chars(value.data(), value.data() + value.size(), micros);
    return from_micros(micros);
  }

  std::vector<std::string> asked;
};

}  // namespace weir::transport
