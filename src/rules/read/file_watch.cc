#include "rules/read/file_watch.h"

#include <utility>

namespace weir::rules {

FileWatch::FileWatch(std::filesystem::path path) : path_(std::move(path)) {
  if (Result<FileStates> seen = look_at(path_); seen.ok()) reported_ = std::move(seen).value();
  latest_ = reported_;
}

bool FileWatch::changed() {
  Result<FileStates> seen = look_at(path_);
  if (!seen.ok()) return false;
  const bool swapped = only_swapped(latest_, seen.value());
  quiet_ = seen.value() == latest_ ? quiet_ + 1 : 0;
  const bool was_at_rest = latest_ == reported_;
  latest_ = std::move(seen).value();
  if (latest_ == reported_) {
    unrest_ = 0;
    return false;
  }
  ++unrest_;
  if ((was_at_rest && swapped) || quiet_ >= kQuietLooks || unrest_ >= kMaxLooks) return report();
  return false;
}

bool FileWatch::report() {
  reported_ = latest_;
  unrest_ = 0;
  return true;
}

}  // namespace weir::rules
