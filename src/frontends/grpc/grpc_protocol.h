// GrpcProtocol: gRPC over HTTP/2 on one connection. Framing is http2::Session's, answers are the services'; what is
// here is gRPC itself: which requests are calls, length-prefixed messages, status, deadlines, and the bounds on all of
// it.
//
// Lives on its connection's loop. A loop's connections share one ServiceTable.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/grpc/call.h"
#include "frontends/http2/session.h"
#include "frontends/transport/ingress_time.h"
#include "frontends/transport/protocol.h"
#include "weir/time.h"

namespace weir::grpc {

struct GrpcLimits {
  http2::SessionLimits http2;
  std::size_t message = std::size_t{1} << 20;   // one request message
  std::size_t buffered = std::size_t{4} << 20;  // all incomplete requests of a connection
  Duration request_timeout =
      std::chrono::seconds(10);  // for a request to arrive completely, or for its answer to be read
};

// What a loop's connections share. Constant once connections exist.
class ServiceTable {
 public:
  ServiceTable(std::shared_ptr<Clock> clock, const GrpcLimits& limits) : clock_(std::move(clock)), limits_(limits) {}
  virtual ~ServiceTable() = default;

  const Method* find(std::string_view path) const;
  Clock& clock() const { return *clock_; }
  const std::shared_ptr<Clock>& shared_clock() const { return clock_; }
  const GrpcLimits& limits() const { return limits_; }
  // Null: gateways send no time.
  transport::IngressTime* times() const { return times_.get(); }
  // Null: no call is traced.
  transport::Tracing* tracing() const { return tracing_.get(); }

 protected:
  // The most used first. The service must live as long as the table.
  void add(const Method& method) { methods_.push_back(method); }
  void set_times(std::shared_ptr<transport::IngressTime> times) { times_ = std::move(times); }
  void set_tracing(std::shared_ptr<transport::Tracing> tracing) { tracing_ = std::move(tracing); }

 private:
  std::vector<Method> methods_;
  std::shared_ptr<Clock> clock_;
  GrpcLimits limits_;
  std::shared_ptr<transport::IngressTime> times_;
  std::shared_ptr<transport::Tracing> tracing_;
};

class GrpcProtocol final : public transport::Protocol, private http2::Events {
 public:
  // Bytes handled before answers are sent and congestion is checked.
  static constexpr std::size_t kSlice = std::size_t{64} << 10;
  // Requests and answers that wait take memory that all connections share: none of it up to one step, then step by
  // step.
  static constexpr std::size_t kReserveStep = std::size_t{32} << 10;
  // Calls keep memory for requests up to this size.
  static constexpr std::size_t kKeptRequest = std::size_t{16} << 10;
  static constexpr Duration kPollPeriod = std::chrono::milliseconds(250);
  // A watched connection is pinged after this many polls, so that a peer that vanished is noticed.
  static constexpr int kPollsPerPing = 120;
  // The longest that the timer of the deadlines is set for: a timer that is set cannot be cancelled.
  static constexpr Duration kLongestWait = std::chrono::seconds(1);
  // Between "about to leave" and "have left".
  static constexpr Duration kGoAwayGrace = std::chrono::milliseconds(100);

  GrpcProtocol(transport::Link& link, std::shared_ptr<const ServiceTable> services);

  std::size_t on_bytes(std::string_view bytes) override;
  bool idle() const override;
  bool waiting() const override { return owed_ > 0; }
  bool owing() const override;
  void on_timeout() override;
  void on_idle_timeout() override { on_timeout(); }
  void on_shortage() override { on_timeout(); }
  void on_drain() override;

 private:
  friend class Call;
  friend class PendingCall;

  http2::Stream& on_stream(std::int32_t id) override;
  void on_field(http2::Stream& stream, std::string_view name, std::string_view value) override;
  static void note_ingress(CallHead& head, std::string_view value);
  static void note_trace(CallHead& head, std::string_view value);
  void on_same_fields(http2::Stream& stream) override;
  void on_headers_end(http2::Stream& stream) override;
  void on_headers_too_large(http2::Stream& stream) override;
  void on_body(http2::Stream& stream, std::string_view bytes) override;
  void on_request_end(http2::Stream& stream) override;
  void on_closed(http2::Stream& stream) override;

  void refuse(Call& call, std::string_view http_status);
  void take_messages(Call& call);
  void hand_over(Call& call, std::string_view message);
  void wake_for(TimePoint deadline);
  void end_overdue();
  void on_finished(Call& call);
  void drop_request(Call& call);
  bool reserve_memory();
  void send();
  void send_later();
  void watch_for_stale();
  void sweep();
  void start_polling();
  void dismiss_watchers();
  void poll();

  transport::Link& link_;
  const std::shared_ptr<const ServiceTable> services_;
  std::unique_ptr<http2::Session> session_;
  std::vector<std::unique_ptr<Call>> calls_;  // as many as were ever open at once
  std::vector<Call*> spare_;
  CallHead last_head_;  // of the last request whose fields were reported
  std::uint64_t serial_ = 0;
  std::size_t open_ = 0;
  std::size_t owed_ = 0;
  std::size_t buffered_ = 0;
  std::size_t reserved_ = 0;  // memory for what is buffered and held, in steps of kReserveStep
  std::uint32_t age_ = 0;
  TimePoint wakes_at_ = TimePoint::max();  // for deadlines; max: it does not
  int polls_ = 0;
  bool inside_ = false;    // in on_bytes(), which sends at its end
  bool in_frame_ = false;  // the last bytes began a frame, the greeting, or a block of fields, and did not end it
  bool sweeping_ = false;
  bool polling_ = false;
};

}  // namespace weir::grpc
