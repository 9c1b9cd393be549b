#include "rules/read/file_state.h"

#include <sys/stat.h>

#include <optional>
#include <system_error>

#include "rules/read/rules_source.h"

namespace weir::rules {
namespace {

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

std::optional<FileState> state_of(const std::filesystem::path& file, const std::filesystem::path& folder) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return std::nullopt;
  FileState state;
  state.name = file.string();
  state.target = (folder / file.filename()).string();
  if (S_ISLNK(status.st_mode)) {
    if (::stat(file.c_str(), &status) != 0) return std::nullopt;
    std::error_code error;
    state.target = std::filesystem::canonical(file, error).string();
  }
  state.device = status.st_dev;
  state.inode = status.st_ino;
  state.bytes = status.st_size;
  state.modified_ns = nanoseconds(status.st_mtim);
  state.status_ns = nanoseconds(status.st_ctim);
  return state;
}

// A rename changes the status of a file, not its contents. One that was written in the same tick of the kernel's clock
// looks as if it were still being written; then it is only taken a little later.
bool is_complete(const FileState& state) { return state.modified_ns < state.status_ns; }

bool is_swap(const FileState& before, const FileState& after) {
  if (before.name != after.name) return false;
  const bool another = before.device != after.device || before.inode != after.inode;
  return another && (before.target != after.target || is_complete(after));
}

}  // namespace

Result<FileStates> look_at(const std::filesystem::path& path) {
  const auto files = list_rules_files(path);
  if (!files.ok()) {
    if (files.failure().code == Code::unavailable) return files.failure();
    return FileStates();
  }
  FileStates states;
  std::error_code error;
  std::filesystem::path folder;  // of the last file, links resolved; all files of a folder share it
  std::filesystem::path given;
  for (const std::filesystem::path& file : files.value()) {
    if (states.empty() || file.parent_path() != given) {
      given = file.parent_path();
      folder = std::filesystem::canonical(given.empty() ? "." : given, error);
    }
    if (std::optional<FileState> state = state_of(file, folder)) states.push_back(std::move(*state));
  }
  return states;
}

bool only_swapped(const FileStates& before, const FileStates& after) {
  if (before.size() != after.size()) return false;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i] != after[i] && !is_swap(before[i], after[i])) return false;
  }
  return true;
}

}  // namespace weir::rules
