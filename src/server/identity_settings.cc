#include "server/identity_settings.h"

#include <charconv>
#include <optional>
#include <string_view>

#include "weir/allowance.h"

namespace weir::server {
namespace {

constexpr std::string_view kSection = "identity.";

Failure at(const Config& config, const std::string& name, std::string_view message) {
  return identity_failure(config, {Code::invalid_argument, name + ": " + std::string(message)});
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t most) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < 0 || number > most) return std::nullopt;
  return number;
}

// "24/48"
std::optional<identity::AddressTier> read_tier(const NamedText& entry) {
  const std::string_view text = entry.text;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto v4 = whole_number(text.substr(0, slash), base::kIpv4Bits);
  const auto v6 = whole_number(text.substr(slash + 1), base::kIpv6Bits);
  if (!v4 || !v6) return std::nullopt;
  return identity::AddressTier{entry.name, static_cast<int>(*v4), static_cast<int>(*v6)};
}

// "GET /v1/items/{id}" and "item.read 3"
std::optional<identity::Route> read_route(const NamedText& entry) {
  identity::Route route;
  const std::size_t gap = entry.name.find(' ');
  if (gap == std::string::npos) return std::nullopt;
  route.method = entry.name.substr(0, gap);
  if (route.method == "ANY") route.method = "*";
  route.pattern = entry.name.substr(entry.name.find_first_not_of(' ', gap));
  const std::size_t blank = entry.text.find(' ');
  route.action = entry.text.substr(0, blank);
  if (blank == std::string::npos) return route;
  const std::string_view cost = std::string_view(entry.text).substr(entry.text.find_last_of(' ') + 1);
  if (entry.text.find_first_not_of(' ', blank) != entry.text.size() - cost.size()) return std::nullopt;
  const auto units = whole_number(cost, kMaxUnits);
  if (!units) return std::nullopt;
  route.cost = *units;
  return route;
}

identity::TrafficMark read_mark(const NamedText& entry) {
  const std::size_t equals = entry.text.find('=');
  identity::TrafficMark mark{entry.text.substr(0, equals), {}, entry.name};
  if (equals != std::string::npos) mark.value = entry.text.substr(equals + 1);
  return mark;
}

identity::ForwardingHeader forwarding_header(const Config& config) {
  if (config.identity_forwarding_header == "forwarded") return identity::ForwardingHeader::forwarded;
  if (config.identity_forwarding_header == "x-real-ip") return identity::ForwardingHeader::x_real_ip;
  return identity::ForwardingHeader::x_forwarded_for;
}

std::optional<identity::JwtOptions> jwt_options(const Config& config) {
  identity::JwtOptions jwt;
  jwt.pem_file = config.identity_jwt_pem_file;
  jwt.secret_file = config.identity_jwt_secret_file;
  jwt.jwks_file = config.identity_jwt_jwks_file;
  if (jwt.pem_file.empty() && jwt.secret_file.empty() && jwt.jwks_file.empty()) return std::nullopt;
  jwt.issuer = config.identity_jwt_issuer;
  jwt.audience = config.identity_jwt_audience;
  jwt.leeway = std::chrono::ceil<std::chrono::seconds>(config.identity_jwt_leeway);
  jwt.require_expiry = config.identity_jwt_require_expiry;
  return jwt;
}

}  // namespace

Result<identity::IdentityOptions> identity_options(const Config& config, const keys::KeyRing& keys) {
  identity::IdentityOptions options;
  options.trusted_proxies = config.identity_trusted_proxies;
  options.forwarding_header = forwarding_header(config);
  options.ipv4_prefix = static_cast<int>(config.identity_ipv4_prefix);
  options.ipv6_prefix = static_cast<int>(config.identity_ipv6_prefix);
  for (const NamedText& entry : config.identity_tiers) {
    std::optional<identity::AddressTier> tier = read_tier(entry);
    if (!tier) {
      return at(config, "tiers." + entry.name, "is '" + entry.text + "', expected bits of IPv4 and IPv6 such as 24/48");
    }
    options.tiers.push_back(std::move(*tier));
  }
  for (const NamedText& entry : config.identity_attributes) options.attributes.push_back({entry.name, entry.text});
  options.accept_unverified = config.identity_accept_unverified;
  options.hashed = config.identity_hashed;
  options.keys = keys;
  options.revoked_keys_file = config.identity_revoked_keys_file;
  options.jwt = jwt_options(config);
  options.jwt_header = config.identity_jwt_header;
  options.jwt_required = config.identity_jwt_required;
  for (const NamedText& entry : config.identity_routes) {
    std::optional<identity::Route> route = read_route(entry);
    if (!route) {
      return at(config, "routes." + entry.name,
                "is '" + entry.text + "', expected an entry such as GET /v1/items/{id}: item.read 3");
    }
    options.routes.push_back(std::move(*route));
  }
  options.paths.case_sensitive = config.identity_case_sensitive;
  options.paths.trailing_slash =
      config.identity_trailing_slash == "strict" ? identity::TrailingSlash::strict : identity::TrailingSlash::ignore;
  options.paths.encoded_slash =
      config.identity_encoded_slash == "keep" ? identity::EncodedSlash::keep : identity::EncodedSlash::refuse;
  options.internal_networks = config.identity_internal_networks;
  for (const NamedText& entry : config.identity_traffic) options.marks.push_back(read_mark(entry));
  return options;
}

Failure identity_failure(const Config& config, const Failure& failure) {
  const std::string name = std::string(kSection) + failure.message.substr(0, failure.message.find(": "));
  std::string_view place = place_of(config, name);
  // The entry of a map that came by a flag has the flag's place.
  if (place.empty()) place = place_of(config, name.substr(0, name.find('.', kSection.size())));
  const std::string message = std::string(kSection) + failure.message;
  return {failure.code, place.empty() ? message : std::string(place) + ": " + message};
}

std::vector<std::filesystem::path> identity_files(const Config& config) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::path& file : {config.identity_revoked_keys_file, config.identity_jwt_jwks_file,
                                            config.identity_jwt_pem_file, config.identity_jwt_secret_file}) {
    if (!file.empty()) files.push_back(file);
  }
  return files;
}

}  // namespace weir::server
