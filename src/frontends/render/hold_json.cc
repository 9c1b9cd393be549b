#include "frontends/render/hold_json.h"

#include <string_view>

#include "base/ascii.h"
#include "base/json_text.h"
#include "frontends/render/decision_json.h"
#include "weir/time.h"

namespace weir::render {
namespace {

// Members of an object that is being written at the end of a string.
class Members {
 public:
  explicit Members(std::string& out) : out_(out) { out_ += '{'; }

  Members& text(std::string_view name, std::string_view value) {
    begin(name);
    base::append_json_string(out_, value);
    return *this;
  }
  Members& number(std::string_view name, std::int64_t value) {
    begin(name);
    base::append_number(out_, value);
    return *this;
  }
  Members& boolean(std::string_view name, bool value) {
    begin(name);
    out_ += value ? "true" : "false";
    return *this;
  }
  // JSON numbers beyond 2^53 lose digits in many readers; a token in microseconds stays below it until the year 2255.
  Members& token(const std::optional<std::uint64_t>& token) {
    begin("fencing_token");
    if (token) {
      base::append_number(out_, static_cast<std::int64_t>(*token));
    } else {
      out_ += "null";
    }
    return *this;
  }
  // In milliseconds since 1970, rounded down: a holder that stops then is never too late.
  Members& time(std::string_view name, TimePoint time) { return number(name, micros(time) / 1'000); }
  Members& decision(const Decision& decision) {
    out_ += ',';
    const std::size_t at = out_.size();
    append_decision(out_, decision);
    // The decision's own braces go: its members become members of this object.
    out_.erase(at, 1);
    out_.pop_back();
    return *this;
  }
  void end() { out_ += '}'; }

 private:
  void begin(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":";
  }

  std::string& out_;
  bool first_ = true;
};

template <typename List, typename Append>
void append_list(std::string& out, std::string_view name, const List& list, bool cut, Append append) {
  out += "{\"";
  out += name;
  out += "\":[";
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) out += ',';
    append(list[i]);
  }
  out += "],\"complete\":";
  out += cut ? "false}" : "true}";
}

bool is_closed(const ReservationAnswer& answer) { return answer.state != ReservationState::open; }

}  // namespace

int status_of(HoldFault fault) {
  switch (fault) {
    case HoldFault::invalid:
      return 400;
    case HoldFault::forged:
      return 404;
    case HoldFault::gone:
      return 410;
    case HoldFault::closed:
    case HoldFault::running:
      return 409;
    case HoldFault::other_body:
      return 422;
    default:
      return 503;
  }
}

void append_lease(std::string& out, const LeaseAnswer& answer) {
  Members(out)
      .text("lease", answer.handle)
      .token(answer.fencing_token)
      .time("expires_at_ms", answer.expires)
      .number("ttl_ms", answer.ttl.count() / 1'000)
      .decision(answer.decision)
      .end();
}

void append_leases(std::string& out, const LeaseAnswer& answer) {
  append_list(out, "leases", answer.list, answer.list_cut, [&](const ListedLease& lease) {
    Members(out)
        .text("rule", lease.rule)
        .text("lease", lease.handle)
        .number("units", lease.units)
        .time("expires_at_ms", lease.expires)
        .end();
  });
}

void append_reservation(std::string& out, const ReservationAnswer& answer) {
  Members members(out);
  if (!answer.handle.empty()) members.text("reservation", answer.handle);
  members.text("id", answer.id).text("state", reservation_state_name(answer.state)).number("granted", answer.granted);
  if (answer.estimated > 0) members.number("estimated", answer.estimated);
  if (answer.state == ReservationState::committed) members.number("actual", answer.actual);
  if (is_closed(answer)) {
    members.number("returned", answer.returned).number("debt", answer.debt).number("uncharged", answer.uncharged);
  } else {
    members.time("expires_at_ms", answer.expires);
  }
  if (answer.fencing_token) members.token(answer.fencing_token);
  members.decision(answer.decision).end();
}

void append_reservations(std::string& out, const ReservationAnswer& answer) {
  append_list(out, "reservations", answer.list, answer.list_cut, [&](const ListedReservation& each) {
    Members(out)
        .text("rule", each.rule)
        .text("id", each.id)
        .number("units", each.units)
        .time("reserved_at_ms", each.reserved)
        .time("expires_at_ms", each.expires)
        .end();
  });
}

void append_hold_problem(std::string& out, HoldFault fault, std::string_view title, std::string_view detail) {
  Members(out)
      .text("type", "about:blank")
      .text("title", title)
      .number("status", status_of(fault))
      .text("detail", detail)
      .text("code", hold_fault_name(fault))
      .end();
}

}  // namespace weir::render
