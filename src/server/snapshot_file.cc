#include "server/snapshot_file.h"

#include <cstring>
#include <utility>

#include "keys/key_encoder.h"

namespace weir::server {
namespace {

constexpr Duration kUsualDifference = std::chrono::seconds(1);

memory::SnapshotKeyId key_id_of(const HashKey& key) {
  const BucketKey fingerprint = keys::KeyEncoder(key).fingerprint();
  memory::SnapshotKeyId id{};
  static_assert(sizeof fingerprint.high + sizeof fingerprint.low == sizeof id);
  std::memcpy(id.data(), &fingerprint.high, sizeof fingerprint.high);
  std::memcpy(id.data() + sizeof fingerprint.high, &fingerprint.low, sizeof fingerprint.low);
  return id;
}

}  // namespace

SnapshotFile::SnapshotFile(memory::MemoryStore& store, std::filesystem::path path, const keys::KeyRing& keys,
                           observe::Log& log)
    : store_(store),
      path_(std::move(path)),
      key_id_(key_id_of(keys.current)),
      previous_key_id_(keys.previous ? std::optional(key_id_of(*keys.previous)) : std::nullopt),
      log_(log) {}

Status SnapshotFile::load(TimePoint now, const memory::NumberRule& number_rule) {
  if (path_.empty()) return success();
  Result<memory::LoadReport> report = memory::load_snapshot(store_, path_, key_id_, now, number_rule);
  if (!report.ok() && report.failure().code == Code::failed_precondition && previous_key_id_) {
    report = memory::load_snapshot(store_, path_, *previous_key_id_, now, number_rule);
  }
  if (!report.ok() && report.failure().code == Code::invalid_argument) {
    return Failure{Code::invalid_argument, "memory.snapshot: " + report.failure().message};
  }
  if (report.ok()) {
    log_.info("snapshot_loaded", "buckets restored from the snapshot",
              {{"path", path_.string()},
               {"loaded", report.value().loaded},
               {"idle", report.value().idle},
               {"no_room", report.value().no_room},
               {"moved_back", report.value().moved_back}});
    tell_if_ahead(report.value());
  } else if (report.failure().code != Code::not_found) {
    log_.error("snapshot_ignored", "the snapshot cannot be used; all buckets start full",
               {{"path", path_.string()}, {"error", report.failure().message}});
  }
  return success();
}

// Restarts on a clock that is a little behind are usual: it may just have been set.
void SnapshotFile::tell_if_ahead(const memory::LoadReport& report) {
  if (report.farthest_ahead < kUsualDifference) return;
  log_.warn("snapshot_from_future",
            "the clock was ahead when the snapshot was written: its buckets count as last used now",
            {{"path", path_.string()},
             {"buckets", report.moved_back},
             {"farthest_ahead_ms", ceil_ms(report.farthest_ahead)}});
}

void SnapshotFile::save() {
  if (path_.empty()) return;
  const Status status = memory::save_snapshot(store_, path_, key_id_);
  if (status.ok()) {
    saved_.fetch_add(1, std::memory_order_relaxed);
    log_.debug("snapshot_saved", "buckets saved", {{"path", path_.string()}});
  } else {
    failed_.fetch_add(1, std::memory_order_relaxed);
    log_.error("snapshot_failed", "the snapshot cannot be written",
               {{"path", path_.string()}, {"error", status.failure().message}});
  }
}

}  // namespace weir::server
