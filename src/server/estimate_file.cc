// The file, all numbers little-endian:
//
//   header   8 bytes "WEIRESTM"; version (8 bytes: 1); 16 bytes key id; number of sketches (8)
//   sketch*  16 bytes key, a counter of 2 bytes for each size (engine/quantile_sketch.h)
//   footer   CRC-64/XZ of everything before it
#include "server/estimate_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>
#include <vector>

#include "stores/memory/snapshot_file.h"

namespace weir::server {
namespace {

constexpr char kEstimateMagic[8] = {'W', 'E', 'I', 'R', 'E', 'S', 'T', 'M'};
constexpr std::uint64_t kEstimateVersion = 1;
constexpr std::uint64_t kMostSketches = engine::Estimates::kMaxSketches + engine::Estimates::kMaxRules;

struct EstimateHeader {
  char magic[8];
  std::uint64_t version;
  BucketKey key_id;
  std::uint64_t sketches;
};
static_assert(sizeof(EstimateHeader) == 40);

struct EstimateRecord {
  BucketKey key;
  std::array<std::uint16_t, engine::QuantileSketch::kSizes> counts;
};
static_assert(sizeof(EstimateRecord) == 16 + 2 * engine::QuantileSketch::kSizes);

Failure unusable(const std::filesystem::path& path, const char* why) {
  return {Code::data_loss, path.string() + ": " + why};
}

}  // namespace

EstimateFile::EstimateFile(engine::Estimates& estimates, std::filesystem::path path, const BucketKey& key_id,
                           observe::Log& log)
    : estimates_(estimates), path_(std::move(path)), key_id_(key_id), log_(log) {}

Result<std::size_t> read_estimates(const std::filesystem::path& path, const BucketKey& key_id,
                                   engine::Estimates& into) {
  if (const Status regular = memory::check_regular(path); !regular.ok()) return regular.failure();
  memory::File file(path, O_RDONLY | O_NONBLOCK);
  if (!file.open()) {
    const Code code = errno == ENOENT ? Code::not_found : Code::unavailable;
    return memory::system_failure(code, path, "cannot be opened", errno);
  }
  memory::Reader reader(file);
  EstimateHeader header{};
  if (!reader.get(&header, sizeof(header))) return unusable(path, "cut short");
  if (!std::equal(std::begin(kEstimateMagic), std::end(kEstimateMagic), header.magic)) {
    return unusable(path, "not a file of estimates");
  }
  if (header.version != kEstimateVersion) return unusable(path, "of another version");
  if (header.key_id != key_id) return unusable(path, "made under another hash key");
  if (header.sketches > kMostSketches) return unusable(path, "more estimates than are possible");
  std::vector<engine::Estimates::Learned> read;
  for (std::uint64_t i = 0; i < header.sketches; ++i) {
    EstimateRecord record{};
    if (!reader.get(&record, sizeof(record))) return unusable(path, "cut short");
    engine::Estimates::Learned learned{record.key, {}};
    if (!learned.sketch.restore(record.counts)) return unusable(path, "an impossible estimate");
    read.push_back(learned);
  }
  const std::uint64_t sum = reader.checksum();
  std::uint64_t expected = 0;
  if (!reader.get(&expected, sizeof(expected)) || sum != expected) return unusable(path, "wrong checksum");
  if (!reader.at_end()) return unusable(path, "extra data after its end");
  for (const engine::Estimates::Learned& each : read) into.restore(each);
  return read.size();
}

void EstimateFile::load() {
  if (path_.empty()) return;
  const Result<std::size_t> loaded = read_estimates(path_, key_id_, estimates_);
  if (loaded.ok()) {
    log_.info("estimates_loaded", "learned estimates restored", {{"path", path_.string()}, {"loaded", loaded.value()}});
  } else if (loaded.failure().code != Code::not_found) {
    log_.error("estimates_ignored", "the learned estimates cannot be used; they are learned again",
               {{"path", path_.string()}, {"error", loaded.failure().message}});
  }
}

Status EstimateFile::write(const std::filesystem::path& path) {
  const std::vector<engine::Estimates::Learned> learned = estimates_.learned();
  ::unlink(path.c_str());
  memory::File file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file.open()) return memory::system_failure(Code::unavailable, path, "cannot be created", errno);
  memory::Writer writer(file);
  EstimateHeader header{{}, kEstimateVersion, key_id_, std::min<std::uint64_t>(learned.size(), kMostSketches)};
  std::copy(std::begin(kEstimateMagic), std::end(kEstimateMagic), header.magic);
  writer.put(&header, sizeof(header));
  for (std::size_t i = 0; i < header.sketches; ++i) {
    const EstimateRecord record{learned[i].key, learned[i].sketch.counts()};
    writer.put(&record, sizeof(record));
  }
  const std::uint64_t sum = writer.checksum();
  writer.put(&sum, sizeof(sum));
  writer.flush();
  if (writer.error() != 0) return memory::system_failure(Code::unavailable, path, "cannot be written", writer.error());
  if (::fsync(file.descriptor()) != 0 || !file.close()) {
    return memory::system_failure(Code::unavailable, path, "cannot be flushed", errno);
  }
  return success();
}

void EstimateFile::save() {
  if (path_.empty()) return;
  std::filesystem::path beside = path_;
  beside += ".tmp";
  Status status = memory::check_regular(path_);
  if (status.ok()) status = write(beside);
  if (status.ok() && ::rename(beside.c_str(), path_.c_str()) != 0) {
    status = memory::system_failure(Code::unavailable, path_, "cannot be replaced", errno);
  }
  if (status.ok()) return;
  ::unlink(beside.c_str());
  log_.error("estimates_failed", "the learned estimates cannot be written",
             {{"path", path_.string()}, {"error", status.failure().message}});
}

}  // namespace weir::server
