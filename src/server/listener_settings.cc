#include "server/listener_settings.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "frontends/spop/frame.h"
#include "frontends/transport/endpoint.h"

namespace weir::server {
namespace {

// The largest body where none is expected.
constexpr std::int64_t kMaxIdleBody = 64 << 10;
// Room in a connection's buffer beside headers and body.
constexpr std::size_t kSpareInput = http::kMaxChunkOverhead + 4096;

// What was shown is a secret, or nearly one: it is not logged.
void log_failed_login(observe::Log& log, const transport::FailedLogin& login) {
  std::vector<observe::Field> fields = {{"listener", login.listener},
                                        {"kind", transport::login_kind_name(login.kind)},
                                        {"address", login.address.empty() ? "unix" : login.address}};
  if (!login.cause.empty()) fields.emplace_back("cause", login.cause);
  if (login.failures > 0) fields.emplace_back("failures", login.failures);
  if (login.delay > Duration(0)) fields.emplace_back("delay_ms", ceil_ms(login.delay));
  log.write(observe::Level::warn, "login_failed", "a login was refused", fields);
}

}  // namespace

transport::Limits connection_limits(const Config& config) {
  transport::Limits limits;
  limits.input_bytes = static_cast<std::size_t>(config.http_header_bytes + config.http_body_bytes) + kSpareInput;
  limits.connections = static_cast<std::size_t>(config.http_max_connections);
  limits.idle_timeout = config.http_idle_timeout;
  limits.message_timeout = config.http_message_timeout;
  limits.write_timeout = config.http_message_timeout;
  return limits;
}

http::HttpLimits message_limits(const Config& config) {
  http::HttpLimits limits;
  limits.header_bytes = static_cast<std::size_t>(config.http_header_bytes);
  limits.request_line_bytes = std::min(limits.request_line_bytes, limits.header_bytes);
  limits.body_bytes = static_cast<std::size_t>(std::min(config.http_body_bytes, kMaxIdleBody));
  return limits;
}

// Chunks are copied, so a body may be there twice; and large messages may use three quarters.
std::size_t least_connection_memory(const Config& config) {
  const transport::Limits limits = connection_limits(config);
  const std::size_t message =
      limits.input_bytes + static_cast<std::size_t>(config.http_body_bytes) + limits.output_bytes;
  return message + message / 3 + message / 8;
}

// A frame carries a client's headers, so what these may have it must have room for.
std::uint32_t spop_frame_bytes(const Config& config) {
  return std::max(spop::kMaxFrameBytes, static_cast<std::uint32_t>(config.http_header_bytes));
}

render::HeaderOptions header_options(const Config& config) {
  const Result<render::HeaderOptions> read = render::parse_header_names(config.http_headers);
  assert(read.ok());
  render::HeaderOptions options = read.value();
  options.reset_as_unix_time = config.http_reset == "unix-time";
  return options;
}

bool is_beyond_loopback(const std::string& address) {
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(address);
  if (!endpoint.ok() || endpoint.value().kind != transport::Endpoint::Kind::tcp) return false;
  return !endpoint.value().host.starts_with("127.") && endpoint.value().host != "::1";
}

std::shared_ptr<transport::LoginGuard> make_login_guard(std::shared_ptr<Clock> clock, observe::Log& log) {
  return std::make_shared<transport::LoginGuard>(
      std::move(clock), [&log](const transport::FailedLogin& login) { log_failed_login(log, login); });
}

}  // namespace weir::server
