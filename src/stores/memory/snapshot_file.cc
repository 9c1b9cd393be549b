#include "stores/memory/snapshot_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

namespace weir::memory {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{64} << 10;

const char* kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "FIFO";
  return S_ISSOCK(mode) ? "socket" : "device";
}

}  // namespace

Failure system_failure(Code code, const std::filesystem::path& path, const char* what, int error) {
  return {code, path.string() + ": " + what + ": " + std::strerror(error)};
}

Status check_regular(const std::filesystem::path& path) {
  struct stat status {};
  // A file that cannot be examined is reported when it is opened.
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return success();
  return Failure{Code::invalid_argument,
                 path.string() + ": is a " + kind_of(status.st_mode) + ", expected a regular file"};
}

File::File(const std::filesystem::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0600)) {}

bool File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  return descriptor < 0 || ::close(descriptor) == 0;
}

Writer::Writer(File& file) : file_(file) { buffer_.reserve(kBufferBytes); }

void Writer::put(const void* data, std::size_t size) {
  const auto* from = static_cast<const std::byte*>(data);
  while (size > 0) {
    const std::size_t part = std::min(size, kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), from, from + part);
    from += part;
    size -= part;
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void Writer::flush() {
  sum_.update(buffer_);
  for (std::size_t done = 0; done < buffer_.size() && error_ == 0;) {
    const ssize_t written = ::write(file_.descriptor(), buffer_.data() + done, buffer_.size() - done);
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  buffer_.clear();
}

Reader::Reader(File& file) : file_(file), buffer_(kBufferBytes) {}

bool Reader::get(void* data, std::size_t size) {
  auto* to = static_cast<std::byte*>(data);
  while (size > 0) {
    if (begin_ == end_ && !refill()) return false;
    const std::size_t part = std::min(size, end_ - begin_);
    std::copy_n(buffer_.data() + begin_, part, to);
    sum_.update({buffer_.data() + begin_, part});
    begin_ += part;
    to += part;
    size -= part;
  }
  return true;
}

bool Reader::refill() {
  ssize_t got = 0;
  do {
    got = ::read(file_.descriptor(), buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_ = errno;
  begin_ = 0;
  end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  return got > 0;
}

}  // namespace weir::memory
