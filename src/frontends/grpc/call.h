// Call: one RPC as its service sees it. Service and Method: what a call can be made to.
//
//   void on_message(Call& call, int method, std::string_view message) override {
//     std::string& out = call.begin_message();   // append the answer's bytes
//     call.end_message();
//     call.finish(Code::ok);
//   }
//
// Everything runs on the connection's loop. A Call belongs to its connection; a service that answers later keeps a
// PendingCall instead, which knows when the call or the connection is gone.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "frontends/http2/session.h"
#include "frontends/transport/protocol.h"
#include "frontends/transport/tracing.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::grpc {

class Call;
class GrpcProtocol;

class Service {
 public:
  virtual ~Service() = default;
  // One complete message of the request. `message` lives during the call only. The service answers with finish(), now
  // or later (Call::defer).
  virtual void on_message(Call& call, int method, std::string_view message) = 0;
  // The client has sent its last message; for methods that take many.
  virtual void on_last_message(Call&, int /*method*/) {}
  // Asked now and then while a call with keep_posted() is open, and once more, with `leaving`, when the server drains.
  virtual void on_poll(Call&, bool /*leaving*/) {}
};

struct Method {
  std::string_view path;  // "/package.Service/Method"
  Service* service = nullptr;
  int index = 0;  // which of the service's methods
  bool many_messages = false;
};

// A call to be answered later, from any thread.
class PendingCall {
 public:
  PendingCall(std::shared_ptr<transport::Link> link, Call& call);

  // Runs `answer` on the call's loop, unless the call is over by then. Copies share the call.
  void complete(std::function<void(Call&)> answer) const;

 private:
  void run(const std::function<void(Call&)>& answer) const;

  std::shared_ptr<transport::Link> link_;  // keeps the connection, and so the call's memory
  Call* call_;
  std::uint64_t serial_;
};

// What a request's header fields say about the call.
struct CallHead {
  static constexpr std::size_t kIngressBytes = 32;

  const Method* method = nullptr;
  Duration timeout{0};
  // The field of IngressTime: how many there are, and the first, or nothing if that is longer than any such time.
  std::array<char, kIngressBytes> ingress{};
  std::uint8_t ingress_size = 0;
  std::uint8_t ingress_count = 0;
  // `traceparent`, as far as it is read: how many there are, and the first.
  std::uint8_t trace_count = 0;
  std::uint8_t trace_size = 0;
  std::array<char, transport::kTraceparentBytes> trace;
  bool post = false;
  bool grpc_content = false;
  bool has_timeout = false;
  bool bad_timeout = false;
};

class Call final : public http2::Stream {
 public:
  explicit Call(GrpcProtocol& connection) : connection_(connection) {}

  // A message of the answer is what is appended to the string between the two. Only one at a time.
  std::string& begin_message();
  void end_message();
  // Sends the messages so far without waiting for finish(); for methods that answer with many.
  void flush();
  // The call's end. With any other code than ok, and nothing flushed, messages so far are dropped. A deadline that has
  // passed turns the code into deadline_exceeded.
  void finish(Code code, std::string_view text = {});
  bool finished() const { return finished_; }

  PendingCall defer();
  // When a gateway received the request, if its fields say so and are trusted; else the epoch.
  TimePoint ingress() const;
  // The trace that it is part of; null: none. Valid as transport::Tracing says.
  const TraceContext* trace() const;
  // Asks for Service::on_poll.
  void keep_posted();
  // For the service's own use; 0 when the call begins.
  std::int64_t note = 0;

 private:
  friend class GrpcProtocol;
  friend class PendingCall;

  void begin(std::int32_t stream_id, std::uint64_t serial);
  void recycle();
  // Between two messages of a stream, with every answer sent.
  bool resting() const;
  void send_status_only();
  void send_rest();

  GrpcProtocol& connection_;
  std::uint64_t serial_ = 0;  // differs between one use of this memory and the next; 0: not in use
  CallHead head_;
  std::string request_;      // received and not yet handled
  std::string status_text_;  // percent-encoded
  std::size_t message_at_ = 0;
  std::uint32_t born_ = 0;  // when the call, or its last message, began: the connection's age, in sweeps
  TimePoint deadline_{};
  Code status_ = Code::ok;

  bool has_deadline_ = false;
  bool head_sent_ = false;
  bool owed_ = false;  // the service has the request and has not finished
  bool tell_encodings_ = false;
  bool posted_ = false;
  bool finished_ = false;
};

}  // namespace weir::grpc
