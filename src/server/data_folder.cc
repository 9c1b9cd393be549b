#include "server/data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "base/bounded_file.h"

namespace weir::server {
namespace {

constexpr std::size_t kMaxLockBytes = 64;

Failure folder_failure(const std::filesystem::path& folder, const std::string& what, int error) {
  return {Code::unavailable,
          "data_dir: " + folder.string() + " " + what + ": " + std::generic_category().message(error)};
}

// "process 4711 (weir)", as far as it is known.
std::string owner_of(const std::filesystem::path& file) {
  const Result<std::string> text = base::read_bounded_file(file, kMaxLockBytes);
  const std::string pid = text.ok() ? text.value().substr(0, text.value().find('\n')) : "";
  if (pid.empty() || pid.find_first_not_of("0123456789") != std::string::npos) return "another process";
  const Result<std::string> name = base::read_bounded_file("/proc/" + pid + "/comm", kMaxLockBytes);
  const std::string shown = name.ok() ? " (" + name.value().substr(0, name.value().find('\n')) + ")" : "";
  return "process " + pid + shown;
}

Status make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return success();
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), error);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return folder_failure(folder, "cannot be made", errno);
  return success();
}

}  // namespace

Status DataFolder::make(const std::filesystem::path& folder) { return make_folder(folder); }

Result<DataFolder> DataFolder::open(const std::filesystem::path& folder) {
  if (Status made = make_folder(folder); !made.ok()) return made.failure();
  const std::filesystem::path file = folder / "lock";
  const int lock = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock < 0) return folder_failure(folder, "cannot be written", errno);
  if (::flock(lock, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock);
    return Failure{Code::already_exists, "data_dir: " + folder.string() + " is in use by " + owner_of(file) +
                                             ": stop it, or give this server a folder of its own with --data-dir"};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(lock, 0) != 0 || ::write(lock, pid.data(), pid.size()) != static_cast<ssize_t>(pid.size())) {
    const int error = errno;
    ::close(lock);
    return folder_failure(folder, "cannot be written", error);
  }
  return DataFolder(folder, lock);
}

DataFolder::DataFolder(DataFolder&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

DataFolder::~DataFolder() {
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace weir::server
