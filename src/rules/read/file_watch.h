// FileWatch: notices that a file, or a file of a rules folder, has changed: written in place, renamed over, or reached
// through a symbolic link that now leads elsewhere (as in a ConfigMap).
//
// Polls, because notifications miss some of these on some file systems: a timer calls changed(). No threads; belongs
// to one thread. Make the watch before the first load, so that a change between the two is not missed.
#pragma once

#include <cstdint>
#include <filesystem>

#include "rules/read/file_state.h"

namespace weir::rules {

class FileWatch {
 public:
  // How often changed() must find a file that could be half written as it was before. With a look every quarter of a
  // second, a writer may pause for a second.
  static constexpr int kQuietLooks = 4;
  // A file that never comes to rest is reported after so many looks all the same, and again after as many more.
  static constexpr int kMaxLooks = 40;

  explicit FileWatch(std::filesystem::path path);

  // True once for every change. Files that were complete before they took their place are reported at the first look
  // that sees them, all others when they have come to rest. A file that is gone is a change, too. A look that fails
  // (too many open files) is as if it had not been made.
  bool changed();

 private:
  bool report();

  std::filesystem::path path_;
  FileStates reported_;  // what was last reported, or seen first
  FileStates latest_;
  int quiet_ = 0;   // looks in a row that have found `latest_`
  int unrest_ = 0;  // looks since the files have begun to differ from `reported_`
};

}  // namespace weir::rules
