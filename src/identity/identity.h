// Identity: identifies callers. Turns a request as it came in into the attributes that rules count by, or refuses it.
//
// Attributes made: `ip` (the client's network address: IPv4 /32 and IPv6 /64 unless set otherwise), one per address
// tier (such as `ip_subnet`), `method`, `path`, `host`, `scheme` if it is known, `action` of the matched route,
// `traffic` if marks are set, and the ones configured. A key that the directory knows adds `tenant`, `plan` and other
// attributes that it is bound to, in place of what else would give them; one that was revoked or has expired is
// refused. While the hash key is being rotated, an attribute whose value is hashed is followed by "name@previous": its
// value under the previous key.
//
// Verified, and so trusted: `ip` and tiers (as far as the trusted proxies are), `jwt:` (a signature),
// `gateway:` (set by a trusted proxy, or said by the gateway beside the headers), `traffic`. Not verified: `header:`,
// `cookie:`, `query:`, `path:`, which say what the caller likes. `tenant` and `plan` decide whose allowance is used, so
// create() refuses an unverified source for them unless `accept_unverified` names them. `traffic` is never taken from a
// source.
//
// Callers that send the attributes themselves (identify_sent) are trusted to name the client's address, key and token.
// Identity then replaces the values: the address becomes its network, keys and tokens become hashes. It adds `ip`, the
// tiers, `api_key` and the claims of a verified token; what the caller sent under a name that identity makes is
// replaced, or dropped if there is nothing to make it of. All other attributes are passed on.
//
// Immutable, so thread-safe. Files are read by create() and reloaded() only; a failed reload leaves the old object as
// it was, so the caller keeps using it.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "identity/api_keys.h"
#include "identity/client_address.h"
#include "identity/forwarded_request.h"
#include "identity/inbound.h"
#include "identity/jwt.h"
#include "identity/known_keys.h"
#include "identity/request_fields.h"
#include "identity/route_table.h"
#include "identity/sent_names.h"
#include "identity/sent_requests.h"
#include "keys/key_ring.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::identity {

struct AddressTier {
  std::string attribute;  // such as ip_subnet
  int ipv4_prefix = 24;
  int ipv6_prefix = 48;
};

struct AttributeFrom {
  std::string attribute;
  std::string source;  // see request_fields.h
};

// Traffic of our own: requests from `internal_networks` with this header get `traffic` = as.
struct TrafficMark {
  std::string header;
  std::string value;  // empty: any value
  std::string as;     // "internal", "test", …
};

// Under which names callers that send the attributes themselves send these three. Without a name for it, identity does
// not look for it, and makes nothing of it.
struct SentNameLists {
  std::vector<std::string> ip;
  std::vector<std::string> api_key;
  std::vector<std::string> token;
};

struct IdentityOptions {
  std::vector<std::string> trusted_proxies;
  ForwardingHeader forwarding_header = ForwardingHeader::x_forwarded_for;
  bool trust_unix_sockets = true;  // peers that may open the socket are trusted proxies
  int ipv4_prefix = 32;
  int ipv6_prefix = 64;
  std::vector<AddressTier> tiers;
  std::vector<AttributeFrom> attributes;
  std::vector<std::string> accept_unverified;
  std::vector<std::string> hashed;  // attributes whose values are hashed as those of api_key always are

  keys::KeyRing keys;                             // for hashing API keys
  std::filesystem::path revoked_keys_file;        // for the attribute api_key
  std::shared_ptr<const KeyDirectory> directory;  // whom keys belong to; null: no one knows
  bool refuse_unknown_keys = false;               // those that the directory does not have

  std::optional<JwtOptions> jwt;
  std::string jwt_header = "authorization";  // "Bearer <token>"; in other headers the bare token too
  bool jwt_required = false;

  std::vector<Route> routes;
  PathOptions paths;
  std::vector<std::string> internal_networks;
  std::vector<TrafficMark> marks;

  SentNameLists names;
  bool takes_sent = false;  // identify_sent() is used: `hashed` may name attributes that have no source
};

// Why a request goes no further. `text` may be shown to the caller and tells nothing; `cause` is a fixed word for
// logs and metrics.
struct Refusal {
  enum class Kind : std::uint8_t { malformed, unauthenticated, blocked };
  Kind kind = Kind::malformed;
  std::string_view text;
  std::string cause;
};

// The same for a request whose attributes the caller sent.
struct SentRefusal {
  Refusal::Kind kind = Refusal::Kind::malformed;
  std::string_view attribute;  // as it was sent; empty: none in particular
  std::string_view text;       // fits behind the attribute: "is not an IP address"
  std::string cause;
};

