// ServerFigures: what one loop has done with each Redis server, so that a server that differs from the others shows.
//
// Written by the store's loop, readable from any thread (relaxed, like StoreStats). Memory and CPU are what the server
// itself says (INFO), asked for by one loop of the node now and then.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/stats.h"

namespace weir::redis {

struct ServerFigures {
  using Counter = StoreStats::Counter;

  explicit ServerFigures(std::string server_text) : server(std::move(server_text)) {}

  const std::string server;  // "10.0.0.1:6379"
  Counter calls{0};          // scripts sent to it
  Counter answered{0};       // in time
  Counter latency_us{0};     // of all that were answered, together
  std::array<Counter, kFailureKindCount> failures{};
  std::atomic<std::int64_t> in_flight{0};

  // The server's own; -1: not known.
  std::atomic<std::int64_t> memory_bytes{-1};
  std::atomic<std::int64_t> memory_max_bytes{-1};
  std::atomic<std::int64_t> cpu_us{-1};
  // Estimates of a sample (key_sample.h): how many of its keys are ours, and their memory. -1: not known.
  std::atomic<std::int64_t> keys{-1};
  std::atomic<std::int64_t> key_bytes{-1};

  void sent() {
    StoreStats::add(calls);
    in_flight.store(in_flight.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // With an answer, late ones not included, or without.
  void ended() { in_flight.store(in_flight.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed); }
  void took(std::chrono::microseconds latency) {
    StoreStats::add(answered);
    StoreStats::add(latency_us, static_cast<std::uint64_t>(latency.count()));
  }
  void failed(FailureKind kind) { StoreStats::add(failures[static_cast<std::size_t>(kind)]); }

  // Takes the numbers from an answer to INFO, as far as it has them.
  void read_info(std::string_view info);
};

// The servers that a store has known. Thread-safe; figures live as long as the table.
class ServerTable {
 public:
  static constexpr std::size_t kMaxServers = 256;  // the rest is counted together, as "other"

  ServerFigures& of(const std::string& server);
  std::vector<const ServerFigures*> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<ServerFigures>> servers_;  // guarded by mutex_
};

}  // namespace weir::redis
