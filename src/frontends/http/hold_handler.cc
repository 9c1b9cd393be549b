#include "frontends/http/hold_handler.h"

#include <type_traits>

#include "base/attributes.h"
#include "base/percent.h"
#include "base/utf8.h"
#include "frontends/http/ingress_field.h"
#include "frontends/http/json_body.h"
#include "frontends/http/trace_field.h"
#include "frontends/render/decision_json.h"
#include "frontends/render/hold_json.h"
#include "weir/ask.h"

namespace weir::http {
namespace {

constexpr std::string_view kHandle = "handle";

// A denial after which the caller can only wait: the status of its Decision. Others are 400 and above.
bool is_denied(const LeaseAnswer& answer, LeaseQuestion::Verb verb) {
  return verb == LeaseQuestion::Verb::acquire && !answer.decision.allowed;
}
bool is_denied(const ReservationAnswer& answer, ReservationQuestion::Verb verb) {
  using Verb = ReservationQuestion::Verb;
  return (verb == Verb::reserve || verb == Verb::extend) && !answer.decision.allowed;
}

}  // namespace

bool HoldHandler::accept(const Status& status, const HttpRequest& request, ResponseWriter& writer) {
  if (status.ok() && request.query.empty()) return true;
  writer.send_problem(400, status.ok() ? "this route takes no query parameters" : status.failure().message);
  return false;
}

bool HoldHandler::identify(Request& request, ResponseWriter& writer) {
  if (options_.identity == nullptr) return true;
  const auto refusal = transport::identify(*options_.identity, request);
  if (!refusal) return true;
  if (refusal->malformed) {
    writer.send_problem(400, refusal->message("", "attributes."));
  } else {
    writer.send(render_denial(transport::refused_decision(), /*replayed=*/false));
  }
  return false;
}

std::string HoldHandler::caller_of(const HttpRequest& request) const {
  return options_.caller_of ? options_.caller_of(request) : std::string();
}

void HoldHandler::note_fields(const HttpRequest& request, const ResponseWriter& writer) {
  if (options_.times != nullptr) body_.request.ingress = ingress_of(request, writer.peer(), options_.times.get());
  body_.request.trace = trace_of(request, options_.tracing.get());
}

// "tenant=acme&action=export", percent-encoded: for lists, which have no body.
bool HoldHandler::read_query_attributes(const HttpRequest& request, ResponseWriter& writer) {
  const auto refuse = [&](const std::string& what) {
    writer.send_problem(400, what);
    return false;
  };
  query_texts_.clear();
  query_attributes_.clear();
  query_texts_.reserve(2 * kMaxAttributes + 2);  // so that none moves
  for (std::string_view rest = request.query; !rest.empty();) {
    const std::size_t end = rest.find('&');
    const std::string_view pair = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    const std::size_t equals = pair.find('=');
    std::string& name = query_texts_.emplace_back();
    std::string& value = query_texts_.emplace_back();
    if (query_texts_.size() > 2 * kMaxAttributes) return refuse("the query has more than 64 attributes");
    const bool decoded = equals != std::string_view::npos && base::decode_percent(pair.substr(0, equals), name) &&
                         base::decode_percent(pair.substr(equals + 1), value);
    if (!decoded || base::valid_text_prefix(name) != name.size() || base::valid_text_prefix(value) != value.size()) {
      return refuse("the query must be name=value pairs of attributes, percent-encoded UTF-8 without NUL");
    }
    if (const std::string_view wrong = base::attribute_name_fault(name); !wrong.empty()) {
      return refuse("the name of an attribute " + std::string(wrong));
    }
    if (const std::string_view wrong = base::attribute_value_fault(value); !wrong.empty()) {
      return refuse(name + ": the value " + std::string(wrong));
    }
  }
  if (query_texts_.empty()) return refuse("name the subject in the query, as in ?tenant=acme&action=export");
  for (std::size_t i = 0; i < query_texts_.size(); i += 2) {
    query_attributes_.push_back({query_texts_[i], query_texts_[i + 1]});
  }
  return true;
}

template <typename Holds, typename Question>
void HoldHandler::ask_and_answer(Holds& holds, const Question& question, ResponseWriter& writer) {
  using Answer = std::conditional_t<std::is_same_v<Question, LeaseQuestion>, LeaseAnswer, ReservationAnswer>;
  const auto verb = question.verb;
  ask(
      holds, question, [&](const Answer& answer) { writer.send(render(answer, verb)); },
      [&] {
        return [self = shared_from_this(), verb, later = writer.defer()](const Answer& answer) {
          if (later.link().on_loop()) return later.send(self->render(answer, verb));
          later.link().post([self, verb, later, answer] { later.send(self->render(answer, verb)); });
        };
      });
}

void HoldHandler::acquire(const HttpRequest& request, ResponseWriter& writer) {
  if (!accept(body_.read_acquire(request.body), request, writer)) return;
  if (!identify(body_.request, writer)) return;
  const std::string caller = caller_of(request);
  note_fields(request, writer);
  LeaseQuestion question;
  question.request = body_.request;
  question.request.once = request.once;
  question.ttl = body_.ttl;
  question.id = body_.id;
  question.caller = caller;
  ask_and_answer(*leases_, question, writer);
}

void HoldHandler::renew(const HttpRequest& request, ResponseWriter& writer) {
  if (!accept(body_.read_renew(request.body), request, writer)) return;
  LeaseQuestion question;
  question.verb = LeaseQuestion::Verb::renew;
  question.handle = request.parameter(kHandle);
  question.ttl = body_.ttl;
  question.request.trace = trace_of(request, options_.tracing.get());
  ask_and_answer(*leases_, question, writer);
}

void HoldHandler::release_lease(const HttpRequest& request, ResponseWriter& writer) {
  if (!accept(body_.read_nothing(request.body), request, writer)) return;
  LeaseQuestion question;
  question.verb = LeaseQuestion::Verb::release;
  question.handle = request.parameter(kHandle);
  question.request.trace = trace_of(request, options_.tracing.get());
  ask_and_answer(*leases_, question, writer);
}

void HoldHandler::list_leases(const HttpRequest& request, ResponseWriter& writer) {
  if (!read_query_attributes(request, writer)) return;
  LeaseQuestion question;
  question.verb = LeaseQuestion::Verb::list;
  question.request = Request(query_attributes_);
  if (!identify(question.request, writer)) return;
  ask_and_answer(*leases_, question, writer);
}

void HoldHandler::reserve(const HttpRequest& request, ResponseWriter& writer) {
  if (!accept(body_.read_reserve(request.body), request, writer)) return;
  if (!identify(body_.request, writer)) return;
  const std::string caller = caller_of(request);
  note_fields(request, writer);
  ReservationQuestion question;
  question.request = body_.request;
  question.request.once = request.once;
  question.amount = body_.amount;
  question.ttl = body_.ttl;
  question.partial = body_.partial;
  question.dry_run = body_.dry_run;
  question.id = body_.id;
  question.caller = caller;
  ask_and_answer(*reservations_, question, writer);
}

void HoldHandler::settle(ReservationQuestion::Verb verb, const Status& body, const HttpRequest& request,
                         ResponseWriter& writer) {
  if (!accept(body, request, writer)) return;
  const std::string caller = caller_of(request);
  ReservationQuestion question;
  question.verb = verb;
  question.handle = request.parameter(kHandle);
  question.amount = body_.amount;
  question.ttl = body_.ttl;
  question.partial = body_.partial;
  question.actual = body_.actual;
  question.caller = caller;
  question.request.once = request.once;
  question.request.trace = trace_of(request, options_.tracing.get());
  ask_and_answer(*reservations_, question, writer);
}

void HoldHandler::commit(const HttpRequest& request, ResponseWriter& writer) {
  settle(ReservationQuestion::Verb::commit, body_.read_commit(request.body), request, writer);
}
void HoldHandler::release(const HttpRequest& request, ResponseWriter& writer) {
  settle(ReservationQuestion::Verb::release, body_.read_nothing(request.body), request, writer);
}
void HoldHandler::extend(const HttpRequest& request, ResponseWriter& writer) {
  settle(ReservationQuestion::Verb::extend, body_.read_extend(request.body), request, writer);
}
void HoldHandler::get(const HttpRequest& request, ResponseWriter& writer) {
  settle(ReservationQuestion::Verb::get, body_.read_nothing(request.body), request, writer);
}

void HoldHandler::list_reservations(const HttpRequest& request, ResponseWriter& writer) {
  if (!read_query_attributes(request, writer)) return;
  ReservationQuestion question;
  question.verb = ReservationQuestion::Verb::list;
  question.request = Request(query_attributes_);
  if (!identify(question.request, writer)) return;
  ask_and_answer(*reservations_, question, writer);
}

void HoldHandler::begin_answer(const Decision* decision, bool replayed) {
  json_.clear();
  fields_.clear();
  if (decision != nullptr && options_.append_fields) options_.append_fields(fields_, *decision);
  if (replayed || (decision != nullptr && decision->replayed)) fields_ += kReplayedField;
}

Response HoldHandler::render_fault(HoldFault fault, std::string_view message) {
  begin_answer(nullptr, false);
  const int status = render::status_of(fault);
  render::append_hold_problem(json_, fault, status_phrase(status), message);
  if (status == 503) fields_ = "Retry-After: 1\r\n";
  return {.status = status, .content_type = kProblemJson, .fields = fields_, .body = json_};
}

Response HoldHandler::render_denial(const Decision& decision, bool replayed) {
  begin_answer(&decision, replayed);
  const int status = render::default_status(decision);
  render::append_denial(json_, decision, status);
  return {.status = status,
          .content_type = kProblemJson,
          .fields = fields_,
          .body = json_,
          .replay_for = decision.degraded ? Duration{0} : decision.retry_after};
}

Response HoldHandler::render(const LeaseAnswer& answer, LeaseQuestion::Verb verb) {
  using Verb = LeaseQuestion::Verb;
  if (answer.fault != HoldFault::none) return render_fault(answer.fault, answer.message);
  if (is_denied(answer, verb)) return render_denial(answer.decision, /*replayed=*/false);
  if (verb == Verb::release) return {.status = 204, .content_type = {}, .fields = {}, .body = {}};
  begin_answer(verb == Verb::acquire ? &answer.decision : nullptr, /*replayed=*/false);
  if (verb == Verb::list) {
    render::append_leases(json_, answer);
  } else {
    render::append_lease(json_, answer);
  }
  return {.status = answer.created ? 201 : 200, .content_type = kJson, .fields = fields_, .body = json_};
}

Response HoldHandler::render(const ReservationAnswer& answer, ReservationQuestion::Verb verb) {
  using Verb = ReservationQuestion::Verb;
  if (answer.fault != HoldFault::none) return render_fault(answer.fault, answer.message);
  if (is_denied(answer, verb)) return render_denial(answer.decision, answer.replayed);
  begin_answer(verb == Verb::list || verb == Verb::get ? nullptr : &answer.decision, answer.replayed);
  if (verb == Verb::list) {
    render::append_reservations(json_, answer);
  } else {
    render::append_reservation(json_, answer);
  }
  return {.status = answer.created ? 201 : 200, .content_type = kJson, .fields = fields_, .body = json_};
}

void HoldHandler::refuse_reservation(const HttpRequest&, ResponseWriter& writer) {
  writer.send_problem(501,
                      "reservations: the store of this server does not support them; start it with a store that does");
}

void add_hold_routes(Router& router, Limiter& limiter, HoldOptions options) {
  const std::size_t body_bytes = options.body_bytes;
  const OnceOptions once_options = options.once;
  const auto handler = std::make_shared<HoldHandler>(limiter.leases(), limiter.reservations(), std::move(options));
  using Method = void (HoldHandler::*)(const HttpRequest&, ResponseWriter&);
  const auto add = [&](const std::string_view method, const char* path, const char* role, Method call) {
    Handler calls = [handler, call](const HttpRequest& request, ResponseWriter& writer) {
      ((*handler).*call)(request, writer);
    };
    router.add({.method = std::string(method),
                .path = path,
                .body_bytes = body_bytes,
                .handler = method == "GET" ? std::move(calls) : once(once_options, std::move(calls)),
                .role = role});
  };
  if (limiter.leases() != nullptr) {
    add("POST", "/v1/leases", "lease", &HoldHandler::acquire);
    add("GET", "/v1/leases", "list", &HoldHandler::list_leases);
    add("POST", "/v1/leases/{handle}/renew", "lease", &HoldHandler::renew);
    add("DELETE", "/v1/leases/{handle}", "lease", &HoldHandler::release_lease);
  }
  const bool reserves = limiter.reservations() != nullptr;
  const auto add_reservation = [&](const std::string_view method, const char* path, const char* role, Method call) {
    add(method, path, role, reserves ? call : &HoldHandler::refuse_reservation);
  };
  add_reservation("POST", "/v1/reservations", "reserve", &HoldHandler::reserve);
  add_reservation("GET", "/v1/reservations", "list", &HoldHandler::list_reservations);
  add_reservation("GET", "/v1/reservations/{handle}", "reserve", &HoldHandler::get);
  add_reservation("POST", "/v1/reservations/{handle}/commit", "reserve", &HoldHandler::commit);
  add_reservation("POST", "/v1/reservations/{handle}/release", "reserve", &HoldHandler::release);
  add_reservation("POST", "/v1/reservations/{handle}/extend", "reserve", &HoldHandler::extend);
}

}  // namespace weir::http
