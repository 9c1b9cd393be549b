#include "frontends/grpc/limiter_service.h"

#include <vector>

#include "base/protobuf_wire.h"
#include "weir/ask.h"

namespace weir::grpc {
namespace {

// CheckResponse, RefundResponse, ReportResponse and CheckBatchResponse all hold decisions in field 1.
void send_decisions(Call& call, std::span<const Decision> decisions, std::span<const std::size_t> refused = {}) {
  base::WireWriter writer(call.begin_message());
  transport::each_in_order(decisions, refused, [&](const Decision& decision) {
    const std::size_t message = writer.begin(1);
    write_decision(writer.out(), decision);
    writer.end(message);
  });
  call.end_message();
  call.finish(Code::ok);
}

}  // namespace

void LimiterService::on_message(Call& call, int method, std::string_view message) {
  const Status status = method == kCheckBatch ? messages_.read_batch(message) : messages_.read_one(message);
  if (!status.ok()) return call.finish(status.failure().code, status.failure().message);
  const TimePoint ingress = call.ingress();
  const TraceContext* const trace = call.trace();
  for (Request& request : messages_.requests) {
    request.ingress = ingress;
    request.trace = trace;
  }
  if (method == kCheckBatch) return answer_batch(call);
  if (method == kReport) return answer_report(call, message);
  answer_one(call, method == kRefund ? Action::refund : Action::take);
}

// A ReportRequest has the attributes of a CheckRequest in the same place. Its outcome was read as a cost, which a
// report has none of.
void LimiterService::answer_report(Call& call, std::string_view message) {
  constexpr std::uint64_t kFailure = 1;
  constexpr std::uint64_t kSuccess = 2;
  constexpr std::uint64_t kMostMs = 3'600'000;
  std::uint64_t outcome = 0;
  std::uint64_t duration_ms = 0;
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() == base::varint_field(2)) outcome = reader.number();
    if (reader.tag() == base::varint_field(4)) duration_ms = reader.number();
  }
  if (outcome != kFailure && outcome != kSuccess) {
    return call.finish(Code::invalid_argument, "outcome: expected FAILURE or SUCCESS");
  }
  if (duration_ms > kMostMs) return call.finish(Code::invalid_argument, "duration_ms: expected 0 to 3600000");
  Request& request = messages_.requests.front();
  request.cost = {};
  request.peek = false;
  if (!identified(call)) return;
  if (duration_ms > 0) {
    const std::chrono::milliseconds took(duration_ms);
    limiter_.note_duration(took);
    if (work_ != nullptr) work_->note_work(request, took, outcome == kSuccess);
  }
  ask_limiter(call, outcome == kSuccess ? Action::report_success : Action::report_failure);
}

bool LimiterService::identified(Call& call) {
  if (identity_ == nullptr) return true;
  const auto refusal = transport::identify(*identity_, messages_.requests.front());
  if (!refusal) return true;
  if (refusal->malformed) {
    call.finish(Code::invalid_argument, refusal->message("", "attributes."));
  } else {
    const Decision decision = transport::refused_decision();
    send_decisions(call, {&decision, 1});
  }
  return false;
}

void LimiterService::answer_one(Call& call, Action action) {
  if (identified(call)) ask_limiter(call, action);
}

void LimiterService::ask_limiter(Call& call, Action action) {
  const auto now = [&](const Decision& decision) { send_decisions(call, {&decision, 1}); };
  ask(limiter_, action, messages_.requests.front(), now, [&] {
    return [pending = call.defer()](const Decision& decision) {
      pending.complete([decision](Call& later) { send_decisions(later, {&decision, 1}); });
    };
  });
}

void LimiterService::answer_batch(Call& call) {
  if (identity_ != nullptr) {
    if (const auto fault = transport::identify(*identity_, messages_.requests, refused_)) {
      const std::string where = "requests[" + std::to_string(fault->index) + "]";
      return call.finish(Code::invalid_argument, fault->refusal.message(where, ".attributes."));
    }
  }
  const std::vector<Request>& requests = messages_.requests;
  if (decisions_.size() < requests.size()) decisions_.resize(requests.size());
  const auto now = [&](std::span<const Decision> decisions) { send_decisions(call, decisions, refused_); };
  ask(limiter_, Action::take, requests, std::span(decisions_).first(requests.size()), now, [&] {
    return [pending = call.defer(), refused = refused_](std::span<const Decision> decisions) {
      pending.complete([refused, copy = std::vector<Decision>(decisions.begin(), decisions.end())](Call& later) {
        send_decisions(later, copy, refused);
      });
    };
  });
}

}  // namespace weir::grpc
