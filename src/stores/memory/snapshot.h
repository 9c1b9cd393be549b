// Snapshots: a memory store's buckets in a file, so that a restart does not reset limits.
//
// A snapshot is written beside its path, flushed, and renamed over it: at every moment the path holds a whole snapshot
// or none. Loading verifies the whole file before it touches the store; a file that is damaged, cut short, of another
// version or made under another hash key is refused, never half loaded.
//
// Thread-safe, beside calls to the store: one shard is locked at a time, and never while the disk is waited for. Each
// bucket is consistent; two buckets of one call may be from before and after it. Nothing secret is stored: keys are
// hashes, and the key id must tell nothing about the hash key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "stores/memory/memory_store.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::memory {

// Of the file's format, which includes the algorithms' words. Versions from kOldestSnapshot on are read; any other is
// refused.
inline constexpr std::uint64_t kSnapshotVersion = 5;
inline constexpr std::uint64_t kOldestSnapshot = 2;

// Names the hash key that the bucket keys were made with: buckets of another are of no use.
using SnapshotKeyId = std::array<std::uint8_t, 16>;

struct LoadReport {
  std::size_t loaded = 0;
  std::size_t idle = 0;     // skipped: equal to a fresh bucket by now
  std::size_t no_room = 0;  // skipped: the store's memory bound is reached, or the rule got no number
  // Among the loaded and the idle: last changed after `now`, so written under a clock that was ahead, by how much at
  // most. They count as if they had last been changed now: as much was taken, and it is restricted for as long as it
  // was then.
  std::size_t moved_back = 0;
  Duration farthest_ahead{0};
};

// The number (Charge::number) that a rule has in this process; 0: none.
using NumberRule = std::function<std::uint32_t(std::string_view rule)>;

// Failures: invalid_argument (the path names something other than a regular file, which is left alone), unavailable,
// with the path and the system's reason. The previous snapshot, if any, is then still in place.
Status save_snapshot(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id);

// To be called before the store is in use: buckets of the snapshot replace those of the same key. Without `number_rule`
// rules have the numbers that they had; with it, buckets of a rule that gets none are skipped.
// Failures: not_found, invalid_argument (no regular file), unavailable (cannot be read), data_loss (damaged),
// failed_precondition (another version, or another hash key). The store is then unchanged, except that a disk error
// during the second reading leaves it empty.
Result<LoadReport> load_snapshot(MemoryStore& store, const std::filesystem::path& path, const SnapshotKeyId& key_id,
                                 TimePoint now, const NumberRule& number_rule = {});

}  // namespace weir::memory
