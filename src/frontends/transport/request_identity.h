// RequestIdentity: who is asking, for front ends whose callers send the attributes themselves (docs/identity.md). The
// front end hands over what was sent; another room turns it into what rules see, or refuses it.
//
//   std::vector<std::size_t> refused;
//   if (const auto fault = identify(*identity, requests, refused)) return send_error(fault->index, fault->refusal);
//   ask(limiter, Action::take, requests, …);       // without the refused ones
//   each_in_order(decisions, refused, [&](const Decision& decision) { write(decision); });
//
// A front end without a RequestIdentity passes attributes on as they are.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/decision.h"
#include "weir/request.h"

namespace weir::transport {

// Why a request is refused before any rule is evaluated. Refers to what was sent.
struct RequestRefusal {
  bool malformed = false;      // else the credentials in it were not accepted
  std::string_view attribute;  // empty: none in particular
  std::string_view text;       // fits behind the attribute's name: "is not an IP address"
  // "requests[2].attributes.ip: is not an IP address": `where`, then, if there is one, `prefix` and the attribute's
  // name, which is cut if it is long.
  std::string message(std::string_view where, std::string_view prefix) const;
};

struct IdentifiedAttributes {
  std::span<const Attribute> attributes;
  std::size_t derived = 0;  // as in Request
};

// For one loop: requests are kept until the next begin().
class RequestIdentity {
 public:
  virtual ~RequestIdentity() = default;

  virtual void begin() = 0;
  // Keeps what becomes of a client's request, unless it is refused.
  virtual std::optional<RequestRefusal> add(std::span<const Attribute> sent) = 0;
  // The same for one of several descriptors of a client's request; only one of them need have the token.
  virtual std::optional<RequestRefusal> add_descriptor(std::span<const Attribute> sent) = 0;
  // After the last descriptor.
  virtual std::optional<RequestRefusal> end_descriptors() = 0;
  // The i-th that was kept, after the last one.
  virtual IdentifiedAttributes identified(std::size_t i) const = 0;
};

struct MalformedRequest {
  std::size_t index = 0;
  RequestRefusal refusal;
};

// Gives each request its identified attributes. Requests whose credentials are not accepted are taken out; `refused`
// has the places where they were. On a malformed request the others are as they were.
std::optional<MalformedRequest> identify(RequestIdentity& identity, std::vector<Request>& requests,
                                         std::vector<std::size_t>& refused);
// The same for one request.
std::optional<RequestRefusal> identify(RequestIdentity& identity, Request& request);

// The decision on a request whose credentials are not accepted.
Decision refused_decision();

// The decisions on all requests, in the order in which they were sent.
template <typename Take>
void each_in_order(std::span<const Decision> decisions, std::span<const std::size_t> refused, Take&& take) {
  std::size_t at = 0;
  for (const Decision& decision : decisions) {
    for (; !refused.empty() && refused.front() == at; ++at, refused = refused.subspan(1)) take(refused_decision());
    take(decision);
    ++at;
  }
  for (std::size_t i = 0; i < refused.size(); ++i) take(refused_decision());
}

}  // namespace weir::transport
