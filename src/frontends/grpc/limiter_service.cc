#include "frontends/grpc/limiter_service.h"

#include <atomic>
#include <memory>

#include "base/protobuf_wire.h"

namespace weir::grpc {
namespace {

// CheckResponse, RefundResponse and CheckBatchResponse all hold decisions in field 1.
void send_decisions(Call& call, std::span<const Decision> decisions) {
  base::WireWriter writer(call.begin_message());
  for (const Decision& decision : decisions) {
    const std::size_t message = writer.begin(1);
    write_decision(writer.out(), decision);
    writer.end(message);
  }
  call.end_message();
  call.finish(Code::ok);
}

struct PendingBatch {
  std::vector<Decision> decisions;
  std::atomic<std::size_t> left{0};
};

}  // namespace

void LimiterService::on_message(Call& call, int method, std::string_view message) {
  const Status status = method == kCheckBatch ? messages_.read_batch(message) : messages_.read_one(message);
  if (!status.ok()) return call.finish(status.failure().code, status.failure().message);
  const TimePoint ingress = call.ingress();
  for (Request& request : messages_.requests) request.ingress = ingress;
  if (method == kCheckBatch) return answer_batch(call);
  answer_one(call, method == kRefund);
}

void LimiterService::answer_one(Call& call, bool refund) {
  const Request& request = messages_.requests.front();
  if (limiter_.immediate()) {
    const Decision decision = refund ? limiter_.refund(request) : limiter_.check(request);
    return send_decisions(call, {&decision, 1});
  }
  const auto done = [pending = call.defer()](const Decision& decision) {
    pending.complete([decision](Call& later) { send_decisions(later, {&decision, 1}); });
  };
  return refund ? limiter_.refund(request, done) : limiter_.check(request, done);
}

void LimiterService::answer_batch(Call& call) {
  const std::vector<Request>& requests = messages_.requests;
  if (!limiter_.immediate() && !requests.empty()) return answer_batch_later(call);
  if (decisions_.size() < requests.size()) decisions_.resize(requests.size());
  const std::span<Decision> decisions = std::span(decisions_).first(requests.size());
  if (!requests.empty()) limiter_.check_batch(requests, decisions);
  send_decisions(call, decisions);
}

void LimiterService::answer_batch_later(Call& call) {
  const std::vector<Request>& requests = messages_.requests;
  auto batch = std::make_shared<PendingBatch>();
  batch->decisions.resize(requests.size());
  batch->left = requests.size();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    limiter_.check(requests[i], [batch, i, pending = call.defer()](const Decision& decision) {
      batch->decisions[i] = decision;
      if (batch->left.fetch_sub(1) > 1) return;
      pending.complete([batch](Call& later) { send_decisions(later, batch->decisions); });
    });
  }
}

}  // namespace weir::grpc
