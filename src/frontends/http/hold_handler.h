// HoldHandler: /v1/leases and /v1/reservations: reads the request, asks the limiter, writes the answer.
//
// One for each loop: its buffers are reused from request to request. An answer that comes later may come on any thread,
// and is written on the connection's loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "frontends/http/hold_body.h"
#include "frontends/http/once.h"
#include "frontends/http/router.h"
#include "frontends/transport/ingress_time.h"
#include "frontends/transport/request_identity.h"
#include "frontends/transport/tracing.h"
#include "weir/leases.h"
#include "weir/limiter.h"
#include "weir/reservations.h"

namespace weir::http {

struct HoldOptions {
  std::size_t body_bytes = std::size_t{64} << 10;
  OnceOptions once{};  // of whatever changes something
  // Who is authenticated; ids made by clients belong to it. None: no one is.
  std::function<std::string(const HttpRequest&)> caller_of{};
  // Appends the header fields of a decision.
  std::function<void(std::string&, const Decision&)> append_fields{};
  std::shared_ptr<transport::IngressTime> times{};         // may be null
  std::shared_ptr<transport::RequestIdentity> identity{};  // may be null
  std::shared_ptr<transport::Tracing> tracing{};           // may be null
};

class HoldHandler : public std::enable_shared_from_this<HoldHandler> {
 public:
  HoldHandler(LeaseLimiter* leases, ReservationLimiter* reservations, HoldOptions options)
      : leases_(leases), reservations_(reservations), options_(std::move(options)) {}

  void acquire(const HttpRequest& request, ResponseWriter& writer);
  void renew(const HttpRequest& request, ResponseWriter& writer);
  void release_lease(const HttpRequest& request, ResponseWriter& writer);
  void list_leases(const HttpRequest& request, ResponseWriter& writer);

  void reserve(const HttpRequest& request, ResponseWriter& writer);
  // For all of them, with a store that takes no reservations.
  void refuse_reservation(const HttpRequest& request, ResponseWriter& writer);
  void commit(const HttpRequest& request, ResponseWriter& writer);
  void release(const HttpRequest& request, ResponseWriter& writer);
  void extend(const HttpRequest& request, ResponseWriter& writer);
  void get(const HttpRequest& request, ResponseWriter& writer);
  void list_reservations(const HttpRequest& request, ResponseWriter& writer);

 private:
  std::string caller_of(const HttpRequest& request) const;
  // False: the request was answered with what is wrong.
  bool read_query_attributes(const HttpRequest& request, ResponseWriter& writer);
  bool identify(Request& request, ResponseWriter& writer);
  bool accept(const Status& status, const HttpRequest& request, ResponseWriter& writer);
  void note_fields(const HttpRequest& request, const ResponseWriter& writer);
  void settle(ReservationQuestion::Verb verb, const Status& body, const HttpRequest& request, ResponseWriter& writer);

  template <typename Holds, typename Question>
  void ask_and_answer(Holds& holds, const Question& question, ResponseWriter& writer);
  Response render(const LeaseAnswer& answer, LeaseQuestion::Verb verb);
  Response render(const ReservationAnswer& answer, ReservationQuestion::Verb verb);
  Response render_fault(HoldFault fault, std::string_view message);
  Response render_denial(const Decision& decision, bool replayed);
  void begin_answer(const Decision* decision, bool replayed);

  LeaseLimiter* const leases_;
  ReservationLimiter* const reservations_;
  const HoldOptions options_;
  HoldBody body_;
  std::vector<std::string> query_texts_;
  std::vector<Attribute> query_attributes_;
  std::string json_;
  std::string fields_;
};

// Adds the routes that the limiter supports. It outlives the router.
void add_hold_routes(Router& router, Limiter& limiter, HoldOptions options);

}  // namespace weir::http
