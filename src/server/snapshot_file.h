// SnapshotFile: carries the memory store's buckets over a restart.
//
// A snapshot that cannot be used is reported and left alone until the next one replaces it; the server starts without.
// save() from one thread at a time; the counters from any. Borrows the store and the log.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "keys/key_ring.h"
#include "observe/log.h"
#include "stores/memory/snapshot.h"
#include "weir/options.h"

namespace weir::server {

class SnapshotFile {
 public:
  // An empty path: nothing is kept, and load() and save() do nothing.
  // A snapshot written under the previous key is loaded too; what is saved is the current one's.
  SnapshotFile(memory::MemoryStore& store, std::filesystem::path path, const keys::KeyRing& keys, observe::Log& log);

  // Before the store is in use. What was written under a clock ahead of `now` is moved back, and the log warns.
  // Failure: the path names something that a snapshot can neither be read from nor saved to.
  // `number_rule` as in memory::load_snapshot.
  Status load(TimePoint now, const memory::NumberRule& number_rule = {});
  void save();

  std::uint64_t saved() const { return saved_.load(std::memory_order_relaxed); }
  std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }

 private:
  void tell_if_ahead(const memory::LoadReport& report);

  memory::MemoryStore& store_;
  const std::filesystem::path path_;
  const memory::SnapshotKeyId key_id_;
  const std::optional<memory::SnapshotKeyId> previous_key_id_;
  observe::Log& log_;
  std::atomic<std::uint64_t> saved_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace weir::server
