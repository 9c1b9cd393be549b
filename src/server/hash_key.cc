#include "server/hash_key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "keys/key_encoder.h"

namespace weir::server {
namespace {

Failure system_failure(const std::filesystem::path& file) {
  return {Code::unavailable, file.string() + ": cannot be created: " + std::generic_category().message(errno)};
}

// Written beside and linked into place, so that no process reads half a key.
Status make(const std::filesystem::path& file) {
  const std::string text = keys::hash_key_text(keys::random_hash_key()) + "\n";
  const std::string fresh = file.string() + ".new." + std::to_string(::getpid());
  ::unlink(fresh.c_str());
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return system_failure(file);
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(fd) == 0;
  Status status = success();
  if (!written || (::link(fresh.c_str(), file.c_str()) != 0 && errno != EEXIST)) status = system_failure(file);
  ::close(fd);
  ::unlink(fresh.c_str());
  return status;
}

}  // namespace

Result<keys::KeyRing> load_or_make_key_ring(const std::filesystem::path& file) {
  Result<keys::KeyRing> ring = keys::load_key_ring(file);
  if (ring.ok() || ring.failure().code != Code::not_found) return ring;
  if (Status made = make(file); !made.ok()) return made.failure();
  return keys::load_key_ring(file);
}

}  // namespace weir::server
