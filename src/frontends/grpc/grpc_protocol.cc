#include "frontends/grpc/grpc_protocol.h"

#include <algorithm>
#include <array>
#include <utility>

#include "frontends/grpc/grpc_text.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kPrefixBytes = 5;
// Sweeps that a request may see before it is stale; the sweeps are request_timeout / 2 apart.
constexpr std::uint32_t kStaleAge = 2;

struct Prefix {
  unsigned char compressed;
  std::size_t size;
};

Prefix read_prefix(std::string_view bytes) {
  std::size_t size = 0;
  for (std::size_t i = 1; i < kPrefixBytes; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
  return {static_cast<unsigned char>(bytes[0]), size};
}

Call& as_call(http2::Stream& stream) { return static_cast<Call&>(stream); }

}  // namespace

const Method* ServiceTable::find(std::string_view path) const {
  for (const Method& method : methods_) {
    if (method.path == path) return &method;
  }
  return nullptr;
}

GrpcProtocol::GrpcProtocol(transport::Link& link, std::shared_ptr<const ServiceTable> services)
    : link_(link),
      services_(std::move(services)),
      session_(http2::make_session(*this, services_->limits().http2, http2::FloodGuard(services_->shared_clock()))) {}

std::size_t GrpcProtocol::on_bytes(std::string_view bytes) {
  inside_ = true;
  std::size_t taken = 0;
  while (taken < bytes.size() && !link_.congested() && !link_.closed()) {
    const std::optional<std::size_t> count = session_->receive(bytes.substr(taken, kSlice));
    if (!count) {
      link_.close();
      break;
    }
    if (*count == 0) break;
    taken += *count;
    send();
  }
  inside_ = false;
  in_frame_ = taken < bytes.size() || session_->amid_fields();
  if (open_ > owed_) watch_for_stale();
  return taken;
}

// A method that takes many messages may be idle between two of them; half a frame, or half of a block, is not idle.
bool GrpcProtocol::idle() const {
  if (in_frame_) return false;
  if (open_ == 0) return true;
  for (const auto& call : calls_) {
    if (call->serial_ == 0) continue;
    if (!call->resting()) return false;
  }
  return true;
}

// A call that is polled gets no final answer of its own, and its client has left.
bool GrpcProtocol::owing() const {
  return std::any_of(calls_.begin(), calls_.end(), [](const auto& call) { return call->owed_ && !call->posted_; });
}

// A client that learns which of its calls were not seen may make them again elsewhere.
void GrpcProtocol::on_timeout() {
  session_->go_away(http2::Error::none);
  send();
}

void GrpcProtocol::on_drain() {
  dismiss_watchers();
  session_->announce_shutdown();
  send();
  link_.after(kGoAwayGrace, [this] {
    // Watches that began in the meantime, and streams whose clients do not say that they are done.
    dismiss_watchers();
    for (const auto& call : calls_) {
      if (call->resting()) call->finish(Code::unavailable, "the server is shutting down");
    }
    session_->go_away(http2::Error::none);
    send_later();
  });
}

void GrpcProtocol::dismiss_watchers() {
  for (const auto& call : calls_) {
    if (call->posted_ && !call->finished_) call->head_.method->service->on_poll(*call, true);
  }
}

http2::Stream& GrpcProtocol::on_stream(std::int32_t id) {
  if (spare_.empty()) {
    calls_.push_back(std::make_unique<Call>(*this));
    spare_.push_back(calls_.back().get());
  }
  Call& call = *spare_.back();
  spare_.pop_back();
  call.begin(id, ++serial_);
  call.born_ = age_;
  ++open_;
  return call;
}

void GrpcProtocol::on_field(http2::Stream& stream, std::string_view name, std::string_view value) {
  CallHead& head = as_call(stream).head_;
  if (name == ":path") head.method = services_->find(value);
  if (name == ":method") head.post = value == "POST";
  if (name == "content-type") head.grpc_content = is_grpc_content_type(value);
  if (name == "grpc-timeout") {
    const std::optional<Duration> timeout = parse_timeout(value);
    head.has_timeout = timeout.has_value();
    head.bad_timeout = !timeout.has_value();
    head.timeout = timeout.value_or(Duration{0});
  }
  if (services_->times() != nullptr && name == services_->times()->field_name()) note_ingress(head, value);
  if (services_->tracing() != nullptr && name == transport::kTraceparent) note_trace(head, value);
}

