#include "server/server_context.h"

#include <algorithm>
#include <thread>

#include "base/json_text.h"
#include "server/listener_settings.h"
#include "server/version.h"

namespace weir::server {
namespace {

constexpr std::size_t kShownError = 2048;

std::size_t loop_count(const Config& config) {
  if (config.loops > 0) return static_cast<std::size_t>(config.loops);
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

void HealthDetails::add_section(std::string_view name, std::string_view members) {
  sections_ += ",\"";
  sections_ += name;
  sections_ += "\":{";
  sections_ += members;
  sections_ += '}';
}

std::string error_member(std::string_view error) {
  std::string out = ",\"error\":";
  base::append_json_string(out, error, kShownError);
  return out;
}

ServerContext::ServerContext(const Config& settings, std::shared_ptr<ProcessClock> process_clock, observe::Log& to,
                             const keys::KeyRing& ring)
    : config(settings),
      clock(std::move(process_clock)),
      log(to),
      keys(ring),
      started(clock->wall()),
      logins(make_login_guard(clock, log)),
      connection_memory(
          std::make_shared<transport::ConnectionMemory>(static_cast<std::size_t>(config.connection_memory))),
      loops(std::make_unique<transport::Loops>(loop_count(config))) {}

std::shared_ptr<http::Router> ServerContext::make_router(std::string_view listener, std::size_t loop) const {
  auto router = std::make_shared<http::Router>();
  for (const auto& [name, add] : routes_) {
    if (name == listener) add(*router, loop);
  }
  return router;
}

observe::Facts ServerContext::facts() const {
  observe::Facts facts;
  facts.version = kVersion;
  facts.started = started;
  facts.log_lines_suppressed = static_cast<std::uint64_t>(log.suppressed());
  for (const AddFacts& add : facts_) add(facts);
  return facts;
}

http::HealthReport ServerContext::health(bool for_operators) const {
  http::HealthReport report;
  report.ready = !draining.load(std::memory_order_relaxed);
  HealthDetails details(for_operators);
  for (const AddHealth& add : health_) add(details);
  report.details = report.ready ? R"({"ready":true,"draining":false)" : R"({"ready":false,"draining":true)";
  report.details += details.sections() + "}";
  return report;
}

}  // namespace weir::server
