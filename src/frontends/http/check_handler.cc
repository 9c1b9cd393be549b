#include "frontends/http/check_handler.h"

#include <utility>

#include "frontends/http/ingress_field.h"
#include "frontends/render/decision_headers.h"
#include "frontends/render/decision_json.h"
#include "frontends/render/deny_status.h"

namespace weir::http {
// A batch whose decisions arrive one by one. Decisions are written on the loop only.
struct CheckHandler::PendingBatch {
  std::vector<Decision> decisions;
  std::size_t missing = 0;
  LaterResponse later;
};

void CheckHandler::check(const HttpRequest& request, ResponseWriter& writer) {
  const Result<int> deny_status = render::read_deny_status(request.query);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (const Status status = body_.read_check(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_ingress(request, writer);
  // A look has nothing to wait for.
  const Wishes wishes{.deny_status = deny_status.value(), .wait_ms = body_.request().peek ? 0 : body_.wait_ms()};
  if (!limiter_.immediate()) return limiter_.check(body_.request(), completion(wishes, writer.defer()));

  const Decision decision = limiter_.check(body_.request());
  if (holds(decision, wishes)) return answer_later(decision, wishes, writer.defer());
  writer.send(render(decision, wishes));
}

void CheckHandler::refund(const HttpRequest& request, ResponseWriter& writer) {
  const Result<int> deny_status = render::read_deny_status(request.query);
  if (!deny_status.ok()) return writer.send_problem(400, deny_status.failure().message);
  if (const Status status = body_.read_refund(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_ingress(request, writer);
  const Wishes wishes{.deny_status = deny_status.value(), .wait_ms = 0};
  if (!limiter_.immediate()) return limiter_.refund(body_.request(), completion(wishes, writer.defer()));
  writer.send(render(limiter_.refund(body_.request()), wishes));
}

void CheckHandler::check_batch(const HttpRequest& request, ResponseWriter& writer) {
  if (!request.query.empty()) return writer.send_problem(400, "a batch takes no query parameters");
  if (const Status status = body_.read_batch(request.body); !status.ok()) {
    return writer.send_problem(400, status.failure().message);
  }
  note_ingress(request, writer);
  if (!limiter_.immediate() && !body_.requests().empty()) return check_batch_later(writer);
  decisions_.resize(body_.requests().size());
  limiter_.check_batch(body_.requests(), decisions_);
  writer.send(render_batch(decisions_));
}

void CheckHandler::note_ingress(const HttpRequest& request, const ResponseWriter& writer) {
  if (times_ != nullptr) body_.set_ingress(ingress_of(request, writer.peer(), times_.get()));
}

Response CheckHandler::render(const Decision& decision, const Wishes& wishes) {
  json_.clear();
  fields_.clear();
  render::append_decision_fields(fields_, decision, legacy_headers_);
  if (decision.allowed) {
    render::append_decision(json_, decision);
    return {.status = 200, .content_type = kJson, .fields = fields_, .body = json_};
  }
  const int status = wishes.deny_status != 0 ? wishes.deny_status : render::default_status(decision);
  render::append_denial(json_, decision, status);
  return {.status = status, .content_type = kProblemJson, .fields = fields_, .body = json_};
}

Response CheckHandler::render_batch(std::span<const Decision> decisions) {
  json_ = R"({"decisions":[)";
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    if (i > 0) json_ += ',';
    render::append_decision(json_, decisions[i]);
  }
  json_ += "]}";
  return {.status = 200, .content_type = kJson, .fields = {}, .body = json_};
}

bool CheckHandler::holds(const Decision& decision, const Wishes& wishes) const {
  return decision.allowed && decision.delay.count() > 0 && ceil_ms(decision.delay) <= wishes.wait_ms;
}

void CheckHandler::answer_later(const Decision& decision, const Wishes& wishes, const LaterResponse& later) {
  if (!holds(decision, wishes)) return later.send(render(decision, wishes));
  // When the answer leaves, the wait is over: it tells the caller of none.
  Decision waited = decision;
  waited.delay = Duration{0};
  later.send_after(decision.delay, render(waited, wishes));
}

Limiter::Completion CheckHandler::completion(const Wishes& wishes, LaterResponse later) {
  return [self = shared_from_this(), wishes, later = std::move(later)](const Decision& decision) {
    if (later.link().on_loop()) return self->answer_later(decision, wishes, later);
    later.link().post([self, wishes, later, decision] { self->answer_later(decision, wishes, later); });
  };
}

void CheckHandler::check_batch_later(ResponseWriter& writer) {
  const std::span<const Request> requests = body_.requests();
  auto batch = std::make_shared<PendingBatch>(
      PendingBatch{std::vector<Decision>(requests.size()), requests.size(), writer.defer()});
  const auto arrived = [self = shared_from_this(), batch](std::size_t i, const Decision& decision) {
    batch->decisions[i] = decision;
    if (--batch->missing == 0) batch->later.send(self->render_batch(batch->decisions));
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    limiter_.check(requests[i], [batch, arrived, i](const Decision& decision) {
      if (batch->later.link().on_loop()) return arrived(i, decision);
      batch->later.link().post([arrived, i, decision] { arrived(i, decision); });
    });
  }
}

}  // namespace weir::http