void GrpcProtocol::note_ingress(CallHead& head, std::string_view value) {
  if (head.ingress_count < UINT8_MAX) ++head.ingress_count;
  if (head.ingress_count > 1 || value.size() > head.ingress.size()) return;
  std::copy(value.begin(), value.end(), head.ingress.begin());
  head.ingress_size = static_cast<std::uint8_t>(value.size());
}

void GrpcProtocol::note_trace(CallHead& head, std::string_view value) {
  if (head.trace_count < UINT8_MAX) ++head.trace_count;
  if (head.trace_count > 1) return;
  head.trace_size = static_cast<std::uint8_t>(value.copy(head.trace.data(), head.trace.size()));
}

void GrpcProtocol::on_same_fields(http2::Stream& stream) { as_call(stream).head_ = last_head_; }

void GrpcProtocol::on_headers_end(http2::Stream& stream) {
  Call& call = as_call(stream);
  const CallHead& head = call.head_;
  last_head_ = head;
  if (head.has_timeout) {
    call.has_deadline_ = true;
    call.deadline_ = services_->clock().now() + head.timeout;
  }
  if (!head.post) return refuse(call, "405");
  if (!head.grpc_content) return refuse(call, "415");
  if (head.method == nullptr) return call.finish(Code::unimplemented, "unknown service or method");
  if (head.bad_timeout) return call.finish(Code::invalid_argument, "malformed grpc-timeout");
}

void GrpcProtocol::on_headers_too_large(http2::Stream& stream) {
  as_call(stream).finish(Code::resource_exhausted, "the headers are too large");
}

// Not gRPC: answered as plain HTTP.
void GrpcProtocol::refuse(Call& call, std::string_view http_status) {
  const std::array<http2::Field, 1> head = {http2::Field{":status", http_status}};
  call.finished_ = true;
  session_->respond(call, head, false);
  on_finished(call);
}

void GrpcProtocol::on_body(http2::Stream& stream, std::string_view bytes) {
  Call& call = as_call(stream);
  if (call.finished_) return;
  if (bytes.size() > services_->limits().buffered - buffered_) {
    return call.finish(Code::resource_exhausted, "too many requests are incomplete on this connection");
  }
  if (call.request_.empty()) call.born_ = age_;
  call.request_.append(bytes);
  buffered_ += bytes.size();
  if (!reserve_memory()) return call.finish(Code::resource_exhausted, "the server is short of memory");
  take_messages(call);
}

// Hands over complete messages, and refuses invalid ones as soon as their first bytes show it.
void GrpcProtocol::take_messages(Call& call) {
  while (!call.finished_ && call.request_.size() >= kPrefixBytes) {
    const Prefix prefix = read_prefix(call.request_);
    if (prefix.compressed == 1) {
      call.tell_encodings_ = true;
      return call.finish(Code::unimplemented, "compressed messages are not supported");
    }
    if (prefix.compressed != 0) return call.finish(Code::internal, "malformed message prefix");
    if (prefix.size > services_->limits().message) {
      return call.finish(Code::resource_exhausted, "the message is too large");
    }
    const std::size_t whole = kPrefixBytes + prefix.size;
    if (!call.head_.method->many_messages) {
      if (call.request_.size() > whole) call.finish(Code::internal, "more than one message");
      return;
    }
    if (call.request_.size() < whole) return;
    call.born_ = age_;
    call.head_.method->service->on_message(call, call.head_.method->index,
                                           std::string_view(call.request_).substr(kPrefixBytes, prefix.size));
    if (call.finished_) return;
    call.request_.erase(0, whole);
    buffered_ -= whole;
  }
}

void GrpcProtocol::on_request_end(http2::Stream& stream) {
  Call& call = as_call(stream);
  if (call.finished_) return;
  const std::string_view request = call.request_;
  if (call.head_.method->many_messages) {
    if (!request.empty()) return call.finish(Code::internal, "the request ended inside a message");
    return call.head_.method->service->on_last_message(call, call.head_.method->index);
  }
  if (request.size() < kPrefixBytes || request.size() < kPrefixBytes + read_prefix(request).size) {
    return call.finish(Code::internal, "the request ended inside a message");
  }
  hand_over(call, request.substr(kPrefixBytes));
}

