// Config: how one server is set up. Every field has a name in `weir.yaml`, a flag and a variable, all made from one
// table (config_fields):
//
//   listen: {http: 127.0.0.1:8080}    --listen-http 127.0.0.1:8080    WEIR_LISTEN_HTTP=127.0.0.1:8080
//
// A name that ends in `.path` may be written without it: `rules: rules.yaml`, --rules, WEIR_RULES.
//
// Flags override variables, variables override the file, the file overrides defaults. Paths in the file are relative to
// the file, all others to the working directory. A failure begins with the place of the fault: "weir.yaml:3:9:
// listen.http: …", "--listen-http: …" or "WEIR_LISTEN_HTTP: …".
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

// One entry of a map such as identity.attributes.
struct NamedText {
  std::string name;
  std::string text;
  friend bool operator==(const NamedText&, const NamedText&) = default;
};

// A plain value. The names are the table's with `_` for `.`; what they mean is said there.
struct Config {
  std::string listen_http;
  std::string listen_admin;
  std::string listen_grpc;
  std::string listen_resp;
  std::string listen_spop;
  std::vector<std::string> listen_proxy_protocol;
  std::string listen_unix_mode;
  std::filesystem::path tls_cert;  // empty: no listener speaks TLS
  std::filesystem::path tls_key;
  std::filesystem::path tls_client_ca;  // empty: clients need no certificate
  std::vector<std::string> tls_listeners;
  std::vector<std::string> tls_client_listeners;
  std::filesystem::path resp_password_file;  // empty: no password
  std::filesystem::path data_dir;            // empty: none, because the environment names no folder
  std::string database;                      // may hold a password
  std::string node_name;                     // empty: the machine's
  bool single_node = false;
  Duration quota_slice_ttl{0};
  Duration quota_timeout{0};
  Duration quota_log_every{0};
  std::int64_t quota_max_log_bytes = 0;
  Duration quota_keep{0};     // 0: forever
  std::string quota_webhook;  // may hold a password
  std::filesystem::path quota_webhook_secret_file;
  std::string store;                 // may hold a password
  std::filesystem::path rules_path;  // empty: the built-in quickstart rules; kRulesInDatabase: as it says
  std::string rules_format;
  std::int64_t memory_max_bytes = 0;
  std::filesystem::path memory_snapshot;  // empty: none
  Duration memory_snapshot_every{0};      // 0: only when the server stops
  Duration redis_deadline{0};
  Duration redis_connect_timeout{0};
  std::string redis_namespace;
  std::string redis_time;
  std::string redis_time_header;
  Duration redis_time_bound{0};
  std::int64_t redis_connections = 0;
  std::int64_t redis_max_in_flight = 0;
  std::filesystem::path redis_tls_ca;    // empty: the system's authorities
  std::filesystem::path redis_tls_cert;  // empty: none is shown
  std::filesystem::path redis_tls_key;
  bool prefilter = true;
  std::int64_t loops = 0;               // 0: one for each core
  std::filesystem::path hash_key_file;  // empty: a new secret at each start, or the one that Redis keeps
  std::int64_t connection_memory = 0;
  std::int64_t http_max_connections = 0;
  std::int64_t http_header_bytes = 0;
  std::int64_t http_body_bytes = 0;
  Duration http_idle_timeout{0};
  Duration http_message_timeout{0};
  std::vector<std::string> http_headers;  // empty: none
  std::string http_reset;
  std::filesystem::path http_tokens_file;  // empty: no token is needed
  std::int64_t http_idempotency_keys = 0;
  Duration http_idempotency_ttl{0};
  bool http_require_idempotency_key = false;
  Duration drain_timeout{0};
  Duration drain_grace{0};
  std::string grpc_envoy_charging;
  std::vector<std::string> admin_tokens;
  std::vector<NamedText> admin_certificates;  // common name of a client certificate, and role
  std::string log_format;
  std::string log_level;
  std::int64_t log_decisions = 0;  // parts of a million of the allowed decisions, and
  std::int64_t log_denials = 0;    // of the denied ones, that are logged
  std::int64_t log_decisions_per_second = 0;
  std::int64_t log_degraded_per_second = 0;
  std::string log_subjects;
  std::int64_t journal_memory = 0;  // 0: there is no journal
  std::int64_t journal_sample = 0;  // parts of a million of the allowed decisions
  std::string journal_database;
  Duration journal_keep{0};
  std::string hot_keys;
  std::vector<std::string> metrics_tenants;
  std::string tracing_otlp;         // empty: no tracing
  std::int64_t tracing_sample = 0;  // parts of a million of the requests without a trace of their own
  std::int64_t tracing_queue = 0;   // spans
  std::filesystem::path tracing_headers_file;
  std::string region_name;                // empty: not logged
  std::string region_coordinator;         // empty: none; may hold a password
  std::vector<std::string> region_names;  // of all regions; empty: there is one
  std::vector<NamedText> region_homes;    // region and the URL of its Redis, which may hold a password
  Duration region_deadline{0};
  Duration region_lease{0};
  Duration region_sync{0};
  std::int64_t region_max_keys = 0;