// What the attributes of one call to identify_sent() describe: a client's request, or a part of one of which the token
// may be in another part.
enum class SentPart : bool { request, descriptor };

class Identity {
 public:
  static constexpr std::string_view kPreviousSuffix = "@previous";

  // A failure's message begins with the option at fault: "attributes.tenant: …".
  static Result<std::shared_ptr<const Identity>> create(const IdentityOptions& options);
  // The same options with the files read again; routes and lists stay.
  Result<std::shared_ptr<const Identity>> reloaded() const { return create(options_); }

  // Nothing on success; `caller` then holds the attributes and is valid as long as this Identity. What the inbound says
  // was asked for is trusted, and its headers are the client's.
  std::optional<Refusal> identify(const Inbound& inbound, TimePoint now, CallerAttributes& caller) const;
  // The same for a request that only asks about another one, which a gateway describes (forwarded_request.h). From a
  // peer that is not a trusted proxy the description does not count.
  std::optional<Refusal> identify_forwarded(const Inbound& inbound, TimePoint now, CallerAttributes& caller) const;

  // For attributes that the caller sent. Appends one request to `out`, or refuses it and leaves `out` as it was. The
  // result refers to `sent`, to `out` and to this Identity.
  std::optional<SentRefusal> identify_sent(std::span<const Attribute> sent, SentPart part, TimePoint now,
                                           SentRequests& out) const;
  // After the descriptors of one client's request: refused if a token is required and none of them has one.
  std::optional<SentRefusal> check_descriptors(const SentRequests& descriptors) const;

  // Whether the peer may speak for others.
  bool trusts(const std::optional<base::IpAddress>& peer) const;
  // Whether an attribute is made of the gateway's field of that name.
  bool asks_gateway_for(std::string_view name) const;

  // Whether there are routes, and requests that fit none of them.
  bool has_requests_without_route() const { return !options_.routes.empty() && !routes_.has_catch_all(); }

  std::size_t revoked_count() const { return api_keys_.revoked_count(); }

 private:
  class SentReader;

  struct Source {
    std::string attribute;
    std::string previous;  // the attribute's name for its value under the previous key
    FieldSource field;
    std::size_t claim = 0;  // its place in claim_paths_
    bool is_hashed = false;
  };
  // What one request has shown so far.
  struct Seen {
    Inbound inbound;
    TimePoint now{};
    std::optional<base::IpAddress> client = {};
    bool trusted_peer = false;
    std::string method = {};
    std::string path = {};  // as normal_path() gives it
    std::string host = {};
    std::string scheme = {};
    const Route* route = nullptr;
    std::vector<std::optional<std::string>> claims = {};
    std::optional<KnownKey> key = {};  // of the caller, if it is known
  };

  Identity(IdentityOptions options, ClientAddress addresses, ClientAddress internal, ApiKeys api_keys,
           RouteTable routes);
  Status prepare_sources();
  Status prepare_sent_names();
  Status add_sent_names(std::span<const std::string> names, SentRole role, const std::string& option);
  static Status check_ranges(const IdentityOptions& options);

  std::optional<Refusal> identify(Seen& seen, TimePoint now, CallerAttributes& caller) const;
  void see_peer(Seen& seen) const;
  std::optional<Refusal> see_token(Seen& seen, TimePoint now) const;
  std::optional<Refusal> add_built_in(const Seen& seen, CallerAttributes& caller) const;
  std::optional<Refusal> add_source(Seen& seen, const Source& source, CallerAttributes& caller) const;
  std::optional<Refusal> add_hashed(Seen& seen, const Source& source, std::string_view value,
                                    CallerAttributes& caller) const;
  // False: it is refused. What the key is bound to goes to `key`, and `keep` keeps it alive.
  bool look_up_key(std::string_view value, TimePoint now, std::optional<KnownKey>& key,
                   std::shared_ptr<const KnownKeys>& keep) const;
  Field read(const Seen& seen, const Source& source) const;
  std::string_view traffic_of(const Seen& seen) const;

  IdentityOptions options_;
  ClientAddress addresses_;
  ClientAddress internal_;  // only its list is used
  ApiKeys api_keys_;
  RouteTable routes_;
  std::optional<JwtVerifier> jwt_;
  std::vector<Source> sources_;
  std::vector<std::string> claim_paths_;
  SentNames sent_names_;
  bool api_key_is_claim_ = false;  // it is made of the token, not of what is sent as one
};

}  // namespace weir::identity
