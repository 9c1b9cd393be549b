// The table of every setting. Flags, variables, weir.yaml, its reference text and `weir serve --help` are made from it.
#include <algorithm>

#include "base/ascii.h"
#include "server/config.h"

namespace weir::server {
namespace {

constexpr std::int64_t kMillisecond = 1'000;
constexpr std::int64_t kSecond = 1'000'000;
constexpr std::int64_t kMinute = 60 * kSecond;
constexpr std::int64_t kDay = 86'400 * kSecond;
constexpr std::int64_t kKiB = 1 << 10;
constexpr std::int64_t kMiB = 1 << 20;

constexpr ConfigField kFields[] = {
    {"listen.http", FieldKind::address, &Config::listen_http, "127.0.0.1:8080",
     "Address of the HTTP API: host:port, [v6]:port, unix:/path or off. Port 0 takes a free one."},
    {"listen.admin", FieldKind::address, &Config::listen_admin, "127.0.0.1:9090",
     "Address for operators: /metrics, /healthz, /readyz."},
    {"listen.grpc", FieldKind::address, &Config::listen_grpc, "off",
     "Address of gRPC: Envoy's rate limit service, weir.v1.Limiter, health, reflection; usually 127.0.0.1:8081."},
    {"listen.resp", FieldKind::address, &Config::listen_resp, "off",
     "Address of the Redis protocol: CL.THROTTLE, WEIR.CHECK; usually 127.0.0.1:6380."},
    {"listen.spop", FieldKind::address, &Config::listen_spop, "off",
     "Address of HAProxy's agent protocol; usually 127.0.0.1:9000."},
    {"listen.proxy_protocol", FieldKind::list, &Config::listen_proxy_protocol, "",
     "Listeners, among http, grpc and resp, whose connections begin with a PROXY header (version 1 or 2): its address "
     "is then the client's. Only identity.trusted_proxies may connect to them."},
    {"listen.unix_mode", FieldKind::choice, &Config::listen_unix_mode, "0600",
     "Who may connect to a Unix socket: its owner (0600), its group too (0660), everybody (0666).", 0, 0,
     "0600|0660|0666"},
    {"tls.cert", FieldKind::path, &Config::tls_cert, "",
     "The server's certificate and those that lead to its authority, PEM. Empty: nothing speaks TLS. SIGHUP reads "
     "these "
     "files again."},
    {"tls.key", FieldKind::path, &Config::tls_key, "", "The certificate's private key, PEM."},
    {"tls.client_ca", FieldKind::path, &Config::tls_client_ca, "",
     "The authorities of which clients must show a certificate (mTLS), PEM. Empty: they need none."},
    {"tls.listeners", FieldKind::list, &Config::tls_listeners, "http,grpc,resp,spop,admin",
     "The listeners that speak TLS when there is a certificate."},
    {"tls.client_listeners", FieldKind::list, &Config::tls_client_listeners, "http,grpc,resp,spop,admin",
     "Of those, the ones that demand a client's certificate when there is a client_ca."},
    {"resp.password_file", FieldKind::path, &Config::resp_password_file, "",
     "File with the password that the Redis protocol asks for (AUTH). Empty: it asks for none."},
    {"store", FieldKind::store, &Config::store, "memory",
     "Where buckets live: memory, or redis://[user:password@]host:port[/db], rediss:// (TLS), "
     "redis-sentinel://host,host/master, redis-cluster://host,host."},
    {"rules.path", FieldKind::path, &Config::rules_path, "",
     "The rules file, or a folder of them. Empty: the quickstart rules. `rules: rules.yaml` says the same."},
    {"rules.format", FieldKind::choice, &Config::rules_format, "weir",
     "What the rules are written in: weir, or as they are the files of envoyproxy/ratelimit (envoy) or Limitador "
     "(limitador).",
     0, 0, "weir|envoy|limitador"},
    {"memory.max_bytes", FieldKind::size, &Config::memory_max_bytes, "256MiB",
     "Hard bound on the memory that buckets take.", kMiB, std::int64_t{1} << 42},
    {"memory.snapshot", FieldKind::path, &Config::memory_snapshot, "",
     "File that keeps the buckets over a restart. Empty: limits start anew."},
    {"memory.snapshot_every", FieldKind::duration, &Config::memory_snapshot_every, "60s",
     "How often the snapshot is written while the server runs; 0s: only when it stops.", 0, kDay},
    {"redis.deadline", FieldKind::duration, &Config::redis_deadline, "20ms",
     "How long a decision waits for Redis before the rules' on_store_failure answers. The URL's query wins over these.",
     kMillisecond, 10 * kSecond},
    {"redis.connect_timeout", FieldKind::duration, &Config::redis_connect_timeout, "1s",
     "How long connecting, TLS and logging in may take together.", 10 * kMillisecond, kMinute},
    {"redis.namespace", FieldKind::text, &Config::redis_namespace, "",
     "Part of every key, so that environments or products can share one Redis: letters, digits, '.', '_' and '-'. "
     "Another namespace starts with fresh limits."},
    {"redis.time", FieldKind::choice, &Config::redis_time, "redis",
     "Whose clock decides: redis; node, if all nodes keep the same time; or gateway, the time at which a trusted proxy "
     "received the request (docs/time.md).",
     0, 0, "redis|node|gateway"},
    {"redis.time_header", FieldKind::text, &Config::redis_time_header, "x-request-start",
     "With time: gateway, the header or gRPC metadata in which identity.trusted_proxies tell that time."},
    {"redis.time_bound", FieldKind::duration, &Config::redis_time_bound, "5s",
     "How far that time may be from the node's own clock; beyond it, the node's own clock counts.", kMillisecond,
     kMinute},
    {"redis.connections", FieldKind::count, &Config::redis_connections, "1",
     "Connections to each Redis server, for each event loop.", 1, 64},
    {"redis.max_in_flight", FieldKind::count, &Config::redis_max_in_flight, "4096",
     "Decisions of one event loop that may wait for Redis at once; more are answered by on_store_failure.", 1,
     1'000'000},
    {"redis.tls_ca", FieldKind::path, &Config::redis_tls_ca, "",
     "File with the authorities that vouch for Redis. Empty: the system's."},
    {"redis.tls_cert", FieldKind::path, &Config::redis_tls_cert, "", "Certificate shown to Redis. Empty: none."},
    {"redis.tls_key", FieldKind::path, &Config::redis_tls_key, "", "The certificate's private key."},
    {"prefilter", FieldKind::toggle, &Config::prefilter, "true",
     "Refuse buckets that Redis has just called exhausted without asking it, until they can admit again."},
    {"loops", FieldKind::count, &Config::loops, "0", "Event loops; 0: one for each core.", 0, 256},
    {"hash_key_file", FieldKind::path, &Config::hash_key_file, "",
     "File with the 16-byte secret that subjects are hashed with; made when absent. A second line holds the previous "
     "secret while it is being rotated (docs/operating.md). Empty: beside the snapshot if "
     "there is one, else a new secret at each start; with Redis the one that is kept there, and then the server starts "
     "only when Redis answers."},
    {"connection_memory", FieldKind::size, &Config::connection_memory, "256MiB",
     "Most memory that the connections of all listeners take together, for requests and answers. At it, large requests "
     "wait for a second and are then refused (503); small ones are still served.",
     16 * kMiB, std::int64_t{1} << 42},
    {"http.max_connections", FieldKind::count, &Config::http_max_connections, "10000",
     "Connections open at once, on all loops together; more are closed at once.", 1, 1'000'000},
    {"http.header_bytes", FieldKind::size, &Config::http_header_bytes, "16KiB", "Most bytes of a request's headers.",
     kKiB, kMiB},
    {"http.body_bytes", FieldKind::size, &Config::http_body_bytes, "1MiB", "Most bytes of a request's body.", kKiB,
     64 * kMiB},
    {"http.idle_timeout", FieldKind::duration, &Config::http_idle_timeout, "75s",
     "A connection without a request for this long is closed.", kSecond / 10, kDay},
    {"http.message_timeout", FieldKind::duration, &Config::http_message_timeout, "10s",
     "A request must arrive, and its answer be taken, within this time.", kSecond / 10, kDay},
    {"http.legacy_headers", FieldKind::toggle, &Config::http_legacy_headers, "false",
     "Send X-RateLimit-Limit, -Remaining and -Reset too."},
    {"grpc.envoy_charging", FieldKind::choice, &Config::grpc_envoy_charging, "each",
     "What a call from Envoy with several descriptors charges when one is over its limit: the others (each), or none "
     "(all_or_none), as envoyproxy/ratelimit does with STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT.",
     0, 0, "each|all_or_none"},
    {"drain_timeout", FieldKind::duration, &Config::drain_timeout, "10s",
     "How long SIGTERM waits for connections to finish.", 0, 60 * kMinute},
    {"drain_grace", FieldKind::duration, &Config::drain_grace, "500ms",
     "How long, within drain_timeout, open connections without a request stay open at SIGTERM: a request that was on "
     "its "
     "way is answered, with Connection: close. 0s: they are closed at once.",
     0, 60 * kMinute},
    {"admin.tokens", FieldKind::list, &Config::admin_tokens, "",
     "Tokens, any of which /metrics asks for (Authorization: Bearer …). None: it asks for none, and must be on "
     "loopback."},
    {"log.format", FieldKind::choice, &Config::log_format, "text",
     "Log lines for people or for machines: text or json.", 0, 0, "text|json"},
    {"log.level", FieldKind::choice, &Config::log_level, "info",
     "Least level that is logged: debug, info, warn, error.", 0, 0, "debug|info|warn|error"},
    {"log.decisions", FieldKind::share, &Config::log_decisions, "off",
     "Share of the allowed decisions that is logged, at random: off, 1/100 or 0.01, up to 1. Subjects appear as the "
     "beginning of their hash."},
    {"log.denials", FieldKind::share, &Config::log_denials, "off", "The same for the denied ones."},
    {"log.decisions_per_second", FieldKind::count, &Config::log_decisions_per_second, "100",
     "Most lines that both together write in a second; the next line tells how many were left out.", 1, 100'000},
    {"identity.trusted_proxies", FieldKind::list, &Config::identity_trusted_proxies, "127.0.0.1,::1",
     "Gateways and load balancers, as addresses or prefixes: what they say of a request and of its client is believed "
     "(docs/identity.md). A Unix socket's peer always is."},
    {"identity.forwarding_header", FieldKind::choice, &Config::identity_forwarding_header, "x-forwarded-for",
     "Where trusted proxies tell the client's address: the one header that all of them write.", 0, 0,
     "x-forwarded-for|forwarded|x-real-ip"},
    {"identity.ipv4_prefix", FieldKind::count, &Config::identity_ipv4_prefix, "32",
     "Bits of an IPv4 address that make the attribute ip.", 0, 32},
    {"identity.ipv6_prefix", FieldKind::count, &Config::identity_ipv6_prefix, "64",
     "Bits of an IPv6 address that make the attribute ip: one household or machine usually has a /64.", 0, 128},
    {"identity.tiers", FieldKind::pairs, &Config::identity_tiers, "ip_subnet=24/48",
     "Further attributes made of the client's address, with their bits of IPv4 and of IPv6."},
    {"identity.attributes", FieldKind::pairs, &Config::identity_attributes, "api_key=header:x-api-key",
     "Where attributes come from: header:, gateway: (a header believed only from trusted proxies, or HAProxy's own "
     "argument), cookie:, query:, path: ({name} of a route) or jwt:, and a name. Values of api_key are hashed at the "
     "door."},
    {"identity.accept_unverified", FieldKind::list, &Config::identity_accept_unverified, "",
     "Attributes among tenant and plan that may come from a source that nobody vouches for."},
    {"identity.hashed", FieldKind::list, &Config::identity_hashed, "",
     "Further attributes whose values are hashed at the door."},
    {"identity.revoked_keys_file", FieldKind::path, &Config::identity_revoked_keys_file, "",
     "API keys, or their hashes, that are refused, one on a line. Followed while the server runs."},
    {"identity.jwt_jwks_file", FieldKind::path, &Config::identity_jwt_jwks_file, "",
     "Keys that tokens are verified with, as a JWKS. Followed while the server runs, as are the next two."},
    {"identity.jwt_pem_file", FieldKind::path, &Config::identity_jwt_pem_file, "",
     "Public keys that tokens are verified with: RSA for RS256, P-256 for ES256."},
    {"identity.jwt_secret_file", FieldKind::path, &Config::identity_jwt_secret_file, "",
     "Secret of at least 32 bytes that tokens are verified with (HS256)."},
    {"identity.jwt_issuer", FieldKind::text, &Config::identity_jwt_issuer, "", "Issuer that tokens must name."},
    {"identity.jwt_audience", FieldKind::text, &Config::identity_jwt_audience, "", "Audience that tokens must name."},
    {"identity.jwt_leeway", FieldKind::duration, &Config::identity_jwt_leeway, "30s",
     "How far the clocks of issuers may be off.", 0, 10 * kMinute},
    {"identity.jwt_require_expiry", FieldKind::toggle, &Config::identity_jwt_require_expiry, "true",
     "Refuse tokens that never expire."},
    {"identity.jwt_header", FieldKind::text, &Config::identity_jwt_header, "authorization",
     "Header that carries the token: Bearer, or in another header than authorization the token alone."},
    {"identity.jwt_required", FieldKind::toggle, &Config::identity_jwt_required, "false",
     "Refuse requests without a token. One that does not hold up is refused either way."},
    {"identity.routes", FieldKind::pairs, &Config::identity_routes, "",
     "What requests do and cost: a method (or ANY) and a path pattern, then the action and, if not 1, the cost, such "
     "as GET /v1/items/{id}: item.read 3. End with ANY *: other, so that every request has an action."},
    {"identity.case_sensitive", FieldKind::toggle, &Config::identity_case_sensitive, "false",
     "Whether /Login is another route than /login. Only for applications that serve them as different paths."},
    {"identity.trailing_slash", FieldKind::choice, &Config::identity_trailing_slash, "ignore",
     "Whether /login/ has the route of /login (ignore) or not (strict).", 0, 0, "ignore|strict"},
    {"identity.encoded_slash", FieldKind::choice, &Config::identity_encoded_slash, "refuse",
     "What to do with %2F in a path: answer 400 (refuse), or take it for a part of its segment (keep) where neither "
     "the "
     "gateway nor the application decodes it.",
     0, 0, "refuse|keep"},
    {"identity.internal_networks", FieldKind::list, &Config::identity_internal_networks, "",
     "Networks whose requests may say that they are no ordinary traffic."},
    {"identity.traffic", FieldKind::pairs, &Config::identity_traffic, "",
     "What the attribute traffic becomes for requests from internal_networks with a header, or with a header=value, "
     "such as test: x-test-run. All others are external."},
};

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

namespace {

// The name that flags and variables are made from: a section is also the short name of its path.
std::string short_name(const ConfigField& field) {
  constexpr std::string_view kPath = ".path";
  std::string name(field.name);
  if (name.ends_with(kPath)) name.resize(name.size() - kPath.size());
  return name;
}

}  // namespace

std::string flag_of(const ConfigField& field) {
  std::string flag = "--" + short_name(field);
  std::replace_if(
      flag.begin(), flag.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return flag;
}

std::string variable_of(const ConfigField& field) {
  std::string variable = "WEIR_" + short_name(field);
  for (char& c : variable) c = c == '.' ? '_' : base::upper(c);
  return variable;
}

namespace {

// A default as YAML: quoted where its text could be taken for something else.
std::string default_yaml(const ConfigField& field) {
  if (field.kind != FieldKind::list && field.kind != FieldKind::pairs) {
    return field.default_text.empty() ? "\"\"" : std::string(field.default_text);
  }
  const bool pairs = field.kind == FieldKind::pairs;
  std::string out(1, pairs ? '{' : '[');
  for (std::string_view rest = field.default_text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view part = rest.substr(0, comma);
    const std::size_t equals = pairs ? part.find('=') : 0;
    if (out.size() > 1) out += ", ";
    if (pairs) out += std::string(part.substr(0, equals)) + ": ";
    out += '"' + std::string(part.substr(pairs ? equals + 1 : 0)) + '"';
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return out + (pairs ? '}' : ']');
}

}  // namespace

std::string reference_config() {
  std::string out =
      "# Every setting of `weir serve`, with its default: `weir serve --config weir.yaml`. Each is also a flag\n"
      "# (--listen-http) and a variable (WEIR_LISTEN_HTTP); a flag wins over a variable, a variable over this file.\n"
      "# Paths are relative to this file.\n";
  std::string_view section;
  for (const ConfigField& field : kFields) {
    const std::size_t dot = field.name.find('.');
    const std::string_view group = dot == std::string_view::npos ? std::string_view() : field.name.substr(0, dot);
    const std::string indent = group.empty() ? "" : "  ";
    out += '\n';
    if (group != section && !group.empty()) out += std::string(group) + ":\n";
    section = group;
    out += indent + "# " + std::string(field.help) + "\n";
    out += indent + std::string(group.empty() ? field.name : field.name.substr(dot + 1)) + ": ";
    out += default_yaml(field) + '\n';
  }
  return out;
}

}  // namespace weir::server
