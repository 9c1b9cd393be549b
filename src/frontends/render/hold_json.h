// Leases and reservations (weir/leases.h, weir/reservations.h) as JSON; api/openapi.json describes the members. Plain
// functions on strings, for every front end that answers in JSON.
#pragma once

#include <string>

#include "weir/hold.h"
#include "weir/leases.h"
#include "weir/reservations.h"

namespace weir::render {

// The HTTP status of a call that has no effect. Precondition: there is a fault.
int status_of(HoldFault fault);

// {"lease":…,"fencing_token":…,"expires_at_ms":…,"ttl_ms":…} and the members of the decision. Precondition: no fault,
// and allowed.
void append_lease(std::string& out, const LeaseAnswer& answer);
// {"leases":[…],"complete":true}
void append_leases(std::string& out, const LeaseAnswer& answer);

// {"reservation":…,"id":…,"state":…,"granted":…,…} and the members of the decision. Precondition: likewise.
void append_reservation(std::string& out, const ReservationAnswer& answer);
// {"reservations":[…],"complete":true}
void append_reservations(std::string& out, const ReservationAnswer& answer);

// A problem (RFC 9457): {"type":"about:blank","title":…,"status":…,"detail":…,"code":…}. Precondition: there is a
// fault.
void append_hold_problem(std::string& out, HoldFault fault, std::string_view title, std::string_view detail);

}  // namespace weir::render
