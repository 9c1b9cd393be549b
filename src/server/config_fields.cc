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
    {"listen.admin", FieldKind::address, &Config::listen_admin, "127.0.0.1:8082",
     "Address for operators: /metrics, /healthz, /readyz."},
    {"listen.grpc", FieldKind::address, &Config::listen_grpc, "off",
     "Address of gRPC: Envoy's rate limit service, weir.v1.Limiter, health, reflection; usually 127.0.0.1:8081."},
    {"listen.resp", FieldKind::address, &Config::listen_resp, "off",
     "Address of the Redis protocol: CL.THROTTLE, WEIR.CHECK; usually 127.0.0.1:6380."},
    {"listen.spop", FieldKind::address, &Config::listen_spop, "off",
     "Address of HAProxy's agent protocol; usually 127.0.0.1:9000."},
    {"listen.proxy_protocol", FieldKind::list, &Config::listen_proxy_protocol, "",
     "Listeners (http, grpc, resp) whose connections begin with a PROXY protocol header, version 1 or 2. The address "
     "in "
     "it is the client's. Only identity.trusted_proxies may connect to these listeners."},
    {"listen.unix_mode", FieldKind::choice, &Config::listen_unix_mode, "0600",
     "File mode of Unix sockets: the owner (0600), the group too (0660) or everyone (0666) may connect.", 0, 0,
     "0600|0660|0666"},
    {"tls.cert", FieldKind::path, &Config::tls_cert, "",
     "Certificate chain of the server, PEM. Empty: no TLS. SIGHUP reads the TLS files again."},
    {"tls.key", FieldKind::path, &Config::tls_key, "", "Private key of tls.cert, PEM."},
    {"tls.client_ca", FieldKind::path, &Config::tls_client_ca, "",
     "Certificate authorities for client certificates (mTLS), PEM. Empty: clients need no certificate."},
    {"tls.listeners", FieldKind::list, &Config::tls_listeners, "http,grpc,resp,spop,admin",
     "Listeners that use TLS when tls.cert is set."},
    {"tls.client_listeners", FieldKind::list, &Config::tls_client_listeners, "http,grpc,resp,spop,admin",
     "Of those, the listeners that require a client certificate when tls.client_ca is set."},
    {"resp.password_file", FieldKind::path, &Config::resp_password_file, "",
     "File with the password of the Redis protocol (AUTH). Empty: no password."},
    {"data_dir", FieldKind::path, &Config::data_dir, "",
     "Folder for what this server keeps on disk; one server at a time uses it. Empty: $STATE_DIRECTORY, else "
     "$XDG_STATE_HOME/weir, else ~/.local/state/weir."},
    {"database", FieldKind::text, &Config::database, "sqlite:weir.db",
     "Where tokens, the audit trail, rule versions and quotas are kept: sqlite:PATH (relative to data_dir), "
     "postgres://USER@HOST/DATABASE for several nodes, or off: the server has none of these and does not use "
     "data_dir."},
    {"node.name", FieldKind::text, &Config::node_name, "",
     "Name of this node in the audit trail and the admin API: letters, digits, '.', '_' and '-'. Empty: the machine's "
     "name."},
    {"single_node", FieldKind::toggle, &Config::single_node, "false",
     "true: no other node uses this server's Redis. Quotas on SQLite with a Redis store need it, because nodes that "
     "share limits must share the ledger, too."},
    {"quota.slice_ttl", FieldKind::duration, &Config::quota_slice_ttl, "30s",
     "How long a slice of a leased quota lives in the ledger without renewal (docs/quotas.md). If a node does not come "
     "back in time, units that it has not reported count against the limit.",
     2 * kSecond, 60 * kMinute},
    {"quota.timeout", FieldKind::duration, &Config::quota_timeout, "2s",
     "How long a decision waits for the ledger; then the rule's on_store_failure decides.", 10 * kMillisecond,
     60 * kSecond},
    {"quota.log_every", FieldKind::duration, &Config::quota_log_every, "10ms",
     "Time between groups of the usage log in data_dir. A node that is killed loses at most the usage of one group.",
     kMillisecond, kSecond},
    {"quota.max_log_bytes", FieldKind::size, &Config::quota_max_log_bytes, "64MiB",
     "Maximum size of the usage log in data_dir, which holds usage until the ledger has it. When it is full, leased "
     "quotas admit nothing until the ledger answers.",
     64 * kKiB, std::int64_t{1} << 36},
    {"quota.keep", FieldKind::duration, &Config::quota_keep, "0s",
     "How long entries of the ledger are kept after the end of their period, such as 400d; at least 1d. Older ones are "
     "removed once they are exported (docs/quotas.md#retention); the totals of each account stay. 0s: forever.",
     0, 36500 * kDay},
    {"quota.webhook", FieldKind::text, &Config::quota_webhook, "",
     "URL that is called when an account reaches a threshold (notify in a rule): http:// or https://. Empty: none."},
    {"quota.webhook_secret_file", FieldKind::path, &Config::quota_webhook_secret_file, "",
     "File with the secret that signs calls of the webhook (X-Weir-Signature). Empty: calls are not signed."},
    {"store", FieldKind::store, &Config::store, "memory",
     "Where buckets live: memory, or redis://[user:password@]host:port[/db], rediss:// (TLS), "
     "redis-sentinel://host,host/master, redis-cluster://host,host."},
    {"rules.path", FieldKind::path, &Config::rules_path, "",
     "Rules file, a folder of rules files, or database: rules that are changed through the admin API (./database is a "
     "folder of that name). Empty: the built-in quickstart rules. Short form: `rules: rules.yaml`."},
    {"rules.format", FieldKind::choice, &Config::rules_format, "weir",
     "Format of the rules: weir, or unchanged files of envoyproxy/ratelimit (envoy) or Limitador (limitador).", 0, 0,
     "weir|envoy|limitador"},
    {"memory.max_bytes", FieldKind::size, &Config::memory_max_bytes, "256MiB",
     "Hard limit on the memory of all buckets.", kMiB, std::int64_t{1} << 42},
    {"memory.snapshot", FieldKind::path, &Config::memory_snapshot, "",
     "File that keeps the buckets across restarts. Empty: buckets start full after a restart."},
    {"memory.snapshot_every", FieldKind::duration, &Config::memory_snapshot_every, "60s",
     "How often the snapshot is written; 0s: only when the server stops.", 0, kDay},
    {"redis.deadline", FieldKind::duration, &Config::redis_deadline, "20ms",
     "How long a decision waits for Redis before the rule's on_store_failure decides. Parameters in the store URL take "
     "precedence over redis.* settings.",
     kMillisecond, 10 * kSecond},
    {"redis.connect_timeout", FieldKind::duration, &Config::redis_connect_timeout, "1s",
     "Time limit for connecting to Redis, including TLS and login.", 10 * kMillisecond, kMinute},
    {"redis.namespace", FieldKind::text, &Config::redis_namespace, "",
     "Part of every key, so that environments or products can share one Redis: letters, digits, '.', '_' and '-'. "
     "Another namespace starts with fresh limits."},
    {"redis.time", FieldKind::choice, &Config::redis_time, "redis",
     "Whose clock decides: redis; node, if all nodes keep the same time; or gateway, the time at which a trusted proxy "
     "received the request (docs/time.md).",
     0, 0, "redis|node|gateway"},
    {"redis.time_header", FieldKind::text, &Config::redis_time_header, "x-request-start",
     "With time: gateway, the header or gRPC metadata field in which identity.trusted_proxies send that time."},
    {"redis.time_bound", FieldKind::duration, &Config::redis_time_bound, "5s",
     "How far that time may be from the node's clock; if it is farther, the node's clock is used.", kMillisecond,
     kMinute},
    {"redis.connections", FieldKind::count, &Config::redis_connections, "1",
     "Connections to each Redis server, for each event loop.", 1, 64},
    {"redis.max_in_flight", FieldKind::count, &Config::redis_max_in_flight, "4096",
     "How many decisions of one event loop may wait for Redis at once; further ones are decided by on_store_failure.",
     1, 1'000'000},
    {"redis.tls_ca", FieldKind::path, &Config::redis_tls_ca, "",
     "File with the certificate authorities of Redis, PEM. Empty: the system's."},
    {"redis.tls_cert", FieldKind::path, &Config::redis_tls_cert, "", "Client certificate for Redis, PEM. Empty: none."},
    {"redis.tls_key", FieldKind::path, &Config::redis_tls_key, "", "Private key of redis.tls_cert, PEM."},
    {"prefilter", FieldKind::toggle, &Config::prefilter, "true",
     "Deny requests on buckets that Redis has just reported as exhausted, without asking Redis again until they can "
     "admit."},
    {"loops", FieldKind::count, &Config::loops, "0", "Event loops; 0: one for each core.", 0, 256},
    {"hash_key_file", FieldKind::path, &Config::hash_key_file, "",
     "File with the 16-byte secret that subjects are hashed with; created if it does not exist. A second line holds "
     "the "
     "previous secret during a rotation (docs/operating.md). Empty: a file next to the snapshot if there is one, else "
     "data_dir/hash_key, or without a database a new secret at each start. With Redis, empty: the secret is kept in "
     "Redis, and the server starts only when Redis answers."},
    {"connection_memory", FieldKind::size, &Config::connection_memory, "256MiB",
     "Memory limit for the connections of all listeners together, requests and answers. When it is reached, large "
     "requests wait for a second and are then refused (503); small ones are still served.",
     16 * kMiB, std::int64_t{1} << 42},
    {"http.max_connections", FieldKind::count, &Config::http_max_connections, "10000",
     "Maximum number of open connections, on all event loops together; further ones are closed immediately.", 1,
     1'000'000},
    {"http.header_bytes", FieldKind::size, &Config::http_header_bytes, "16KiB", "Largest size of a request's headers.",
     kKiB, kMiB},
    {"http.body_bytes", FieldKind::size, &Config::http_body_bytes, "1MiB", "Largest size of a request's body.", kKiB,
     64 * kMiB},
    {"http.idle_timeout", FieldKind::duration, &Config::http_idle_timeout, "75s",
     "Connections without a request for this long are closed.", kSecond / 10, kDay},
    {"http.message_timeout", FieldKind::duration, &Config::http_message_timeout, "10s",
     "Time limit for a request to arrive, and for its answer to be read by the client.", kSecond / 10, kDay},
    {"http.headers", FieldKind::list, &Config::http_headers, "ietf",
     "Headers that tell clients about their limits: ietf (RateLimit and RateLimit-Policy), x-ratelimit "
     "(X-RateLimit-Limit, -Remaining, -Reset), ratelimit-legacy (RateLimit-Limit, -Remaining, -Reset). off, or an "
     "empty "
     "list: none; Retry-After is always sent. Also for Envoy, and the variables for HAProxy."},
    {"http.reset", FieldKind::choice, &Config::http_reset, "seconds",
     "What X-RateLimit-Reset and RateLimit-Reset contain: the seconds until then, or the Unix time.", 0, 0,
     "seconds|unix-time"},
    {"http.tokens_file", FieldKind::path, &Config::http_tokens_file, "",
     "File with the SHA-256 hashes of the tokens that /v1/* and /json accept (docs/http.md), reloaded when it changes. "
     "Empty: no token is needed."},
    {"http.idempotency_keys", FieldKind::count, &Config::http_idempotency_keys, "100000",
     "Maximum number of requests with an Idempotency-Key whose answers are kept (docs/http.md#repeated-requests); "
     "their "
     "answers may have 64 MiB together. Beyond it requests with a new key are refused (503).",
     1, 10'000'000},
    {"http.idempotency_ttl", FieldKind::duration, &Config::http_idempotency_ttl, "24h",
     "How long an answer is replayed to requests with the same Idempotency-Key; a denial only until its retry_after.",
     kSecond, 30 * kDay},
    {"http.require_idempotency_key", FieldKind::toggle, &Config::http_require_idempotency_key, "false",
     "Refuse (400) requests without an Idempotency-Key that change something; checks need none."},
    {"grpc.envoy_charging", FieldKind::choice, &Config::grpc_envoy_charging, "each",
     "What a call from Envoy with several descriptors charges when one is over its limit: the others (each), or "
     "nothing "
     "(all_or_none), as envoyproxy/ratelimit does with STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT.",
     0, 0, "each|all_or_none"},
    {"drain_timeout", FieldKind::duration, &Config::drain_timeout, "10s",
     "How long the server waits for connections to finish after SIGTERM.", 0, 60 * kMinute},
    {"drain_grace", FieldKind::duration, &Config::drain_grace, "500ms",
     "How long, within drain_timeout, idle connections stay open after SIGTERM, so that a request that was already on "
     "its way is answered, with Connection: close. 0s: they are closed immediately.",
     0, 60 * kMinute},
    {"admin.tokens", FieldKind::list, &Config::admin_tokens, "",
     "Tokens with the role admin for the admin listener (Authorization: Bearer TOKEN), in addition to those made by "
     "weir token create. If there is no token at all, none is required, and listen.admin must be on loopback."},
    {"admin.certificates", FieldKind::pairs, &Config::admin_certificates, "",
     "Roles (reader, operator, admin) by the common name of client certificates that tls.client_ca has signed, such as "
     "{alice: operator}. Those not listed need a token."},
    {"log.format", FieldKind::choice, &Config::log_format, "text", "Format of log lines: text or json.", 0, 0,
     "text|json"},
    {"log.level", FieldKind::choice, &Config::log_level, "info",
     "Lowest level that is logged: debug, info, warn or error.", 0, 0, "debug|info|warn|error"},
    {"log.decisions", FieldKind::share, &Config::log_decisions, "off",
     "Share of the allowed decisions that is logged, chosen at random: off, 1/100 or 0.01, up to 1 "
     "(docs/operating.md)."},
    {"log.denials", FieldKind::share, &Config::log_denials, "off",
     "The same for denied decisions, and for those that a rule in shadow mode would deny."},
    {"log.decisions_per_second", FieldKind::count, &Config::log_decisions_per_second, "100",
     "Maximum number of decision lines in a second; the next line says how many were left out.", 1, 100'000},
    {"log.degraded_per_second", FieldKind::count, &Config::log_degraded_per_second, "5",
     "Maximum number of lines in a second, for each event loop, about decisions that on_store_failure made because the "
     "store did not answer; the next line says how many were left out. 0: none.",
     0, 100'000},
    {"log.subjects", FieldKind::choice, &Config::log_subjects, "hashed",
     "How log lines about decisions name the tenant and the subject: hashed, by the first digits of a keyed hash; or "
     "plain, by their values, which may be personal data. API keys, tokens and what identity.hashed lists are always "
     "hashed.",
     0, 0, "hashed|plain"},
    {"journal.memory", FieldKind::size, &Config::journal_memory, "16MiB",
     "Memory for the journal of decisions (docs/explaining-denials.md): every denial, and a sample of the rest; the "
     "newest replace the oldest. 0: no journal.",
     0, std::int64_t{1} << 36},
    {"journal.sample", FieldKind::share, &Config::journal_sample, "1/100",
     "Share of the allowed decisions that the journal keeps, besides the first 20 of each second and event loop: off, "
     "1/100 or 0.01, up to 1."},
    {"journal.database", FieldKind::choice, &Config::journal_database, "audited",
     "Which entries of the journal are written to the database, where they survive a restart and are found from every "
     "node: none (off), denials of rules with audit_denials (audited), all denials (denials), or all entries.",
     0, 0, "off|audited|denials|all"},
    {"journal.keep", FieldKind::duration, &Config::journal_keep, "168h",
     "How long entries of the journal stay in the database.", kMinute, 3650 * kDay},
    {"hot_keys", FieldKind::choice, &Config::hot_keys, "show",
     "Find the subjects with the most requests, the most denials, and those close to their limit, in bounded memory.",
     0, 0, "show|off"},
    {"metrics.tenants", FieldKind::list, &Config::metrics_tenants, "",
     "Tenants (at most 100) that have a series of their own in weir_tenant_decisions_total; all others are counted "
     "together. Empty: no such metric."},
    {"tracing.otlp", FieldKind::text, &Config::tracing_otlp, "",
     "Where spans are sent, with OTLP over HTTP: the address of an OpenTelemetry collector such as "
     "http://127.0.0.1:4318, to which /v1/traces is added, or a URL with a path. Empty: no tracing."},
    {"tracing.sample", FieldKind::share, &Config::tracing_sample, "0.01",
     "Share of the requests without a traceparent that are traced: off, 1/100 or 0.01, up to 1. For requests with one, "
     "the caller's sampled flag decides."},
    {"tracing.queue", FieldKind::count, &Config::tracing_queue, "4096",
     "Maximum number of spans waiting to be sent; further ones are dropped and counted.", 64, 1'048'576},
    {"tracing.headers_file", FieldKind::path, &Config::tracing_headers_file, "",
     "File with header fields for the collector, such as Authorization: Bearer …, one per line. Empty: none."},
    {"region.name", FieldKind::text, &Config::region_name, "",
     "Name of the region that this node is in, for log lines about decisions and for rules with a region: letters, "
     "digits, '.', '_' and '-'."},
    {"region.names", FieldKind::list, &Config::region_names, "",
     "Names of all regions that share limits (docs/regions.md), the same list in each. Empty: only this region."},
    {"region.coordinator", FieldKind::text, &Config::region_coordinator, "",
     "PostgreSQL through which regions share limits (region: slices and reconcile in a rule): "
     "postgres://USER@HOST/DATABASE. Empty: none."},
    {"region.homes", FieldKind::pairs, &Config::region_homes, "",
     "Redis of each region that is the home of a central rule (region: central), as region=redis://…; this node's own "
     "region may be omitted."},
    {"region.deadline", FieldKind::duration, &Config::region_deadline, "250ms",
     "How long a decision waits for the Redis of another region before the rule's on_store_failure decides.",
     kMillisecond, 10 * kSecond},
    {"region.lease", FieldKind::duration, &Config::region_lease, "10s",
     "How long a region may use a share of a limit without renewing it; it is renewed after half of that.", kSecond,
     5 * kMinute},
    {"region.sync", FieldKind::duration, &Config::region_sync, "200ms",
     "Time between exchanges with the coordinator: how soon demand is noticed, and how often usage is reported.",
     10 * kMillisecond, 10 * kSecond},
    {"region.max_keys", FieldKind::count, &Config::region_max_keys, "100000",
     "Maximum number of subjects of rules with region: slices or reconcile for which this node keeps shares and "
     "counts; further ones get the smallest share.",
     100, 10'000'000},
    {"identity.apply", FieldKind::list, &Config::identity_apply, "forward-auth,spop",
     "Front ends that identity applies to: forward-auth and spop, where it makes the attributes, and http, grpc and "
     "resp, where callers send them: then addresses are cut to their prefix, keys and tokens are hashed, revoked keys "
     "and invalid tokens are refused. A gateway's request is refused where identity does not apply."},
    {"identity.names", FieldKind::pairs, &Config::identity_names,
     "ip=ip|remote_address|client_ip|remote_ip|remote_addr,api_key=api_key|apikey|x-api-key,token=authorization|jwt|"
     "token",
     "Names under which callers of http, grpc and resp send the client's address, API key and JWT, as attributes or "
     "descriptor keys, in any case and with - or _. An entry that is not given keeps its default names; off: the value "
     "is passed on unchanged."},
    {"identity.trusted_proxies", FieldKind::list, &Config::identity_trusted_proxies, "127.0.0.1,::1",
     "Addresses or prefixes of gateways and load balancers whose headers about requests and clients are trusted "
     "(docs/identity.md). The peer of a Unix socket is always trusted."},
    {"identity.forwarding_header", FieldKind::choice, &Config::identity_forwarding_header, "x-forwarded-for",
     "Header in which trusted proxies send the client's address; all of them must use the same one.", 0, 0,
     "x-forwarded-for|forwarded|x-real-ip"},
    {"identity.ipv4_prefix", FieldKind::count, &Config::identity_ipv4_prefix, "32",
     "Prefix length of IPv4 addresses in the attribute ip.", 0, 32},
    {"identity.ipv6_prefix", FieldKind::count, &Config::identity_ipv6_prefix, "64",
     "Prefix length of IPv6 addresses in the attribute ip; one household or machine usually has a /64.", 0, 128},
    {"identity.tiers", FieldKind::pairs, &Config::identity_tiers, "ip_subnet=24/48",
     "Further attributes made from the client's address, with their IPv4 and IPv6 prefix lengths."},
    {"identity.attributes", FieldKind::pairs, &Config::identity_attributes, "api_key=header:x-api-key",
     "Sources of attributes: header:, gateway: (a header trusted only from trusted proxies, or an argument of "
     "HAProxy), "
     "cookie:, query:, path: ({name} of a route) or jwt:, followed by a name. Values of api_key are hashed on "
     "arrival."},
    {"identity.accept_unverified", FieldKind::list, &Config::identity_accept_unverified, "",
     "Which of the attributes tenant and plan may come from a source that is not verified."},
    {"identity.hashed", FieldKind::list, &Config::identity_hashed, "",
     "Further attributes whose values are hashed on arrival."},
    {"identity.unknown_keys", FieldKind::choice, &Config::identity_unknown_keys, "allow",
     "What happens to requests with an API key that `weir key create` has not made: allow, or refuse with 403. Keys "
     "that were revoked or have expired are always refused.",
     0, 0, "allow|refuse"},
    {"identity.revoked_keys_file", FieldKind::path, &Config::identity_revoked_keys_file, "",
     "File with API keys, or their hashes, that are refused, one per line. Reloaded when it changes."},
    {"identity.jwt_jwks_file", FieldKind::path, &Config::identity_jwt_jwks_file, "",
     "JWKS file with the keys that JWTs are verified with. Reloaded when it changes, like the next two."},
    {"identity.jwt_pem_file", FieldKind::path, &Config::identity_jwt_pem_file, "",
     "PEM file with the public keys that JWTs are verified with: RSA for RS256, P-256 for ES256."},
    {"identity.jwt_secret_file", FieldKind::path, &Config::identity_jwt_secret_file, "",
     "File with the secret, at least 32 bytes, that JWTs are verified with (HS256)."},
    {"identity.jwt_issuer", FieldKind::text, &Config::identity_jwt_issuer, "",
     "Issuer that JWTs must have. Empty: any."},
    {"identity.jwt_audience", FieldKind::text, &Config::identity_jwt_audience, "",
     "Audience that JWTs must have. Empty: any."},
    {"identity.jwt_leeway", FieldKind::duration, &Config::identity_jwt_leeway, "30s",
     "Allowed clock difference to the issuers of JWTs.", 0, 10 * kMinute},
    {"identity.jwt_require_expiry", FieldKind::toggle, &Config::identity_jwt_require_expiry, "true",
     "Refuse JWTs without an expiry time."},
    {"identity.jwt_header", FieldKind::text, &Config::identity_jwt_header, "authorization",
     "Header that carries the JWT: after Bearer in authorization, alone in any other header."},
    {"identity.jwt_required", FieldKind::toggle, &Config::identity_jwt_required, "false",
     "Refuse requests without a JWT. An invalid JWT is always refused."},
    {"identity.routes", FieldKind::pairs, &Config::identity_routes, "",
     "Action and cost of requests: a method (or ANY) and a path pattern, then the action and, if it is not 1, the "
     "cost, "
     "such as GET /v1/items/{id}: item.read 3. End with ANY *: other, so that every request has an action."},
    {"identity.case_sensitive", FieldKind::toggle, &Config::identity_case_sensitive, "false",
     "Treat /Login and /login as different routes. Only for applications that serve them as different paths."},
    {"identity.trailing_slash", FieldKind::choice, &Config::identity_trailing_slash, "ignore",
     "Treat /login/ as the route of /login (ignore) or not (strict).", 0, 0, "ignore|strict"},
    {"identity.encoded_slash", FieldKind::choice, &Config::identity_encoded_slash, "refuse",
     "What to do with %2F in a path: answer 400 (refuse), or treat it as part of its segment (keep) if neither the "
     "gateway nor the application decodes it.",
     0, 0, "refuse|keep"},
    {"identity.internal_networks", FieldKind::list, &Config::identity_internal_networks, "",
     "Networks whose requests may set the attribute traffic with a header (identity.traffic)."},
    {"identity.traffic", FieldKind::pairs, &Config::identity_traffic, "",
     "Value of the attribute traffic for requests from internal_networks that have a header, or a header=value, such "
     "as "
     "test: x-test-run. All other requests are external."},
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
      "# (--listen-http) and a variable (WEIR_LISTEN_HTTP). Flags override variables, variables override this file.\n"
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
