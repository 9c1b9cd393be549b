#include "frontends/envoy/rls_route.h"

#include <memory>
#include <utility>

#include "frontends/envoy/rls_json.h"
#include "frontends/http/ingress_field.h"
#include "frontends/http/trace_field.h"

namespace weir::envoy {
namespace {

class RlsRoute : public std::enable_shared_from_this<RlsRoute> {
 public:
  RlsRoute(Limiter& limiter, RlsOptions options, std::shared_ptr<transport::IngressTime> times,
           std::shared_ptr<transport::RequestIdentity> identity, std::shared_ptr<transport::Tracing> tracing)
      : decider_(limiter, std::move(options)),
        times_(std::move(times)),
        identity_(std::move(identity)),
        tracing_(std::move(tracing)) {}

  void handle(const http::HttpRequest& request, http::ResponseWriter& writer) {
    Status status = reader_.read(request.body, request_);
    if (status.ok() && identity_ != nullptr) {
      if (const auto refusal = identify(*identity_, request_)) {
        return writer.send(render(refusal_answer(*refusal, request_.descriptors.size())));
      }
    }
    if (status.ok()) status = request_.check();
    if (!status.ok()) return writer.send_problem(400, status.failure().message);
    request_.ingress = http::ingress_of(request, writer.peer(), times_.get());
    request_.trace = http::trace_of(request, tracing_.get());
    const auto now = [&](const Status& decided, const RlsAnswer& answer) {
      if (!decided.ok()) return writer.send_problem(503, decided.failure().message);
      writer.send(render(answer));
    };
    decider_.decide(request_, now, [&] {
      return [self = shared_from_this(), later = writer.defer()](const Result<RlsAnswer>& answer) {
        if (later.link().on_loop()) return self->send(later, answer);
        later.link().post([self, later, answer] { self->send(later, answer); });
      };
    });
  }

 private:
  http::Response render(const RlsAnswer& answer) {
    json_.clear();
    render_rls_json(json_, answer);
    return {.status = http_status(answer), .content_type = http::kJson, .fields = {}, .body = json_};
  }

  void send(const http::LaterResponse& later, const Result<RlsAnswer>& answer) {
    if (answer.ok()) return later.send(render(answer.value()));
    later.send_problem(503, answer.failure().message);
  }

  RlsDecider decider_;
  const std::shared_ptr<transport::IngressTime> times_;
  const std::shared_ptr<transport::RequestIdentity> identity_;
  const std::shared_ptr<transport::Tracing> tracing_;
  RlsJsonReader reader_;
  RlsRequest request_;
  std::string json_;
};

}  // namespace

void add_rls_route(http::Router& router, Limiter& limiter, RlsOptions options, std::size_t body_bytes,
                   std::shared_ptr<transport::IngressTime> times, std::shared_ptr<transport::RequestIdentity> identity,
                   std::shared_ptr<transport::Tracing> tracing) {
  auto route = std::make_shared<RlsRoute>(limiter, std::move(options), std::move(times), std::move(identity),
                                          std::move(tracing));
  router.add({.method = "POST",
              .path = "/json",
              .body_bytes = body_bytes,
              .handler = [route](const http::HttpRequest& request,
                                 http::ResponseWriter& writer) { route->handle(request, writer); },
              .role = "check"});
}

}  // namespace weir::envoy
