// What a Redis store needs to know: where the servers are, how to log in, and how long to wait.
//
// A plain value, usually made by parse_redis_url() and then adjusted. It may hold a password: never print all of it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::redis {

class SubjectCensus;

enum class Topology : std::uint8_t { standalone, sentinel, cluster };

// Whose clock decides. Redis's own is the default: nodes then need not agree on the time. `gateway` is the time that
// came with the request (StoreCall::ingress), and the node's where none did.
enum class TimeSource : std::uint8_t { redis, node, gateway };
std::optional<TimeSource> time_source_from_name(std::string_view name);

// A TCP host and port, or with port 0 the path of a Unix socket.
struct Address {
  std::string host;
  std::uint16_t port = 0;
  friend bool operator==(const Address&, const Address&) = default;
};
std::string to_text(const Address& address);

struct TlsOptions {
  bool enabled = false;
  bool verify = true;     // the server's certificate and name
  std::string ca_file;    // empty: the system's authorities
  std::string cert_file;  // with key_file: the certificate this client shows
  std::string key_file;
};

struct BreakerOptions {
  int failures_to_open = 3;
  std::chrono::milliseconds first_delay{200};
  std::chrono::milliseconds longest_delay{5000};
};

// A namespace keeps environments or products apart that share one Redis. It is part of every key, so it is short and
// plain: letters, digits, '.', '_' and '-', at most kMaxNamespace of them.
inline constexpr std::size_t kMaxNamespace = 64;
bool is_namespace(std::string_view text);
// What every key of a namespace begins with: "w1:", or "w1:prod:" for the namespace "prod".
std::string key_prefix(std::string_view name_space);

inline constexpr std::size_t kMaxConnections = 64;
inline constexpr std::size_t kMaxInFlight = 1'000'000;

struct RedisOptions {
  Topology topology = Topology::standalone;
  std::vector<Address> seeds;  // the server, the sentinels, or some nodes of the cluster
  std::string master_name;     // Sentinel
  std::string user;
  std::string password;
  std::string sentinel_user;
  std::string sentinel_password;
  int database = 0;
  TlsOptions tls;
  TimeSource time = TimeSource::redis;
  std::chrono::milliseconds deadline{20};           // for one decision, retries included
  std::chrono::milliseconds connect_timeout{1000};  // TCP, TLS, log-in and loading of scripts together
  std::size_t connections = 1;                      // to each server, for each loop
  std::size_t max_in_flight = 4096;                 // decisions that may wait at once; more are refused at once
  std::string name_space;                           // part of every key; empty: none
  std::string client_name = "weir";                 // CLIENT SETNAME; empty: none
  BreakerOptions breaker;
  bool asks_info = false;                 // asks servers for their memory and CPU now and then; for one loop of a node
  std::shared_ptr<SubjectCensus> census;  // shared by the stores of a node's loops; null: the store has its own
};

// "127.0.0.1:6379, 127.0.0.1:6380": where the servers are, without how to log in.
std::string servers_text(const RedisOptions& options);

}  // namespace weir::redis
