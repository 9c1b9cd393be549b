#include "identity/identity.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ascii.h"
#include "base/utf8.h"
#include "identity/credentials.h"
#include "identity/option_check.h"
#include "identity/route_path.h"

namespace weir::identity {
namespace {

using Kind = FieldSource::Kind;

constexpr std::string_view kApiKey = "api_key";
constexpr std::string_view kAuthorization = "authorization";
constexpr std::array<std::string_view, 2> kNeedVerified = {"tenant", "plan"};
constexpr std::array<std::string_view, 7> kBuiltIn = {"ip", "method", "path", "host", "scheme", "action", "traffic"};
constexpr std::size_t kMaxForwardingLines = 32;
constexpr std::string_view kExternal = "external";

// A message may say what is wrong with a request's form; about credentials it is always the same, so that no one learns
// by trying.
Refusal malformed(std::string_view text, const char* cause) { return {Refusal::Kind::malformed, text, cause}; }
Refusal malformed(const char* cause) { return malformed("the request could not be read", cause); }
Refusal repeated() {
  return malformed("a header, cookie or query parameter that identifies the caller is sent more than once",
                   "repeated_field");
}
Refusal malformed_field() {
  return malformed("a header, cookie or query parameter that identifies the caller can be read in two ways",
                   "malformed_field");
}
Refusal malformed_path() {
  return malformed(
      "the path is malformed or can be read in two ways: an encoded slash, a backslash, a dot segment, a space at the "
      "end of a segment, a control character, a broken or double escape, invalid UTF-8, or a fragment",
      "path");
}
Refusal malformed_credentials() {
  return malformed("the credentials can be read in two ways; send one scheme, one space and one token", "credentials");
}
Refusal unauthenticated(std::string cause) {
  return {Refusal::Kind::unauthenticated, "the credentials were not accepted", std::move(cause)};
}
Refusal blocked() { return {Refusal::Kind::blocked, "the caller is blocked", "revoked_key"}; }

template <typename List, typename Value>
bool contains(const List& list, const Value& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool has_control(std::string_view text) { return std::any_of(text.begin(), text.end(), base::is_control); }

Failure invalid(std::string message) { return {Code::invalid_argument, std::move(message)}; }
Failure at(const char* option, const Failure& failure) {
  return {failure.code, std::string(option) + ": " + failure.message};
}

}  // namespace

Identity::Identity(IdentityOptions options, ClientAddress addresses, ClientAddress internal, ApiKeys api_keys,
                   RouteTable routes)
    : options_(std::move(options)),
      addresses_(std::move(addresses)),
      internal_(std::move(internal)),
      api_keys_(std::move(api_keys)),
      routes_(std::move(routes)) {}

Result<std::shared_ptr<const Identity>> Identity::create(const IdentityOptions& options) {
  if (Status ranges = check_ranges(options); !ranges.ok()) return ranges.failure();
  if (Status effects = check_options(options); !effects.ok()) return effects.failure();
  Result<ClientAddress> addresses = ClientAddress::create(options.trusted_proxies, options.forwarding_header);
  if (!addresses.ok()) return at("trusted_proxies", addresses.failure());
  Result<ClientAddress> internal = ClientAddress::create(options.internal_networks);
  if (!internal.ok()) return at("internal_networks", internal.failure());
  Result<ApiKeys> api_keys = ApiKeys::load(options.keys, options.revoked_keys_file);
  if (!api_keys.ok()) return at("revoked_keys_file", api_keys.failure());
  Result<RouteTable> routes = RouteTable::create(options.routes, options.paths);
  if (!routes.ok()) return at("routes", routes.failure());

  std::shared_ptr<Identity> identity(new Identity(options, std::move(addresses).value(), std::move(internal).value(),
                                                  std::move(api_keys).value(), std::move(routes).value()));
  if (options.jwt) {
    Result<JwtVerifier> verifier = JwtVerifier::load(*options.jwt);
    if (!verifier.ok()) return at("jwt", verifier.failure());
    identity->jwt_.emplace(std::move(verifier).value());
  }
  if (Status sources = identity->prepare_sources(); !sources.ok()) return sources.failure();
  if (Status names = identity->prepare_sent_names(); !names.ok()) return names.failure();
  return std::shared_ptr<const Identity>(std::move(identity));
}

Status Identity::check_ranges(const IdentityOptions& options) {
  const auto fits = [](int v4, int v6) { return v4 >= 0 && v4 <= base::kIpv4Bits && v6 >= 0 && v6 <= base::kIpv6Bits; };
  if (!fits(options.ipv4_prefix, options.ipv6_prefix)) return invalid("ipv6_prefix: is longer than an address");
  for (const AddressTier& tier : options.tiers) {
    if (tier.attribute.empty() || contains(kBuiltIn, tier.attribute)) {
      return invalid("tiers." + tier.attribute + ": a tier needs a name of its own");
    }
    if (!fits(tier.ipv4_prefix, tier.ipv6_prefix)) {
      return invalid("tiers." + tier.attribute + ": is longer than an address, expected at most 32/128");
    }
  }
  for (const TrafficMark& mark : options.marks) {
    if (mark.header.empty() || mark.as.empty()) return invalid("traffic." + mark.as + ": needs a header and a name");
  }
  if (options.jwt_required && !options.jwt) return invalid("jwt_required: there is no key to verify a token with");
  // Before any request can exceed it; those that are hashed are listed twice during a rotation.
  const std::size_t hashed = options.hashed.size() + 1;
  const std::size_t most = options.attributes.size() + hashed + options.tiers.size() + kBuiltIn.size();
  if (most > kMaxAttributes) return invalid("attributes: are more than a request may have");
  return success();
}

Status Identity::prepare_sources() {
  for (const AttributeFrom& from : options_.attributes) {
    const std::string& name = from.attribute;
    const auto is_tier = [&](const AddressTier& tier) { return tier.attribute == name; };
    if (name.empty() || name.size() + kPreviousSuffix.size() > kMaxAttributeName) {
      return invalid("attributes: a name is empty or too long");
    }
    if (name.ends_with(kPreviousSuffix)) return invalid("attributes." + name + ": is a reserved name");
    if (contains(kBuiltIn, name) || std::any_of(options_.tiers.begin(), options_.tiers.end(), is_tier)) {
      return invalid("attributes." + name + ": is made by Weir itself and has no source");
    }
    Result<FieldSource> field = parse_field_source(from.source);
    if (!field.ok()) return invalid("attributes." + name + ": " + field.failure().message);
    const bool is_hashed = name == kApiKey || contains(options_.hashed, name);
    Source source{name, name + std::string(kPreviousSuffix), std::move(field).value(), 0, is_hashed};
    if (contains(kNeedVerified, name) && !source.field.is_verified() && !contains(options_.accept_unverified, name)) {
      return invalid("attributes." + name + ": " + from.source +
                     " is not verified; use jwt: or gateway:, or list it in accept_unverified");
    }
    if (source.field.kind == Kind::jwt) {
      if (!jwt_) return invalid("attributes." + name + ": comes from a token, but there is no key to verify it");
      source.claim = claim_paths_.size();
      claim_paths_.push_back(source.field.name);
    }
    sources_.push_back(std::move(source));
  }
  return success();
}

std::optional<Refusal> Identity::identify(const Inbound& inbound, TimePoint now, CallerAttributes& caller) const {
  Seen seen{inbound, now};
  see_peer(seen);
  seen.inbound.target = without_origin(inbound.target);
  if (!is_method(inbound.method) || !is_scheme(inbound.scheme)) {
    caller.clear();
    return malformed("method_or_scheme");
  }
  return identify(seen, now, caller);
}

std::optional<Refusal> Identity::identify_forwarded(const Inbound& inbound, TimePoint now,
                                                    CallerAttributes& caller) const {
  Seen seen{inbound, now};
  see_peer(seen);
  if (seen.trusted_peer) {
    const std::optional<ForwardedRequest> forwarded = read_forwarded(inbound.headers);
    if (!forwarded) {
      caller.clear();
      return malformed("forwarded");
    }
    if (!forwarded->method.empty()) seen.inbound.method = forwarded->method;
    if (!forwarded->target.empty()) seen.inbound.target = forwarded->target;
    if (!forwarded->host.empty()) seen.inbound.host = forwarded->host;
    if (!forwarded->scheme.empty()) seen.inbound.scheme = forwarded->scheme;
  }
  return identify(seen, now, caller);
}

std::optional<Refusal> Identity::identify(Seen& seen, TimePoint now, CallerAttributes& caller) const {
  caller.clear();
  std::optional<std::string> path = normal_path(seen.inbound.target, options_.paths.encoded_slash);
  if (!path) return malformed_path();
  seen.path = std::move(*path);
  std::optional<std::string> host = normal_host(seen.inbound.host);
  if (!host) return malformed("host");
  seen.host = std::move(*host);
  std::transform(seen.inbound.scheme.begin(), seen.inbound.scheme.end(), std::back_inserter(seen.scheme), base::lower);
  // All methods are in capitals; some servers take others for the same.
  std::transform(seen.inbound.method.begin(), seen.inbound.method.end(), std::back_inserter(seen.method), base::upper);
  seen.route = routes_.match(seen.method, seen.path);
  if (auto refusal = see_token(seen, now)) return refusal;
  auto refusal = add_built_in(seen, caller);
  for (std::size_t i = 0; !refusal && i < sources_.size(); ++i) refusal = add_source(seen, sources_[i], caller);
  if (!refusal && seen.key) {
    bool set = true;
    for_each_bound(*seen.key,
                   [&](std::string_view name, std::string_view value) { set = set && caller.set(name, value); });
    if (!set) refusal = malformed("attribute");
  }
  if (refusal) {
    caller.clear();
    return refusal;
  }
  caller.finish(Cost{seen.route == nullptr ? 1 : seen.route->cost});
  return std::nullopt;
}

bool Identity::trusts(const std::optional<base::IpAddress>& peer) const {
  return peer ? addresses_.trusts(*peer) : options_.trust_unix_sockets;
}

bool Identity::asks_gateway_for(std::string_view name) const {
  return std::any_of(sources_.begin(), sources_.end(), [&](const Source& source) {
    return source.field.kind == Kind::gateway && base::same_ignoring_case(source.field.name, name);
  });
}

void Identity::see_peer(Seen& seen) const {
  seen.trusted_peer = trusts(seen.inbound.peer);
  seen.client = seen.inbound.peer;
  if (!seen.trusted_peer) return;
  // The last lines count, so of too many the first are dropped.
  std::array<std::string_view, kMaxForwardingLines> lines;
  std::size_t at = lines.size();
  for (std::size_t i = seen.inbound.headers.size(); i-- > 0 && at > 0;) {
    const HeaderField& header = seen.inbound.headers[i];
    if (base::same_ignoring_case(header.name, addresses_.header_name())) lines[--at] = header.value;
  }
  const std::span<const std::string_view> found(lines.data() + at, lines.size() - at);
  if (const std::optional<base::IpAddress> client = addresses_.resolve_behind_trusted(found)) seen.client = client;
}

std::optional<Refusal> Identity::see_token(Seen& seen, TimePoint now) const {
  if (!jwt_) return std::nullopt;
  const Field field = find_client_header(seen.inbound.headers, options_.jwt_header);
  if (field.state == Field::State::repeated) return repeated();
  const std::optional<Credentials> credentials = parse_credentials(field.value);
  if (field.state == Field::State::malformed || !credentials) return malformed_credentials();
  const bool bare_allowed = !base::same_ignoring_case(options_.jwt_header, kAuthorization);
  const std::string_view token = token_of(*credentials, bare_allowed);
  if (token.empty()) {
    if (options_.jwt_required) return unauthenticated("no_token");
    return std::nullopt;
  }
  auto claims = jwt_->verify(token, now, claim_paths_);
  if (!claims.ok()) return unauthenticated(claims.failure().message);
  seen.claims = std::move(claims).value();
  return std::nullopt;
}

std::optional<Refusal> Identity::add_built_in(const Seen& seen, CallerAttributes& caller) const {
  bool added = true;
  if (seen.client) {
    const bool v4 = seen.client->is_v4();
    // Without its length, so that rules can match it as the address it is.
    added = caller.add("ip",
                       base::ip_text(base::network_of(*seen.client, v4 ? options_.ipv4_prefix : options_.ipv6_prefix)));
    for (const AddressTier& tier : options_.tiers) {
      added = added &&
              caller.add(tier.attribute, base::prefix_text(*seen.client, v4 ? tier.ipv4_prefix : tier.ipv6_prefix));
    }
  }
  added = added && caller.add("method", seen.method);
  added = added && caller.add("path", seen.route == nullptr ? seen.path : routes_.spelled(*seen.route, seen.path));
  if (!seen.host.empty()) added = added && caller.add("host", seen.host);
  if (!seen.scheme.empty()) added = added && caller.add("scheme", seen.scheme);
  if (seen.route != nullptr) added = added && caller.add("action", seen.route->action);
  if (!options_.marks.empty()) added = added && caller.add("traffic", traffic_of(seen));
  if (!added) return malformed("attribute");
  return std::nullopt;
}

std::string_view Identity::traffic_of(const Seen& seen) const {
  if (!seen.client || !internal_.trusts(*seen.client)) return kExternal;
  for (const TrafficMark& mark : options_.marks) {
    const Field field = find_header(seen.inbound.headers, mark.header);
    if (field.state != Field::State::present) continue;
    if (mark.value.empty() || field.value == mark.value) return mark.as;
  }
  return kExternal;
}

Field Identity::read(const Seen& seen, const Source& source) const {
  const FieldSource& from = source.field;
  switch (from.kind) {
    case Kind::gateway: {
      const Field said = find_header(seen.inbound.gateway_fields, from.name);
      if (said.state != Field::State::absent) return said;
      if (!seen.trusted_peer) return {};
      return find_header(seen.inbound.headers, from.name);
    }
    case Kind::header:
      return find_client_header(seen.inbound.headers, from.name);
    case Kind::cookie:
      return find_cookie(seen.inbound.headers, from.name);
    case Kind::query:
      return find_query(seen.inbound.target, from.name);
    case Kind::path: {
      if (seen.route == nullptr) return {};
      const auto value = RouteTable::parameter(*seen.route, seen.path, from.name);
      return value ? Field{Field::State::present, *value} : Field{};
    }
    case Kind::jwt: {
      if (seen.claims.empty() || !seen.claims[source.claim]) return {};
      return {Field::State::present, *seen.claims[source.claim]};
    }
  }
  return {};
}

std::optional<Refusal> Identity::add_source(Seen& seen, const Source& source, CallerAttributes& caller) const {
  const Field field = read(seen, source);
  if (field.state == Field::State::repeated) return repeated();
  if (field.state == Field::State::malformed) return malformed_field();
  std::string spelled;
  std::string_view value = field.value;
  if (source.field.kind == Kind::query) {
    std::optional<std::string> decoded = decode_query_text(value);
    if (!decoded) return malformed("the query parameter that identifies the caller is badly escaped", "query");
    value = spelled = std::move(*decoded);
    if (has_control(value) || !base::is_utf8(spelled)) return malformed_field();
  } else if (source.field.kind == Kind::cookie) {
    // As many frameworks do. Where one does not, two spellings of a cookie only count as one.
    value = spelled = undo_escapes(value);
    if (has_control(value)) return malformed_field();
    if (source.attribute == kApiKey && api_keys_.is_revoked(field.value)) return blocked();
  } else if (source.field.kind == Kind::header && base::same_ignoring_case(source.field.name, kAuthorization)) {
    const std::optional<Credentials> credentials = parse_credentials(value);
    if (!credentials) return malformed_credentials();
    value = spelled = canonical_text(*credentials);
  }
  if (value.empty()) return std::nullopt;  // as good as not there
  if (source.is_hashed) return add_hashed(seen, source, value, caller);
  if (!caller.add(source.attribute, value)) return malformed("attribute");
  return std::nullopt;
}

bool Identity::look_up_key(std::string_view value, TimePoint now, std::optional<KnownKey>& key,
                           std::shared_ptr<const KnownKeys>& keep) const {
  keep = options_.directory == nullptr ? nullptr : options_.directory->current();
  key = keep == nullptr ? std::nullopt : keep->find(bare_key(value));
  if (!key) return !options_.refuse_unknown_keys;
  if (!key->is_active(now)) return false;
  if (key->use != nullptr) key->use->use(now);
  return true;
}

std::optional<Refusal> Identity::add_hashed(Seen& seen, const Source& source, std::string_view value,
                                            CallerAttributes& caller) const {
  if (value.size() > ApiKeys::kMaxKeyBytes) return malformed("key_too_long");
  const BucketKey hash = api_keys_.hash(value);
  if (source.attribute == kApiKey && api_keys_.is_revoked(value, hash)) return blocked();
  if (source.attribute == kApiKey && !look_up_key(value, seen.now, seen.key, caller.keys_)) return blocked();
  bool added = caller.add(source.attribute, ApiKeys::text(hash));
  if (const auto previous = api_keys_.previous_hash(value)) {
    added = added && caller.add(source.previous, ApiKeys::text(*previous));
  }
  if (!added) return malformed("attribute");
  return std::nullopt;
}

}  // namespace weir::identity
