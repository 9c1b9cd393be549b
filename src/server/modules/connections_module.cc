#include "server/modules/connections_module.h"

#include <algorithm>

#include "server/listener_settings.h"
#include "server/port_probe.h"
#include "server/proxy_preamble.h"

namespace weir::server {
namespace {

constexpr Duration kMemoryReturnPeriod = std::chrono::seconds(1);

}  // namespace

Status ConnectionsModule::start() {
  context_.add_task(kMemoryReturnPeriod, [this] { memory_return_.poll(); });
  context_.add_facts([this](observe::Facts& facts) { add_facts(facts); });
  return success();
}

Status ConnectionsModule::bind() {
  for (const Listener& listener : context_.listeners()) {
    Status bound = bind(listener);
    if (bound.ok()) continue;
    return Failure{bound.failure().code,
                   bound.failure().message + " (choose another with --listen-" + listener.name + ")"};
  }
  return success();
}

Status ConnectionsModule::bind(const Listener& listener) {
  const Config& config = context_.config;
  const Result<transport::Endpoint> endpoint = transport::parse_endpoint(listener.address);
  if (!endpoint.ok()) return endpoint.failure();
  if (Status free = probe_free(endpoint.value()); !free.ok()) return free;
  transport::ListenOptions options;
  options.endpoint = endpoint.value();
  options.limits = connection_limits(config);
  options.protocols = listener.protocols;
  options.tls = tls_.context_for(listener.name);
  options.name = listener.name;
  options.logins = context_.logins;
  options.memory = context_.connection_memory;
  options.local_mode = static_cast<unsigned>(std::stoul(config.listen_unix_mode, nullptr, 8));
  const auto& proxied = config.listen_proxy_protocol;
  if (std::find(proxied.begin(), proxied.end(), listener.name) != proxied.end()) {
    options.preamble = proxy_preamble(identity_.identity(), context_.log);
  }
  const Result<transport::Endpoint> bound = context_.loops->listen(options);
  if (!bound.ok()) return bound.failure();
  addresses_.emplace_back(listener.name, bound.value().text());
  warn_if_unprotected(listener);
  return success();
}

void ConnectionsModule::warn_if_unprotected(const Listener& listener) const {
  const Config& config = context_.config;
  const auto& demanding = config.tls_client_listeners;
  const bool has_client_certificates = tls_.context_for(listener.name) != nullptr && !config.tls_client_ca.empty() &&
                                       std::find(demanding.begin(), demanding.end(), listener.name) != demanding.end();
  if (!is_beyond_loopback(listener.address) || listener.has_credentials || has_client_certificates) return;
  const char* const remedy = listener.name == "http"   ? "http.tokens_file or tls.client_ca"
                             : listener.name == "resp" ? "resp.password_file or tls.client_ca"
                                                       : "tls.client_ca";
  context_.log.warn("listener_unprotected",
                    "other machines can reach this listener, and it requires neither a token nor a client certificate",
                    {{"listener", listener.name}, {"address", addresses_.back().second}, {"set", remedy}});
}

void ConnectionsModule::add_facts(observe::Facts& facts) const {
  for (const transport::LoginGuard::Count& each : context_.logins->counts()) {
    facts.failed_logins.push_back({each.listener, each.kind, each.count});
  }
  for (const transport::ListenerTimes& each : context_.loops->answer_times()) {
    facts.answer_times.push_back({each.name, each.sums});
  }
  const transport::Counters connections = context_.loops->total();
  facts.connections_open = connections.open;
  facts.connections_accepted = connections.accepted;
  facts.connections_refused = connections.refused;
  facts.connections_timed_out = connections.timed_out;
  facts.connection_bytes = context_.connection_memory->used();
  facts.connection_max_bytes = context_.connection_memory->limit();
  facts.connection_memory_refusals = context_.connection_memory->refused();
}

}  // namespace weir::server
