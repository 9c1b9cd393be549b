// FileWatch: notices that a rules file, or a file of a rules folder, has changed: written in place, renamed over, or
// reached through a symbolic link that now leads elsewhere (as in a ConfigMap).
//
// Polls, because notifications miss some of these on some file systems: a timer calls changed(). No threads; belongs
// to one thread. Make the watch before the first load, so that a change between the two is not missed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace weir::rules {

class FileWatch {
 public:
  explicit FileWatch(std::filesystem::path path);

  // True once for every change, at the second poll in a row that sees the same new state: a file that is still being
  // written is not read halfway. A file that has gone is a change too.
  bool changed();

 private:
  struct FileState {
    std::string name;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    std::int64_t modified_ns = 0;
    std::int64_t status_ns = 0;  // also sees a write that put the old time of modification back
    friend bool operator==(const FileState&, const FileState&) = default;
  };
  using Signature = std::vector<FileState>;

  Signature look() const;

  const std::filesystem::path path_;
  Signature reported_;
  Signature latest_;
};

}  // namespace weir::rules
