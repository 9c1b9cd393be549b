// EstimateFile: carries what reservations have cost (engine/estimates.h) over a restart, beside the memory store's
// snapshot.
//
// A file that cannot be used is reported and left alone until the next one replaces it. Borrows what it is given;
// load() before the estimates are in use, save() from one thread at a time.
#pragma once

#include <filesystem>

#include "engine/estimates.h"
#include "observe/log.h"
#include "weir/bucket_key.h"
#include "weir/result.h"

namespace weir::server {

class EstimateFile {
 public:
  // `key_id` names the hash key that the keys of the estimates were made with. An empty path: nothing is kept.
  EstimateFile(engine::Estimates& estimates, std::filesystem::path path, const BucketKey& key_id, observe::Log& log);

  void load();
  void save();

 private:
  Status write(const std::filesystem::path& path);

  engine::Estimates& estimates_;
  const std::filesystem::path path_;
  const BucketKey key_id_;
  observe::Log& log_;
};

// The estimates of a file, all or none. Failure: it is not there (not_found), cannot be read, is damaged, or belongs to
// another hash key.
Result<std::size_t> read_estimates(const std::filesystem::path& path, const BucketKey& key_id, engine::Estimates& into);

}  // namespace weir::server
