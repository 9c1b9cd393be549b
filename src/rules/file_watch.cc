#include "rules/file_watch.h"

#include <sys/stat.h>

#include <utility>

#include "rules/rules_file.h"

namespace weir::rules {
namespace {

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

}  // namespace

FileWatch::FileWatch(std::filesystem::path path) : path_(std::move(path)), reported_(look()), latest_(reported_) {}

bool FileWatch::changed() {
  Signature seen = look();
  const bool settled = seen == latest_;
  latest_ = std::move(seen);
  if (!settled || latest_ == reported_) return false;
  reported_ = latest_;
  return true;
}

FileWatch::Signature FileWatch::look() const {
  Signature signature;
  const auto files = list_rules_files(path_);
  if (!files.ok()) return signature;
  for (const std::filesystem::path& file : files.value()) {
    struct stat status {};
    if (::stat(file.c_str(), &status) != 0) continue;
    signature.push_back({file.string(), status.st_dev, status.st_ino, status.st_size, nanoseconds(status.st_mtim),
                         nanoseconds(status.st_ctim)});
  }
  return signature;
}

}  // namespace weir::rules
