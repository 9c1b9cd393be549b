// Request: what a caller asks about. Attributes are an ordered list of name and value, and names may repeat (Envoy
// sends `generic_key` twice); a rule matches if any value of that name does.
//
// A Request only refers to its strings. They must stay alive during the call that takes the Request, not longer:
// a limiter that answers later has copied what it needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

#include "weir/bucket_key.h"
#include "weir/time.h"

namespace weir {

struct TraceContext;

struct Attribute {
  std::string_view name;
  std::string_view value;
};

// Bounds that every front end enforces. The engine checks the number of attributes, and the cost, again.
inline constexpr std::size_t kMaxAttributes = 64;
inline constexpr std::size_t kMaxAttributeName = 128;
inline constexpr std::size_t kMaxAttributeValue = 4096;

// An amount to charge. Its own type, so that a cost is never mistaken for a limit or a time.
struct Cost {
  std::int64_t units = 1;
};

// A question by those who run the limiter, not by one of its clients: the answer shows hidden rules too.
struct OperatorView {
  std::span<const std::string_view> rules;  // only these rules are asked; empty: all that the request matches
};

// A call that is to be charged once, however often it is made. A store that several nodes share keeps, in the same
// atomic step, what it has answered: the same id gets that answer again, and is charged nothing.
struct Once {
  BucketKey id{};    // a keyed hash of whose call it is; zero: the call is charged each time
  Duration keep{0};  // how long the answer is kept

  explicit operator bool() const { return id != BucketKey{}; }
  // For one of several parts of the call.
  Once at(std::size_t index) const { return {{id.high, id.low + index}, keep}; }
};

struct Request {
  std::span<const Attribute> attributes;
  Cost cost;
  bool peek = false;  // report the state, charge nothing
  // When a gateway that the caller trusts received this, for a store that is configured to use it (docs/time.md).
  // The epoch: not known, and the clock says when.
  TimePoint ingress{};
  // How many of the attributes, at the end, the server has added to those that were sent. A rule with a descriptor,
  // which must fit the whole request, is found without them.
  std::size_t derived = 0;
  // Null: a client's. Must stay alive like the attributes.
  const OperatorView* by_operator = nullptr;
  // Names this request, so that a strict quota that was taken for it is not taken again when it is sent again: a hash
  // of who asks and of the key that they chose. Requests of one batch share it and differ in their part. Empty: none.
  std::string_view once_name = {};
  std::uint32_t once_part = 0;
  // The distributed trace that it is part of (trace.h). Null: none. Must stay alive like the attributes.
  const TraceContext* trace = nullptr;
  Once once{};

  Request() = default;
  explicit Request(std::span<const Attribute> attrs, Cost c = {}) : attributes(attrs), cost(c) {}
  // The list lives until the end of the full expression: fine for `limiter.check({{"tenant", "acme"}})`, not for a
  // named Request.
  Request(std::initializer_list<Attribute> attrs, Cost c = {}) : attributes(attrs.begin(), attrs.size()), cost(c) {}

  // The attributes without the derived ones.
  std::span<const Attribute> sent() const { return attributes.first(attributes.size() - derived); }
};

}  // namespace weir
