#include "frontends/http/check_handler.h"

#include <utility>

#include "frontends/http/ingress_field.h"
#include "frontends/http/trace_field.h"
#include "frontends/render/decision_headers.h"
#include "frontends/render/decision_json.h"
#include "frontends/render/deny_status.h"
#include "weir/ask.h"

namespace weir::http {

void CheckHandler::check(const HttpRequest& request, ResponseWriter& writer) {
  const Result<int> deny_status = render::read_deny_status(request.query);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (const Status status = body_.read_check(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_fields(request, writer);
  body_.set_once(request.once_name);
  // A peek has nothing to wait for.
  decide(Action::take, {.deny_status = deny_status.value(), .wait_ms = body_.request().peek ? 0 : body_.wait_ms()},
         writer);
}

void CheckHandler::refund(const HttpRequest& request, ResponseWriter& writer) {
  const Result<int> deny_status = render::read_deny_status(request.query);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (const Status status = body_.read_refund(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_fields(request, writer);
  decide(Action::refund, {.deny_status = deny_status.value()}, writer);
}

void CheckHandler::reset(const HttpRequest& request, ResponseWriter& writer) {
  const Result<int> deny_status = render::read_deny_status(request.query);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (const Status status = body_.read_reset(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_fields(request, writer);
  ResponseOptions options{.deny_status = deny_status.value()};
  if (!identified(options, writer)) return;
  if (resets_ != nullptr) {
    options.reset = resets_->begin(request, writer.peer(), body_.request().attributes, body_.reason());
    if (options.reset == nullptr) {
      return writer.send_problem(503, "the audit trail has no room for this reset; nothing was reset, try again later",
                                 "Retry-After: 1\r\n", "audit_full");
    }
  }
  ask_limiter(Action::reset, options, writer);
}

void CheckHandler::report(const HttpRequest& request, ResponseWriter& writer) {
  if (!request.query.empty()) return writer.send_problem(400, "a report takes no query parameters");
  if (const Status status = body_.read_report(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_fields(request, writer);
  const ResponseOptions options{.reports = true};
  if (!identified(options, writer)) return;
  if (body_.duration_ms() > 0) {
    const std::chrono::milliseconds took(body_.duration_ms());
    limiter_.note_duration(took);
    if (work_ != nullptr) work_->note_work(body_.request(), took, body_.is_success());
  }
  ask_limiter(body_.is_success() ? Action::report_success : Action::report_failure, options, writer);
}

bool CheckHandler::identified(const ResponseOptions& options, ResponseWriter& writer) {
  if (identity_ == nullptr) return true;
  const auto refusal = transport::identify(*identity_, body_.requests().front());
  if (!refusal) return true;
  refuse(*refusal, options, writer);
  return false;
}

void CheckHandler::decide(Action action, const ResponseOptions& options, ResponseWriter& writer) {
  if (identified(options, writer)) ask_limiter(action, options, writer);
}

void CheckHandler::ask_limiter(Action action, const ResponseOptions& options, ResponseWriter& writer) {
  const auto now = [&](const Decision& decision) {
    if (options.reset != nullptr) options.reset->ended(decision);
    if (holds(decision, options)) return answer_later(decision, options, writer.defer());
    writer.send(render(decision, options));
  };
  ask(limiter_, action, body_.request(), now, [&] {
    return [self = shared_from_this(), options, later = writer.defer()](const Decision& decision) {
      if (options.reset != nullptr) options.reset->ended(decision);
      if (later.link().on_loop()) return self->answer_later(decision, options, later);
      later.link().post([self, options, later, decision] { self->answer_later(decision, options, later); });
    };
  });
}

void CheckHandler::check_batch(const HttpRequest& request, ResponseWriter& writer) {
  if (!request.query.empty()) return writer.send_problem(400, "a batch takes no query parameters");
  if (const Status status = body_.read_batch(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_fields(request, writer);
  body_.set_once(request.once_name);
  if (identity_ != nullptr) {
    if (const auto fault = transport::identify(*identity_, body_.requests(), refused_)) {
      const std::string where = "requests[" + std::to_string(fault->index) + "]";
      return writer.send_problem(400, fault->refusal.message(where, ".attributes."));
    }
  }
  decisions_.resize(body_.requests().size());
  const auto now = [&](std::span<const Decision> decisions) { writer.send(render_batch(decisions, refused_)); };
  ask(limiter_, Action::take, body_.requests(), decisions_, now, [&] {
    return
        [self = shared_from_this(), later = writer.defer(), refused = refused_](std::span<const Decision> decisions) {
          if (later.link().on_loop()) return later.send(self->render_batch(decisions, refused));
          later.link().post([self, later, refused, copy = std::vector<Decision>(decisions.begin(), decisions.end())] {
            later.send(self->render_batch(copy, refused));
          });
        };
  });
}

void CheckHandler::refuse(const transport::RequestRefusal& refusal, const ResponseOptions& options,
                          ResponseWriter& writer) {
  if (refusal.malformed) return writer.send_problem(400, refusal.message("", "attributes."));
  writer.send(render(transport::refused_decision(), options));
}

void CheckHandler::note_fields(const HttpRequest& request, const ResponseWriter& writer) {
  if (times_ != nullptr) body_.set_ingress(ingress_of(request, writer.peer(), times_.get()));
  if (tracing_ != nullptr) body_.set_trace(trace_of(request, tracing_.get()));
  if (!request.once) return;
  for (std::size_t i = 0; i < body_.requests().size(); ++i) body_.requests()[i].once = request.once.at(i);
}

Response CheckHandler::render(const Decision& decision, const ResponseOptions& options) {
  json_.clear();
  fields_.clear();
  render::append_decision_fields(fields_, decision, headers_);
  if (decision.replayed) [[unlikely]]
    fields_ += kReplayedField;
  if (decision.allowed || options.reports) {
    render::append_decision(json_, decision);
    return {.status = 200, .content_type = kJson, .fields = fields_, .body = json_};
  }
  const int status = options.deny_status != 0 ? options.deny_status : render::default_status(decision);
  render::append_denial(json_, decision, status);
  return {.status = status,
          .content_type = kProblemJson,
          .fields = fields_,
          .body = json_,
          .replay_for = decision.degraded ? Duration{0} : decision.retry_after};
}

Response CheckHandler::render_batch(std::span<const Decision> decisions, std::span<const std::size_t> refused) {
  json_ = R"({"decisions":[)";
  bool first = true;
  transport::each_in_order(decisions, refused, [&](const Decision& decision) {
    if (!std::exchange(first, false)) json_ += ',';
    render::append_decision(json_, decision);
  });
  json_ += "]}";
  return {.status = 200, .content_type = kJson, .fields = {}, .body = json_};
}

bool CheckHandler::holds(const Decision& decision, const ResponseOptions& options) const {
  return decision.allowed && decision.delay.count() > 0 && ceil_ms(decision.delay) <= options.wait_ms;
}

void CheckHandler::answer_later(const Decision& decision, const ResponseOptions& options, const LaterResponse& later) {
  if (!holds(decision, options)) return later.send(render(decision, options));
  // When the answer is sent, the wait is over, so it reports none.
  Decision waited = decision;
  waited.delay = Duration{0};
  Response response = render(waited, options);
  response.held_for = decision.delay;
  later.send_after(decision.delay, response);
}

}  // namespace weir::http
