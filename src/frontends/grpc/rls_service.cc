#include "frontends/grpc/rls_service.h"

#include "frontends/envoy/rls_wire.h"

namespace weir::grpc {
namespace {

void send_answer(Call& call, const envoy::RlsAnswer& answer) {
  envoy::write_rls_answer(call.begin_message(), answer);
  call.end_message();
  call.finish(Code::ok);
}

}  // namespace

void RlsService::on_message(Call& call, int, std::string_view message) {
  if (!envoy::read_rls_request(message, request_)) return call.finish(Code::invalid_argument, "not a RateLimitRequest");
  if (identity_ != nullptr) {
    if (const auto refusal = envoy::identify(*identity_, request_)) {
      return send_answer(call, envoy::refusal_answer(*refusal, request_.descriptors.size()));
    }
  }
  if (const Status status = request_.check(); !status.ok()) {
    return call.finish(status.failure().code, status.failure().message);
  }
  request_.ingress = call.ingress();
  request_.trace = call.trace();
  const auto now = [&](const Status& status, const envoy::RlsAnswer& answer) {
    if (!status.ok()) return call.finish(status.failure().code, status.failure().message);
    send_answer(call, answer);
  };
  decider_.decide(request_, now, [&] {
    return [pending = call.defer()](const Result<envoy::RlsAnswer>& answer) {
      pending.complete([answer](Call& later) {
        if (!answer.ok()) return later.finish(answer.failure().code, answer.failure().message);
        send_answer(later, answer.value());
      });
    };
  });
}

}  // namespace weir::grpc