void GrpcProtocol::hand_over(Call& call, std::string_view message) {
  call.owed_ = true;
  ++owed_;
  call.head_.method->service->on_message(call, call.head_.method->index, message);
  drop_request(call);
  if (!call.finished_ && call.has_deadline_) wake_for(call.deadline_);
}

// One timer for all calls that are owed an answer, set for the earliest deadline.
void GrpcProtocol::wake_for(TimePoint deadline) {
  const TimePoint now = services_->clock().now();
  const TimePoint at = std::clamp(deadline, now, now + kLongestWait);
  if (wakes_at_ <= at) return;
  wakes_at_ = at;
  link_.after(at - now, [this, at] {
    if (wakes_at_ == at) end_overdue();
  });
}

void GrpcProtocol::end_overdue() {
  wakes_at_ = TimePoint::max();
  const TimePoint now = services_->clock().now();
  TimePoint next = TimePoint::max();
  for (const auto& call : calls_) {
    if (!call->owed_ || !call->has_deadline_) continue;
    if (call->deadline_ <= now) {
      call->finish(Code::deadline_exceeded, "the deadline has passed");
    } else {
      next = std::min(next, call->deadline_);
    }
  }
  if (next != TimePoint::max()) wake_for(next);
  send_later();
}

void GrpcProtocol::on_finished(Call& call) {
  if (call.owed_) {
    call.owed_ = false;
    --owed_;
  }
}

void GrpcProtocol::drop_request(Call& call) {
  buffered_ -= call.request_.size();
  if (call.request_.capacity() > kKeptRequest) {
    std::string().swap(call.request_);
  } else {
    call.request_.clear();
  }
}

// False: there is not enough memory for what is waiting.
bool GrpcProtocol::reserve_memory() {
  const std::size_t waiting = buffered_ + session_->held();
  const std::size_t wanted = waiting <= kReserveStep ? 0 : (waiting + kReserveStep - 1) / kReserveStep * kReserveStep;
  if (wanted == reserved_) return true;
  if (!link_.reserve(0, wanted)) return wanted < reserved_;
  reserved_ = wanted;
  return true;
}

void GrpcProtocol::on_closed(http2::Stream& stream) {
  Call& call = as_call(stream);
  if (call.owed_) --owed_;
  drop_request(call);
  call.recycle();
  spare_.push_back(&call);
  --open_;
}

void GrpcProtocol::send() {
  session_->send(link_.output());
  // Answers that the peer does not take: it may make its calls again elsewhere.
  if (!reserve_memory()) {
    session_->go_away(http2::Error::enhance_your_calm);
    session_->send(link_.output());
    return link_.close();
  }
  if (session_->finished()) link_.close();
}

void GrpcProtocol::send_later() {
  if (inside_) return;
  send();
  link_.flush();
}

void GrpcProtocol::watch_for_stale() {
  if (sweeping_) return;
  sweeping_ = true;
  link_.after(services_->limits().request_timeout / kStaleAge, [this] { sweep(); });
}

// Ends requests that do not arrive completely and answers that are not read: receiving bytes keeps a connection alive,
// so their time is bounded here.
void GrpcProtocol::sweep() {
  sweeping_ = false;
  ++age_;
  for (const auto& call : calls_) {
    if (call->serial_ == 0 || call->owed_ || call->resting() || age_ - call->born_ <= kStaleAge) continue;
    session_->reset(*call, http2::Error::cancel);
  }
  send_later();
  if (open_ > owed_ && !link_.closed()) watch_for_stale();
}

void GrpcProtocol::start_polling() {
  if (polling_) return;
  polling_ = true;
  link_.after(kPollPeriod, [this] { poll(); });
}

void GrpcProtocol::poll() {
  polling_ = false;
  for (const auto& call : calls_) {
    if (!call->posted_ || call->finished_) continue;
    start_polling();
    call->head_.method->service->on_poll(*call, false);
  }
  if (polling_ && ++polls_ % kPollsPerPing == 0) session_->ping();
  send_later();
}

}  // namespace weir::grpc
