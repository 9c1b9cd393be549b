// RequestIdentity: an HTTP request becomes the attributes that rules count by, as in the server (docs/identity.md): the
// client's address behind trusted proxies, hashed API keys, claims of verified tokens, routes. In the library
// weir::identity (find_package(weir COMPONENTS identity)).
//
//   weir::IdentitySettings settings;
//   settings.trusted_proxies = {"10.0.0.0/8"};
//   settings.attributes = {{"api_key", "header:x-api-key"}};
//   settings.routes = {{"GET", "/v1/search", "search"}};
//   auto identity = weir::RequestIdentity::create(settings);
//
//   const weir::IdentityResult who = identity.value()->identify({.method = "GET", .target = "/v1/search?q=x",
//                                                                .headers = headers, .peer = "10.0.0.7"});
//   if (who.refusal) return respond(400, who.refusal->text);
//   const weir::Decision decision = limiter->check(weir::Request(who.attributes(), who.cost));
//
// Immutable, so thread-safe. Files are read by create() only.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/options.h"
#include "weir/request.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir {

// The settings `identity.*` of the server, with the same names, defaults and errors.
struct IdentitySettings {
  struct Attribute {
    std::string name;
    std::string source;  // "header:x-api-key", "gateway:…", "cookie:…", "query:…", "path:…", "jwt:…"
  };
  struct Route {
    std::string method = "*";
    std::string pattern;
    std::string action;
    std::int64_t cost = 1;
  };
  struct Token {
    std::filesystem::path pem_file;     // public keys
    std::filesystem::path secret_file;  // for HS256
    std::filesystem::path jwks_file;
    std::string issuer;    // empty: any
    std::string audience;  // empty: any
    bool required = false;
  };

  std::vector<std::string> trusted_proxies;           // addresses or prefixes
  std::string forwarding_header = "x-forwarded-for";  // or "forwarded", "x-real-ip"
  int ipv4_prefix = 32;                               // what `ip` keeps of an address
  int ipv6_prefix = 64;
  std::vector<Attribute> attributes;
  std::vector<std::string> accept_unverified;  // attributes that may come from sources which callers can forge
  std::vector<std::string> hashed;             // attributes whose values are hashed, as those of api_key always are
  HashKey hash_key{};                          // for those; all zero: a random one. The limiter's is a good choice
  std::filesystem::path revoked_keys_file;
  std::optional<Token> token;  // a bearer token in `authorization`, for "jwt:…"
  std::vector<Route> routes;
};

struct HttpField {
  std::string_view name;  // in any case
  std::string_view value;
};

// Refers to its texts.
struct HttpRequest {
  std::string_view method;
  std::string_view target;  // path and query
  std::span<const HttpField> headers;
  std::string_view peer;         // the address of the connection; empty: a Unix socket
  std::string_view host = {};    // of the Host field
  std::string_view scheme = {};  // empty: not known
};

// Why a request goes no further. `text` may be shown to the caller; `cause` is a fixed word for logs.
struct IdentityRefusal {
  enum class Kind : std::uint8_t { malformed, unauthenticated, blocked };  // 400, 401, 403
  Kind kind = Kind::malformed;
  std::string text;
  std::string cause;
};

// Owns its texts.
struct IdentityResult {
  struct Value {
    std::string name;
    std::string value;
  };
  std::optional<IdentityRefusal> refusal;
  std::vector<Value> values;
  Cost cost;  // of the matched route

  // Good while `values` are unchanged.
  std::vector<Attribute> attributes() const;
};

class RequestIdentity {
 public:
  // The failure says which setting is wrong: "attributes.tenant: …".
  static Result<std::shared_ptr<const RequestIdentity>> create(const IdentitySettings& settings);
  virtual ~RequestIdentity() = default;

  // `now` is for tokens that expire.
  virtual IdentityResult identify(const HttpRequest& request, TimePoint now) const = 0;
  // At the present time.
  IdentityResult identify(const HttpRequest& request) const;
};

}  // namespace weir
