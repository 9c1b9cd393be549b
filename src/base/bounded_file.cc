#include "base/bounded_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace weir::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  const int fd_;
};

Failure system_failure(const std::filesystem::path& path, int error) {
  const Code code = error == ENOENT ? Code::not_found : error == EACCES ? Code::permission_denied : Code::unavailable;
  return {code, path.string() + ": " + std::generic_category().message(error)};
}

Failure too_large(const std::filesystem::path& path, std::size_t max_bytes) {
  return {Code::resource_exhausted,
          path.string() + ": too large, expected at most " + std::to_string(max_bytes) + " bytes"};
}

}  // namespace

Result<std::string> read_bounded_file(const std::filesystem::path& path, std::size_t max_bytes) {
  // O_NONBLOCK: opening a pipe that has no writer must not wait.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return system_failure(path, errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return system_failure(path, errno);
  if (!S_ISREG(status.st_mode)) return Failure{Code::invalid_argument, path.string() + ": not a regular file"};
  if (static_cast<std::size_t>(status.st_size) > max_bytes) return too_large(path, max_bytes);

  std::string text(static_cast<std::size_t>(status.st_size) + 1, '\0');
  std::size_t filled = 0;
  for (;;) {
    const ssize_t count = ::read(file.get(), text.data() + filled, text.size() - filled);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_failure(path, errno);
    if (count == 0) break;
    filled += static_cast<std::size_t>(count);
    if (filled > max_bytes) return too_large(path, max_bytes);
    if (filled == text.size()) text.resize(text.size() * 2);
  }
  text.resize(filled);
  return text;
}

}  // namespace weir::base
