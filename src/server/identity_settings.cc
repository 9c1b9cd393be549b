#include "server/identity_settings.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "rules/compile/fault_list.h"
#include "server/config_value.h"
#include "weir/allowance.h"

namespace weir::server {
namespace {

constexpr std::string_view kSection = "identity.";
constexpr std::string_view kNamesField = "identity.names";
constexpr std::string_view kDefaultTokenName = "authorization";
constexpr std::string_view kFrontEnds[] = {"forward-auth", "spop", "http", "grpc", "resp"};
constexpr std::string_view kSentTo[] = {"http", "grpc", "resp"};  // callers send the attributes themselves

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

std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  if (text == kOff) return names;
  while (!text.empty()) {
    const std::size_t bar = std::min(text.find('|'), text.size());
    names.emplace_back(text.substr(0, bar));
    if (bar + 1 == text.size()) names.emplace_back();  // a mistake, to be reported as an empty name
    text.remove_prefix(std::min(bar + 1, text.size()));
  }
  return names;
}

// The entry of that name, if identity.names was set and has one.
const std::string* given_names(const Config& config, std::string_view role) {
  if (place_of(config, kNamesField).empty()) return nullptr;
  for (const NamedText& entry : config.identity_names) {
    if (entry.name == role) return &entry.text;
  }
  return nullptr;
}

std::string default_names(std::string_view role) {
  const std::span<const ConfigField> fields = config_fields();
  const auto field =
      std::find_if(fields.begin(), fields.end(), [](const ConfigField& each) { return each.name == kNamesField; });
  const auto pairs = parse_pairs(field->default_text);
  for (const auto& [name, text] : pairs.value()) {
    if (name == role) return text;
  }
  return {};
}

Result<identity::SentNameLists> sent_names(const Config& config) {
  constexpr std::string_view kRoles[] = {"ip", "api_key", "token"};
  for (const NamedText& entry : config.identity_names) {
    if (std::find(std::begin(kRoles), std::end(kRoles), entry.name) != std::end(kRoles)) continue;
    return at(config, "names." + entry.name,
              "is not known here" + rules::suggestion(entry.name, kRoles) + ", expected ip, api_key or token");
  }
  const auto names = [&](std::string_view role) {
    const std::string* const given = given_names(config, role);
    return split_names(given != nullptr ? *given : default_names(role));
  };
  identity::SentNameLists lists{.ip = names("ip"), .api_key = names("api_key"), .token = names("token")};
  // A token that gateways pass on in another header has that name here too.
  if (given_names(config, "token") == nullptr) {
    std::replace(lists.token.begin(), lists.token.end(), std::string(kDefaultTokenName), config.identity_jwt_header);
  }
  return lists;
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
  options.refuse_unknown_keys = config.identity_unknown_keys == "refuse";
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
  Result<identity::SentNameLists> names = sent_names(config);
  if (!names.ok()) return names.failure();
  options.names = std::move(names).value();
  options.takes_sent = std::any_of(std::begin(kSentTo), std::end(kSentTo),
                                   [&](std::string_view front_end) { return identity_applies(config, front_end); });
  return options;
}

bool identity_applies(const Config& config, std::string_view front_end) {
  const std::vector<std::string>& applied = config.identity_apply;
  return std::find(applied.begin(), applied.end(), front_end) != applied.end();
}

Status check_identity_apply(const Config& config) {
  for (const std::string& name : config.identity_apply) {
    if (std::find(std::begin(kFrontEnds), std::end(kFrontEnds), name) != std::end(kFrontEnds)) continue;
    return at(config, "apply",
              "has the entry '" + name + "'" + rules::suggestion(name, kFrontEnds) +
                  ", expected forward-auth, spop, http, grpc or resp");
  }
  return success();
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
