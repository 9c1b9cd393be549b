#include "server/listener_tls.h"

#include <algorithm>

#include "rules/compile/fault_list.h"

namespace weir::server {
namespace {

constexpr std::string_view kListeners[] = {"http", "grpc", "resp", "spop", "admin"};

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_names(std::string_view field, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (std::find(std::begin(kListeners), std::end(kListeners), name) != std::end(kListeners)) continue;
    return Failure{Code::invalid_argument, std::string(field) + ": has '" + name + "'" +
                                               rules::suggestion(name, kListeners) +
                                               ", expected http, grpc, resp, spop or admin"};
  }
  return success();
}

transport::TlsOptions options_for(const Config& config, std::string_view listener) {
  transport::TlsOptions options;
  options.certificate_chain = config.tls_cert;
  options.private_key = config.tls_key;
  if (contains(config.tls_client_listeners, listener)) options.client_ca = config.tls_client_ca;
  if (listener == "grpc") options.alpn = {"h2"};
  return options;
}

}  // namespace

Status check_tls_settings(const Config& config) {
  const auto wrong = [](std::string message) { return Failure{Code::invalid_argument, std::move(message)}; };
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return wrong(config.tls_cert.empty() ? "tls.cert: is empty, expected the certificate of tls.key"
                                         : "tls.key: is empty, expected the private key of tls.cert");
  }
  if (!config.tls_client_ca.empty() && config.tls_cert.empty()) {
    return wrong("tls.client_ca: is set without tls.cert, so no listener would ask for a client certificate");
  }
  if (Status names = check_names("tls.listeners", config.tls_listeners); !names.ok()) return names;
  return check_names("tls.client_listeners", config.tls_client_listeners);
}

Status ListenerTls::open(const Config& config) {
  if (config.tls_cert.empty()) return success();
  for (const std::string& listener : config.tls_listeners) {
    Result<std::shared_ptr<transport::TlsContext>> made = transport::TlsContext::create(options_for(config, listener));
    if (!made.ok()) return Failure{made.failure().code, "tls: " + made.failure().message};
    contexts_[listener] = std::move(made).value();
  }
  return success();
}

std::shared_ptr<const transport::TlsContext> ListenerTls::context_for(std::string_view listener) const {
  const auto found = contexts_.find(listener);
  return found == contexts_.end() ? nullptr : found->second;
}

Status ListenerTls::reload() {
  for (const auto& [listener, context] : contexts_) {
    Status status = context->reload();
    if (status.ok()) continue;
    log_.error("tls_rejected", "invalid certificates; those in use stay",
               {{"listener", listener}, {"error", status.failure().message}});
    return status;
  }
  if (!contexts_.empty()) log_.info("tls_loaded", "certificates were read again");
  return success();
}

}  // namespace weir::server
