#include "frontends/grpc/health_service.h"

#include <array>

#include "base/protobuf_wire.h"
#include "base/utf8.h"
#include "frontends/grpc/rls_service.h"

namespace weir::grpc {
namespace {

constexpr int kServing = 1;
constexpr int kNotServing = 2;
constexpr int kServiceUnknown = 3;

// "ratelimit" is what envoyproxy/ratelimit calls itself.
constexpr std::array<std::string_view, 4> kKnown = {"", "ratelimit", RlsService::kName, "weir.v1.Limiter"};

bool is_known(std::string_view service) {
  for (const std::string_view known : kKnown) {
    if (service == known) return true;
  }
  return false;
}

bool read_request(std::string_view message, std::string_view& service) {
  base::WireReader reader(message);
  while (reader.next()) {
    if (reader.tag() == base::bytes_field(1)) service = reader.bytes();
  }
  return !reader.failed() && base::is_utf8(service);
}

void append_status(Call& call, int status) {
  base::WireWriter writer(call.begin_message());
  writer.number(1, static_cast<std::uint64_t>(status));
  call.end_message();
  call.note = status;
}

}  // namespace

int HealthService::status_now() const { return !ready_ || ready_() ? kServing : kNotServing; }

void HealthService::on_message(Call& call, int method, std::string_view message) {
  std::string_view service;
  if (!read_request(message, service)) return call.finish(Code::invalid_argument, "not a HealthCheckRequest");
  const bool known = is_known(service);
  if (method == kCheck) {
    if (!known) return call.finish(Code::not_found, "unknown service");
    append_status(call, status_now());
    return call.finish(Code::ok);
  }
  append_status(call, known ? status_now() : kServiceUnknown);
  call.flush();
  call.keep_posted();
}

void HealthService::on_poll(Call& call, bool leaving) {
  const int status = call.note == kServiceUnknown ? kServiceUnknown : leaving ? kNotServing : status_now();
  if (status != call.note) {
    append_status(call, status);
    call.flush();
  }
  if (leaving) call.finish(Code::unavailable, "the server is shutting down");
}

}  // namespace weir::grpc
