#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>
#include <system_error>

namespace weir::base {
namespace {

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return ::fsync(fd) == 0;
}

}  // namespace

Status write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::string fresh = path.string() + ".new." + std::to_string(::getpid());
  const auto fail = [&](int error) {
    return Failure{Code::unavailable, path.string() + ": " + std::generic_category().message(error)};
  };
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return fail(errno);
  const bool written = write_all(fd, text);
  const int error = errno;
  ::close(fd);
  if (written && std::rename(fresh.c_str(), path.c_str()) == 0) return success();
  const int last = written ? errno : error;
  ::unlink(fresh.c_str());
  return fail(last);
}

}  // namespace weir::base
