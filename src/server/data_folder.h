// DataFolder: the folder with what a server keeps on disk, locked for one process.
//
// The lock is the operating system's (flock), so it ends with the process, however that ends. The file `lock` says
// which process has it, for people. Movable; the destructor releases the lock.
#pragma once

#include <filesystem>

#include "weir/result.h"

namespace weir::server {

class DataFolder {
 public:
  // Makes the folder, readable only by its owner, if there is none. Failures: already_exists (another process has it;
  // the message names it and says what to do), unavailable (it cannot be made or written).
  static Result<DataFolder> open(const std::filesystem::path& folder);
  // Only makes it, if there is none. Failure: unavailable.
  static Status make(const std::filesystem::path& folder);
  DataFolder(DataFolder&& other) noexcept;
  DataFolder& operator=(DataFolder&&) = delete;
  ~DataFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  DataFolder(std::filesystem::path path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::filesystem::path path_;
  int lock_;  // -1: moved from
};

}  // namespace weir::server
