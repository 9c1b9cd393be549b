#include <utility>

#include "admin/subject_routes.h"
#include "weir/ask.h"

namespace weir::admin {
namespace {

constexpr std::string_view kNoLeases = "this server does not support leases";
constexpr std::string_view kNoReservations = "this server does not support reservations";

Answer list_answer(const LeaseAnswer& answer, Handles handles) {
  if (answer.fault != HoldFault::none) return hold_problem(answer.fault, answer.message);
  JsonWriter out;
  out.begin_object();
  write_leases(out, "items", answer.list, handles);
  out.null_member("next");
  out.member("complete", !answer.list_cut);
  out.end_object();
  return json_answer(out.take());
}

Answer list_answer(const ReservationAnswer& answer, Handles handles) {
  if (answer.fault != HoldFault::none) return hold_problem(answer.fault, answer.message);
  JsonWriter out;
  out.begin_object();
  write_reservations(out, "items", answer.list, handles);
  out.null_member("next");
  out.member("complete", !answer.list_cut);
  out.end_object();
  return json_answer(out.take());
}

void write_handle(JsonWriter& out, const std::string& handle, Handles handles) {
  out.member("handle", handles == Handles::hidden || handle.empty() ? std::nullopt : std::optional(handle));
}

template <typename HoldAnswer>
Answer released_answer(const HoldAnswer& answer) {
  return answer.fault == HoldFault::none ? no_content() : hold_problem(answer.fault, answer.message);
}

// Asks about holds and sends what `make` makes of the answer. What the question refers to must live until the limiter
// has begun.
template <typename Holds, typename Question, typename Make>
void ask_holds(Holds& holds, const Question& question, const LaterAnswer& later, Make make) {
  const auto send = [later, make](const auto& answer) { later.send(make(answer)); };
  ask(holds, question, send, [&] { return send; });
}

// Lists the holds of the subjects that the query's attributes name.
template <typename Question, typename Holds>
void list_holds(Call& call, Holds* holds, std::string_view none) {
  Query query = call.query();
  const KeptAttributes kept(read_attributes(query));
  if (!call.accepts(query)) return;
  if (holds == nullptr) return call.answer(problem(409, "not_supported", none));
  Question question{.verb = Question::Verb::list};
  question.request = Request(kept.attributes);
  ask_holds(*holds, question, call.defer(),
            [handles = handles_for(call.actor())](const auto& answer) { return list_answer(answer, handles); });
}

template <typename Question, typename Holds>
void release_hold(Call& call, Holds* holds, std::string_view kind, std::string_view none) {
  Query query = call.query();
  std::string reason = query.reason();
  if (!call.accepts(query)) return;
  if (holds == nullptr) return call.answer(problem(409, "not_supported", none));
  const std::string handle = call.parameter("handle");
  // A handle is a key to what it holds, so the audit trail has only its beginning.
  AuditNote note{.action = std::string(kind) + ".release",
                 .object = std::string(kind) + "/" + handle.substr(0, 12),
                 .before = {},
                 .after = {},
                 .reason = std::move(reason)};
  call.record_then(std::move(note), [holds, handle](const LaterAnswer& later) {
    Question question{.verb = Question::Verb::release};
    question.handle = handle;
    ask_holds(*holds, question, later, [](const auto& answer) { return released_answer(answer); });
  });
}

}  // namespace

std::vector<std::pair<std::string, std::string>> read_attributes(Members& body) {
  std::vector<std::pair<std::string, std::string>> attributes = body.text_map("attributes", kMaxAttributes);
  if (attributes.empty()) body.fail("attributes", "is missing, expected an object such as {\"tenant\":\"acme\"}");
  return attributes;
}

std::vector<std::pair<std::string, std::string>> read_attributes(Query& query) {
  std::vector<std::pair<std::string, std::string>> attributes = query.prefixed("attribute.");
  if (attributes.empty()) query.fail("attribute.NAME", "is missing, expected for example attribute.tenant=acme");
  if (attributes.size() > kMaxAttributes) {
    query.fail("attribute", "too many, expected at most " + std::to_string(kMaxAttributes));
  }
  return attributes;
}

Handles handles_for(const control::Actor& actor) {
  return actor.may(control::Role::operator_) ? Handles::shown : Handles::hidden;
}

void write_leases(JsonWriter& out, std::string_view name, const std::vector<ListedLease>& leases, Handles handles) {
  out.begin_array(name);
  for (const ListedLease& each : leases) {
    out.begin_object();
    out.member("rule", each.rule);
    write_handle(out, each.handle, handles);
    out.member("units", each.units);
    out.member("expires_at", each.expires);
    out.end_object();
  }
  out.end_array();
}

void write_reservations(JsonWriter& out, std::string_view name, const std::vector<ListedReservation>& reservations,
                        Handles handles) {
  out.begin_array(name);
  for (const ListedReservation& each : reservations) {
    out.begin_object();
    out.member("rule", each.rule);
    out.member("id", each.id);
    write_handle(out, each.handle, handles);
    out.member("units", each.units);
    out.member("reserved_at", each.reserved);
    out.member("expires_at", each.expires);
    out.end_object();
  }
  out.end_array();
}

Answer hold_problem(HoldFault fault, std::string_view message) {
  constexpr int kStatuses[kHoldFaultCount] = {500, 400, 404, 410, 409, 409, 422, 503, 503};  // as weir/hold.h says
  return problem(kStatuses[static_cast<std::size_t>(fault)], hold_fault_name(fault), message);
}

void add_hold_routes(Api& api, Limiter& limiter) {
  api.get("/leases", [&limiter](Call& call) { list_holds<LeaseQuestion>(call, limiter.leases(), kNoLeases); });
  api.end("/leases/{handle}", control::Role::operator_,
          [&limiter](Call& call) { release_hold<LeaseQuestion>(call, limiter.leases(), "lease", kNoLeases); });
  api.get("/reservations",
          [&limiter](Call& call) { list_holds<ReservationQuestion>(call, limiter.reservations(), kNoReservations); });
  api.end("/reservations/{handle}", control::Role::operator_, [&limiter](Call& call) {
    release_hold<ReservationQuestion>(call, limiter.reservations(), "reservation", kNoReservations);
  });
}

}  // namespace weir::admin
