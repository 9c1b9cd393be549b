#include "server/quickstart.h"

namespace weir::server {

std::string_view quickstart_rules() {
  return R"(version: 1
defaults: {on_store_failure: allow}
rules:
  - id: requests-per-key
    per: [api_key]
    algorithm: token-bucket
    limit: 5
    window: 10s
  - id: requests-per-tenant
    per: [tenant]
    algorithm: sliding-counter
    limit: 100
    window: 60s
)";
}

std::string quickstart_command(std::string_view address) {
  constexpr std::string_view kUnix = "unix:";
  std::string where = "http://" + std::string(address);
  if (address.starts_with(kUnix)) where = "--unix-socket " + std::string(address.substr(kUnix.size())) + " http://weir";
  return "curl -i " + where + R"(/v1/check -d '{"attributes":{"tenant":"acme","api_key":"demo"}}')";
}

}  // namespace weir::server
