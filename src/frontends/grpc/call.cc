#include "frontends/grpc/call.h"

#include <array>
#include <utility>

#include "frontends/grpc/grpc_protocol.h"
#include "frontends/grpc/grpc_text.h"

namespace weir::grpc {
namespace {

constexpr std::size_t kMessagePrefix = 5;
// Buffers above this size are not kept for the next call.
constexpr std::size_t kKeptBytes = std::size_t{16} << 10;

constexpr http2::Field kStatusOk{":status", "200"};
constexpr http2::Field kContentType{"content-type", "application/grpc", true};
constexpr std::array<http2::Field, 2> kHead = {kStatusOk, kContentType};

void empty(std::string& text) {
  if (text.capacity() > kKeptBytes) {
    std::string().swap(text);
  } else {
    text.clear();
  }
}

}  // namespace

PendingCall::PendingCall(std::shared_ptr<transport::Link> link, Call& call)
    : link_(std::move(link)), call_(&call), serial_(call.serial_) {}

void PendingCall::complete(std::function<void(Call&)> answer) const {
  if (link_->on_loop()) return run(answer);
  link_->post([self = *this, answer = std::move(answer)] { self.run(answer); });
}

void PendingCall::run(const std::function<void(Call&)>& answer) const {
  if (link_->closed() || call_->serial_ != serial_ || call_->finished_) return;
  answer(*call_);
  call_->connection_.send_later();
}

void Call::begin(std::int32_t stream_id, std::uint64_t serial) {
  id = stream_id;
  serial_ = serial;
}

// Back to a fresh call, but for the memory of its buffers.
void Call::recycle() {
  id = 0;
  request_ended = false;
  empty(body);
  taken = 0;
  complete = false;
  trailers.clear();
  note = 0;
  serial_ = 0;
  head_ = {};
  empty(request_);
  status_text_.clear();
  status_ = Code::ok;
  has_deadline_ = head_sent_ = false;
  owed_ = tell_encodings_ = posted_ = finished_ = false;
}

bool Call::resting() const {
  const bool open = serial_ != 0 && head_.method != nullptr && !finished_;
  return open && head_.method->many_messages && request_.empty() && body.empty();
}

std::string& Call::begin_message() {
  message_at_ = body.size();
  body.append(kMessagePrefix, '\0');
  return body;
}

void Call::end_message() {
  const std::size_t size = body.size() - message_at_ - kMessagePrefix;
  for (std::size_t i = 0; i < 4; ++i) body[message_at_ + 1 + i] = static_cast<char>(size >> (24 - 8 * i));
}

void Call::flush() {
  if (head_sent_) return connection_.session_->resume(*this);
  head_sent_ = true;
  connection_.session_->respond(*this, kHead, true);
}

void Call::finish(Code code, std::string_view text) {
  if (finished_) return;
  finished_ = true;
  if (has_deadline_ && connection_.services_->clock().now() >= deadline_) {
    code = Code::deadline_exceeded;
    text = "the answer came after the deadline";
  }
  status_ = code;
  append_percent_encoded(status_text_, text);
  if (code != Code::ok && !head_sent_) {
    send_status_only();
  } else {
    send_rest();
  }
  connection_.on_finished(*this);
}

void Call::send_status_only() {
  body.clear();
  InlineVector<http2::Field, 5> fields;
  fields.push_back(kStatusOk);
  fields.push_back(kContentType);
  fields.push_back({"grpc-status", status_text(status_)});
  if (!status_text_.empty()) fields.push_back({"grpc-message", status_text_});
  if (tell_encodings_) fields.push_back({"grpc-accept-encoding", "identity"});
  connection_.session_->respond(*this, {fields.data(), fields.size()}, false);
}

void Call::send_rest() {
  complete = true;
  trailers.push_back({"grpc-status", status_text(status_), status_ == Code::ok});
  if (!status_text_.empty()) trailers.push_back({"grpc-message", status_text_});
  flush();
}

TimePoint Call::ingress() const {
  transport::IngressTime* const times = connection_.services_->times();
  if (times == nullptr) return {};
  return times->read(head_.ingress_count, {head_.ingress.data(), head_.ingress_size}, connection_.link_.peer());
}

const TraceContext* Call::trace() const {
  transport::Tracing* const tracing = connection_.services_->tracing();
  if (tracing == nullptr) return nullptr;
  const std::string_view only(head_.trace.data(), head_.trace_size);
  return tracing->begin(head_.trace_count == 1 ? only : std::string_view());
}

PendingCall Call::defer() { return PendingCall(connection_.link_.hold(), *this); }

void Call::keep_posted() {
  posted_ = true;
  connection_.start_polling();
}

}  // namespace weir::grpc
