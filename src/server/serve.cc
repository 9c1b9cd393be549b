#include "server/serve.h"

#include <algorithm>
#include <csignal>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "console/console_routes.h"
#include "observe/log.h"
#include "server/memory_return.h"
#include "server/quickstart.h"
#include "server/server.h"

namespace weir::server {
namespace {

observe::Log::Options log_options(const Config& config, const Console& console) {
  observe::Log::Options options;
  options.format = config.log_format == "json" ? observe::Log::Format::json : observe::Log::Format::text;
  options.level = observe::level_from_name(config.log_level).value_or(observe::Level::info);
  options.colour = console.coloured_log;
  return options;
}

sigset_t served_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, each);
  return signals;
}

const char* purpose_of(std::string_view listener) {
  if (listener == "http") return "HTTP API";
  if (listener == "grpc") return "gRPC";
  if (listener == "resp") return "Redis protocol";
  if (listener == "spop") return "HAProxy SPOE";
  if (listener == "admin") return "admin: /metrics, /readyz";
  return "";
}

void greet_console(std::string_view address, const Config& config, std::ostream& out) {
  if (address == kOff || address.starts_with("unix:")) return;
  if (console::console_files().empty()) {
    out << console::kHowToGet << "\n";
    return;
  }
  const std::vector<std::string>& encrypted = config.tls_listeners;
  const bool tls =
      !config.tls_cert.empty() && std::find(encrypted.begin(), encrypted.end(), "admin") != encrypted.end();
  out << "console: " << (tls ? "https://" : "http://") << address << "/console\n";
}

void greet(const Server& server, const Config& config, std::ostream& out) {
  const char* before = "weir listens on ";
  for (const auto& [name, address] : server.addresses()) {
    if (address == kOff) continue;
    out << before << address << " (" << purpose_of(name) << ")\n";
    before = "            and ";
  }
  greet_console(server.address("admin"), config, out);
  if (config.rules_path.empty() && server.address("http") != kOff) {
    out << "try it; the sixth request within ten seconds is denied:\n\n  " << quickstart_command(server.address("http"))
        << "\n\n";
  }
  out.flush();
}

}  // namespace

Status serve(const Config& config, const Console& console) {
  return_large_blocks();
  // Blocked in all threads that start from here on, and received one by one below.
  const sigset_t signals = served_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  const auto clock = std::make_shared<ProcessClock>();
  observe::Log log(log_options(config, console), *clock);
  Result<std::unique_ptr<Server>> server = Server::start(config, clock, log);
  if (!server.ok()) return server.failure();
  if (log.format() == observe::Log::Format::text) greet(*server.value(), config, console.out);

  int signal = 0;
  do {
    ::sigwait(&signals, &signal);
    if (signal == SIGHUP) static_cast<void>(server.value()->reload());  // a failure is logged, the old rules stay
  } while (signal == SIGHUP);

  // From now on the default is right: a second SIGTERM or SIGINT ends the process.
  std::signal(SIGHUP, SIG_IGN);
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  server.value()->drain();
  return success();
}

}  // namespace weir::server
