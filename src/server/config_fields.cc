// The table of every setting. Flags, variables, weir.yaml, its reference text and `weir serve --help` are made from it.
#include <algorithm>
#include <cctype>

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
    {"resp.password_file", FieldKind::path, &Config::resp_password_file, "",
     "File with the password that the Redis protocol asks for (AUTH). Empty: it asks for none."},
    {"store", FieldKind::store, &Config::store, "memory",
     "Where buckets live: memory, or redis://[user:password@]host:port[/db], rediss:// (TLS), "
     "redis-sentinel://host,host/master, redis-cluster://host,host."},
    {"rules", FieldKind::path, &Config::rules, "", "The rules file, or a folder of them. Empty: the quickstart rules."},
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
    {"redis.time", FieldKind::choice, &Config::redis_time, "redis",
     "Whose clock decides: redis, or node if all nodes keep the same time.", 0, 0, "redis|node"},
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
     "File with the 16-byte secret that subjects are hashed with; made when absent. Empty: beside the snapshot if "
     "there is one, else a new secret at each start; with Redis the one that is kept there, and then the server starts "
     "only when Redis answers."},
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
    {"drain_timeout", FieldKind::duration, &Config::drain_timeout, "10s",
     "How long SIGTERM waits for connections to finish.", 0, 60 * kMinute},
    {"admin.tokens", FieldKind::list, &Config::admin_tokens, "",
     "Tokens, any of which /metrics asks for (Authorization: Bearer …). None: it asks for none, and must be on "
     "loopback."},
    {"log.format", FieldKind::choice, &Config::log_format, "text",
     "Log lines for people or for machines: text or json.", 0, 0, "text|json"},
    {"log.level", FieldKind::choice, &Config::log_level, "info",
     "Least level that is logged: debug, info, warn, error.", 0, 0, "debug|info|warn|error"},
};

}  // namespace

std::span<const ConfigField> config_fields() { return kFields; }

std::string flag_of(const ConfigField& field) {
  std::string flag = "--" + std::string(field.name);
  std::replace_if(
      flag.begin(), flag.end(), [](char c) { return c == '.' || c == '_'; }, '-');
  return flag;
}

std::string variable_of(const ConfigField& field) {
  std::string variable = "WEIR_" + std::string(field.name);
  for (char& c : variable) c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

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
    const bool list = field.kind == FieldKind::list;
    out += field.default_text.empty() ? (list ? "[]" : "\"\"") : std::string(field.default_text);
    out += '\n';
  }
  return out;
}

}  // namespace weir::server
