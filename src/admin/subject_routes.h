// Routes about one subject: what every rule says to a request with these attributes, and what an operator may do about
// it: reset its buckets, refund a cost, and end the leases and reservations that it holds.
#pragma once

#include <functional>

#include "admin/api.h"
#include "admin/traffic.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/reservations.h"

namespace weir::admin {

// What a lookup has found, for those who know more about it.
struct LookedUp {
  const std::vector<Attribute>& attributes;
  const rules::Explanation& explanation;
};
// Adds members to the answer: what other parts of the server know about such a request.
using AddSubjectMembers = std::function<void(JsonWriter& out, const LookedUp& found)>;

// For each loop, with its limiter; both are borrowed.
void add_lookup_route(Api& api, Limiter& limiter, const Traffic& traffic, AddSubjectMembers more);
void add_reset_route(Api& api, Limiter& limiter);
void add_refund_route(Api& api, Limiter& limiter);
void add_hold_routes(Api& api, Limiter& limiter);

// Attributes that an answer may need after their request is gone. Never moves once refer() was called.
struct KeptAttributes {
  explicit KeptAttributes(std::vector<std::pair<std::string, std::string>> given) : texts(std::move(given)) {
    for (const auto& [name, value] : texts) attributes.push_back({name, value});
  }
  KeptAttributes(const KeptAttributes&) = delete;
  KeptAttributes& operator=(const KeptAttributes&) = delete;

  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<Attribute> attributes;
};

// `attributes` of a body: an object of texts, at least one.
std::vector<std::pair<std::string, std::string>> read_attributes(Members& body);
// attribute.NAME=VALUE of a query, at least one.
std::vector<std::pair<std::string, std::string>> read_attributes(Query& query);

// A handle is a key to what it holds: only those who may end it see it.
enum class Handles : std::uint8_t { hidden, shown };
Handles handles_for(const control::Actor& actor);

// The items of lists, and of a lookup.
void write_leases(JsonWriter& out, std::string_view name, const std::vector<ListedLease>& leases, Handles handles);
void write_reservations(JsonWriter& out, std::string_view name, const std::vector<ListedReservation>& reservations,
                        Handles handles);
// What a call about leases or reservations without effect is answered.
Answer hold_problem(HoldFault fault, std::string_view message);

}  // namespace weir::admin
