// FileState: what tells one version of a file from another without reading it.
//
// A path is a file or a folder of rules files. Pure apart from asking the file system; thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "weir/result.h"

namespace weir::rules {

struct FileState {
  std::string name;
  std::string target;  // where symbolic links lead
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t status_ns = 0;  // also sees a write that put the old time of modification back
  friend bool operator==(const FileState&, const FileState&) = default;
};

// In the order of their names; files that do not exist are missing.
using FileStates = std::vector<FileState>;

// Fails only if nothing can be said at the moment, with Code::unavailable: too many open files, for example.
Result<FileStates> look_at(const std::filesystem::path& path);

// True if every difference is a file that was complete before it took its place: another one renamed over it, or a
// symbolic link that now leads elsewhere. False for anything that could be half written: files that are written in
// place, that appear, or that are gone.
bool only_swapped(const FileStates& before, const FileStates& after);

}  // namespace weir::rules
