#include "server/log_settings.h"

#include <string_view>

#include "server/identity_settings.h"

namespace weir::server {
namespace {

// What identity hashes, under every name that it may have, and what is read from a place where secrets are.
observe::SecretNames secret_names(const identity::IdentityOptions& identity) {
  observe::SecretNames names;
  for (const std::string& name : identity.hashed) names.add(name);
  for (const std::string& name : identity.names.api_key) names.add(name);
  for (const std::string& name : identity.names.token) names.add(name);
  names.add(identity.jwt_header);
  for (const identity::AttributeFrom& each : identity.attributes) {
    const std::string_view source = each.source;
    const std::string_view field = source.substr(source.find(':') + 1);
    if (source.starts_with("cookie:") || (!source.starts_with("jwt:") && names.contains(field))) {
      names.add(each.attribute);
    }
  }
  return names;
}

}  // namespace

Result<observe::DecisionLogOptions> decision_log_options(const Config& config, const keys::KeyRing& keys) {
  Result<identity::IdentityOptions> identity = identity_options(config, keys);
  if (!identity.ok()) return identity.failure();
  observe::DecisionLogOptions options;
  options.sample = {.allowed = config.log_decisions, .denied = config.log_denials};
  options.degraded_per_second = config.log_degraded_per_second;
  options.plain = config.log_subjects == "plain";
  options.secrets = secret_names(identity.value());
  options.hash_key = keys.previous.value_or(keys.current);  // as the engine that decides
  options.region = config.region_name;
  return options;
}

}  // namespace weir::server
