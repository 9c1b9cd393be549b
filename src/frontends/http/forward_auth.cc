#include "frontends/http/forward_auth.h"

#include <utility>

#include "base/ascii.h"
#include "frontends/http/trace_field.h"
#include "frontends/render/decision_headers.h"
#include "frontends/render/decision_json.h"
#include "frontends/render/deny_status.h"
#include "weir/ask.h"

namespace weir::http {
namespace {

constexpr int kUnauthorized = 401;

// A gateway that understands only one status for "no" learns here which it would have been.
void append_weir_status(std::string& fields, int status) {
  fields += "Weir-Status: ";
  base::append_number(fields, status);
  fields += "\r\n";
}

}  // namespace

void ForwardAuthHandler::answer(const HttpRequest& request, ResponseWriter& writer) {
  // Some gateways add the client's own query to ours.
  const Result<int> deny_status = render::read_deny_status(request.query, render::UnknownParameters::ignored);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (deny_status.value() == 200) {
    return writer.send_problem(400, "deny_status: 200 would let everything pass, expected 403, 429 or 503");
  }
  Caller caller;
  if (const auto refusal = callers_->read(request, writer.peer(), caller)) {
    return refuse(*refusal, deny_status.value(), writer);
  }
  Request asked(caller.attributes, caller.cost);
  asked.ingress = caller.ingress;
  asked.trace = trace_of(request, tracing_.get());
  const auto now = [&](const Decision& decision) { writer.send(render(decision, deny_status.value())); };
  ask(limiter_, Action::take, asked, now, [&] {
    return [self = shared_from_this(), status = deny_status.value(), later = writer.defer()](const Decision& decision) {
      if (later.link().on_loop()) return later.send(self->render(decision, status));
      later.link().post([self, status, later, decision] { later.send(self->render(decision, status)); });
    };
  });
}

// Every gateway passes a 401 on; other errors may need the one status that the gateway understands.
void ForwardAuthHandler::refuse(const CallerRefusal& refusal, int deny_status, ResponseWriter& writer) {
  fields_.clear();
  if (refusal.status == kUnauthorized) {
    fields_ += "WWW-Authenticate: Bearer\r\n";
    return writer.send_problem(kUnauthorized, refusal.detail, fields_);
  }
  if (deny_status != 0) append_weir_status(fields_, refusal.status);
  writer.send_problem(deny_status != 0 ? deny_status : refusal.status, refusal.detail, fields_);
}

Response ForwardAuthHandler::render(const Decision& decision, int deny_status) {
  json_.clear();
  fields_.clear();
  render::append_decision_fields(fields_, decision, headers_);
  if (decision.allowed) return {.status = 200, .content_type = {}, .fields = fields_, .body = {}};
  const int status = render::default_status(decision);
  if (deny_status != 0) append_weir_status(fields_, status);
  // For gateways, which do not read the body: a challenge and a block are both 403.
  fields_.append("Weir-Reason: ").append(reason_name(decision.reason)).append("\r\n");
  render::append_denial(json_, decision, deny_status != 0 ? deny_status : status);
  return {.status = deny_status != 0 ? deny_status : status,
          .content_type = kProblemJson,
          .fields = fields_,
          .body = json_};
}

}  // namespace weir::http