  std::vector<std::string> identity_apply;  // front ends
  std::vector<NamedText> identity_names;    // ip, api_key or token, and "name|name"
  std::vector<std::string> identity_trusted_proxies;
  std::string identity_forwarding_header;
  std::int64_t identity_ipv4_prefix = 0;
  std::int64_t identity_ipv6_prefix = 0;
  std::vector<NamedText> identity_tiers;       // attribute and "24/48"
  std::vector<NamedText> identity_attributes;  // attribute and source
  std::vector<std::string> identity_accept_unverified;
  std::vector<std::string> identity_hashed;
  std::filesystem::path identity_revoked_keys_file;  // empty: none is revoked
  std::string identity_unknown_keys;
  std::filesystem::path identity_jwt_jwks_file;  // these three empty: no tokens
  std::filesystem::path identity_jwt_pem_file;
  std::filesystem::path identity_jwt_secret_file;
  std::string identity_jwt_issuer;    // empty: any
  std::string identity_jwt_audience;  // empty: any
  Duration identity_jwt_leeway{0};
  bool identity_jwt_require_expiry = true;
  std::string identity_jwt_header;
  bool identity_jwt_required = false;
  std::vector<NamedText> identity_routes;  // "GET /v1/items/{id}" and "item.read 3"
  bool identity_case_sensitive = false;
  std::string identity_trailing_slash;
  std::string identity_encoded_slash;
  std::vector<std::string> identity_internal_networks;
  std::vector<NamedText> identity_traffic;  // kind of traffic and "header" or "header=value"

  // Where each setting that is not a default came from, by its name ("identity.attributes.tenant" for an entry of a
  // map): for faults that show only when several settings are checked together.
  std::vector<NamedText> places;
  // Variables that begin with WEIR_ and set nothing, each with " (did you mean WEIR_RULES?)" or nothing.
  std::vector<NamedText> unknown_variables;
};

// "weir.yaml:3:9" or "--identity-routes"; of a setting that was left alone, nothing.
std::string_view place_of(const Config& config, std::string_view name);

inline constexpr std::string_view kOff = "off";
inline constexpr std::string_view kRulesInDatabase = "database";
inline bool rules_in_database(const Config& config) { return config.rules_path == kRulesInDatabase; }

enum class FieldKind : std::uint8_t {
  address,  // host:port, [v6]:port, unix:/path or off
  store,
  path,
  size,
  duration,
  count,
  share,  // off, 1/100, 0.01: kept in parts of a million
  toggle,
  choice,  // one of `choices`
  list,
  text,
  pairs,  // a map of texts; "name=text,name=text" as a flag
};

struct ConfigField {
  using Member =
      std::variant<std::string Config::*, std::filesystem::path Config::*, std::int64_t Config::*, Duration Config::*,
                   bool Config::*, std::vector<std::string> Config::*, std::vector<NamedText> Config::*>;

  std::string_view name;
  FieldKind kind;
  Member member;
  std::string_view default_text;
  std::string_view help;
  std::int64_t least = 0;  // of sizes, counts and durations (in microseconds)
  std::int64_t most = 0;
  std::string_view choices = {};  // "text|json"
};

std::span<const ConfigField> config_fields();
std::string flag_of(const ConfigField& field);      // "--listen-http"
std::string variable_of(const ConfigField& field);  // "WEIR_LISTEN_HTTP"

struct ConfigSources {
  std::filesystem::path file;                               // empty: no file
  std::vector<std::pair<std::string, std::string>> flags;   // field name and text
  std::function<const char*(const std::string&)> variable;  // like getenv; absent: no environment
  std::vector<std::string> variable_names{};                // of the whole environment, to find misspelt ones
};

Result<Config> load_config(const ConfigSources& sources);

// A weir.yaml with every field, its meaning and its default. It loads, and changes nothing.
std::string reference_config();

}  // namespace weir::server
