// Envoy's rate limit service, as plain data between its two notations (protobuf in rls_wire.h, proto-JSON in
// rls_json.h) and the limiter (rls_decider.h).
//
// An RlsRequest only refers to the bytes it was read from. Both types are reused from call to call: clear() keeps their
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/transport/request_identity.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::envoy {

// More descriptors than any gateway sends; each costs a decision.
inline constexpr std::size_t kMaxDescriptors = 256;

// Numbered as in envoy.service.ratelimit.v3.RateLimitResponse.RateLimit.Unit.
enum class RlsUnit : std::uint8_t { unknown, second, minute, hour, day, month, year, week };

// 0 for unknown. Months have 30 days and years 365, as in envoyproxy/ratelimit.
Duration unit_window(RlsUnit unit);
// The unit that is exactly `window` long, or unknown.
RlsUnit unit_of(Duration window);
std::string_view unit_name(RlsUnit unit);

struct RlsDescriptor {
  // RlsRequest::attributes[first] is the domain; the entries are the `entries` that follow it.
  std::size_t first = 0;
  std::size_t entries = 0;
  std::size_t derived = 0;  // after them, attributes that identity has added
  bool has_hits = false;
  std::uint64_t hits = 0;
  bool negative = false;
  bool has_override = false;
  std::uint32_t override_limit = 0;
  std::int32_t override_unit = 0;
};

struct RlsRequest {
  std::string_view domain;
  std::uint32_t hits_addend = 0;
  std::vector<Attribute> attributes;
  std::vector<RlsDescriptor> descriptors;
  TimePoint ingress{};                  // as in Request
  const TraceContext* trace = nullptr;  // as in Request

  void clear();
  // Puts `domain` where each descriptor expects it. The last step of reading.
  void spread_domain();
  // Without the derived ones.
  std::span<const Attribute> attributes_of(const RlsDescriptor& descriptor) const {
    return {attributes.data() + descriptor.first, descriptor.entries + 1};
  }
  std::span<const Attribute> all_attributes_of(const RlsDescriptor& descriptor) const {
    return {attributes.data() + descriptor.first, descriptor.entries + 1 + descriptor.derived};
  }
  // What the wire format allows and the service does not.
  Status check() const;
};

// A call that identity refuses.
struct RlsRefusal {
  std::size_t descriptor = 0;
  bool malformed = false;
};

struct RlsStatus {
  bool over_limit = false;
  bool has_limit = false;  // limit, unit and name mean something
  std::uint32_t limit = 0;
  RlsUnit unit = RlsUnit::unknown;
  std::string_view name;  // the rule's id; lives as long as the limiter
  std::uint32_t remaining = 0;
  bool has_reset = false;
  std::chrono::seconds reset_after{0};  // rounded up: Envoy sends its clients whole seconds
};

// The response headers that Envoy may be asked to add, in the order in which they are written.
enum class RlsHeader : std::uint8_t {
  rate_limit_policy,
  rate_limit,
  retry_after,
  x_limit,
  x_remaining,
  x_reset,
  legacy_limit,
  legacy_remaining,
  legacy_reset,
};
inline constexpr std::array<std::string_view, 9> kRlsHeaderNames = {
    "RateLimit-Policy",  "RateLimit",       "Retry-After",         "X-RateLimit-Limit", "X-RateLimit-Remaining",
    "X-RateLimit-Reset", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset",
};

struct RlsAnswer {
  bool over_limit = false;
  std::vector<RlsStatus> statuses;                          // one for each descriptor, in order
  std::array<std::string, kRlsHeaderNames.size()> headers;  // by RlsHeader; an empty one is left out
  std::string body;                                         // that Envoy answers with; empty: its own
  std::string weir_status;  // of a call that identity refuses: the status that the HTTP API would have

  std::string& header(RlsHeader which) { return headers[static_cast<std::size_t>(which)]; }
  const std::string& header(RlsHeader which) const { return headers[static_cast<std::size_t>(which)]; }
  void clear();
};

// Gives each descriptor its identified attributes.
std::optional<RlsRefusal> identify(transport::RequestIdentity& identity, RlsRequest& request);
// OVER_LIMIT: to Envoy an error is an allow, and clients must not be able to cause one.
RlsAnswer refusal_answer(const RlsRefusal& refusal, std::size_t descriptors);

}  // namespace weir::envoy
