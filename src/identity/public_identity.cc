// The public functions of weir/identity.h.
#include <utility>

#include "identity/identity.h"
#include "keys/key_encoder.h"
#include "weir/identity.h"

namespace weir {
namespace {

Result<identity::ForwardingHeader> forwarding_header_from(const std::string& name) {
  if (name == "x-forwarded-for") return identity::ForwardingHeader::x_forwarded_for;
  if (name == "forwarded") return identity::ForwardingHeader::forwarded;
  if (name == "x-real-ip") return identity::ForwardingHeader::x_real_ip;
  return Failure{Code::invalid_argument,
                 "forwarding_header: is '" + name + "', expected x-forwarded-for, forwarded or x-real-ip"};
}

Result<identity::IdentityOptions> identity_options_from(const IdentitySettings& settings) {
  identity::IdentityOptions options;
  const Result<identity::ForwardingHeader> header = forwarding_header_from(settings.forwarding_header);
  if (!header.ok()) return header.failure();
  options.forwarding_header = header.value();
  options.trusted_proxies = settings.trusted_proxies;
  options.ipv4_prefix = settings.ipv4_prefix;
  options.ipv6_prefix = settings.ipv6_prefix;
  for (const IdentitySettings::Attribute& each : settings.attributes) {
    options.attributes.push_back({each.name, each.source});
  }
  options.accept_unverified = settings.accept_unverified;
  options.hashed = settings.hashed;
  options.keys.current = settings.hash_key == HashKey{} ? keys::random_hash_key() : settings.hash_key;
  options.revoked_keys_file = settings.revoked_keys_file;
  if (settings.token) {
    identity::JwtOptions& jwt = options.jwt.emplace();
    jwt.pem_file = settings.token->pem_file;
    jwt.secret_file = settings.token->secret_file;
    jwt.jwks_file = settings.token->jwks_file;
    jwt.issuer = settings.token->issuer;
    jwt.audience = settings.token->audience;
    options.jwt_required = settings.token->required;
  }
  for (const IdentitySettings::Route& each : settings.routes) {
    options.routes.push_back({each.method, each.pattern, each.action, each.cost});
  }
  return options;
}

IdentityRefusal refusal_from(const identity::Refusal& refusal) {
  using Kind = identity::Refusal::Kind;
  IdentityRefusal made;
  if (refusal.kind == Kind::unauthenticated) made.kind = IdentityRefusal::Kind::unauthenticated;
  if (refusal.kind == Kind::blocked) made.kind = IdentityRefusal::Kind::blocked;
  made.text = refusal.text;
  made.cause = refusal.cause;
  return made;
}

class LibraryIdentity final : public RequestIdentity {
 public:
  explicit LibraryIdentity(std::shared_ptr<const identity::Identity> identity) : identity_(std::move(identity)) {}

  IdentityResult identify(const HttpRequest& request, TimePoint now) const override {
    IdentityResult result;
    identity::Inbound inbound;
    if (!request.peer.empty()) {
      inbound.peer = base::parse_ip(request.peer);
      if (!inbound.peer) {
        result.refusal = {IdentityRefusal::Kind::malformed, "the address of the peer is not an IP address", "peer"};
        return result;
      }
    }
    std::vector<identity::HeaderField> headers;
    headers.reserve(request.headers.size());
    for (const HttpField& field : request.headers) headers.push_back({field.name, field.value});
    inbound.method = request.method;
    inbound.target = request.target;
    inbound.headers = headers;
    inbound.host = request.host;
    inbound.scheme = request.scheme;
    identity::CallerAttributes caller;
    if (const std::optional<identity::Refusal> refusal = identity_->identify(inbound, now, caller)) {
      result.refusal = refusal_from(*refusal);
      return result;
    }
    for (const Attribute& each : caller.attributes()) {
      result.values.push_back({std::string(each.name), std::string(each.value)});
    }
    result.cost = caller.cost();
    return result;
  }

 private:
  const std::shared_ptr<const identity::Identity> identity_;
};

}  // namespace

Result<std::shared_ptr<const RequestIdentity>> RequestIdentity::create(const IdentitySettings& settings) {
  const Result<identity::IdentityOptions> options = identity_options_from(settings);
  if (!options.ok()) return options.failure();
  Result<std::shared_ptr<const identity::Identity>> made = identity::Identity::create(options.value());
  if (!made.ok()) return made.failure();
  return std::shared_ptr<const RequestIdentity>(std::make_shared<LibraryIdentity>(std::move(made).value()));
}

IdentityResult RequestIdentity::identify(const HttpRequest& request) const {
  const auto now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return identify(request, now);
}

std::vector<Attribute> IdentityResult::attributes() const {
  std::vector<Attribute> made;
  made.reserve(values.size());
  for (const Value& each : values) made.push_back({each.name, each.value});
  return made;
}

}  // namespace weir
