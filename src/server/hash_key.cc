#include "server/hash_key.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "keys/key_encoder.h"

namespace weir::server {
namespace {

constexpr std::size_t kDigits = 2 * std::tuple_size_v<HashKey>;

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

Failure system_failure(const std::filesystem::path& file) {
  return {Code::unavailable, file.string() + ": cannot be made: " + std::generic_category().message(errno)};
}

// Written beside and linked into place, so that nobody ever reads half a key.
Status make(const std::filesystem::path& file) {
  const std::string text = hash_key_text(keys::random_hash_key()) + "\n";
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

std::string hash_key_text(const HashKey& key) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : key) {
    text += kHex[byte >> 4];
    text += kHex[byte & 0xF];
  }
  return text;
}

std::optional<HashKey> parse_hash_key(std::string_view text) {
  if (text.size() != kDigits) return std::nullopt;
  HashKey key{};
  for (std::size_t i = 0; i < kDigits; i += 2) {
    const int high = digit(text[i]);
    const int low = digit(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    key[i / 2] = static_cast<std::uint8_t>(high * 16 + low);
  }
  if (key == HashKey{}) return std::nullopt;  // means "none" elsewhere
  return key;
}

Result<keys::KeyRing> load_or_make_key_ring(const std::filesystem::path& file) {
  Result<keys::KeyRing> ring = keys::load_key_ring(file);
  if (ring.ok() || ring.failure().code != Code::not_found) return ring;
  if (Status made = make(file); !made.ok()) return made.failure();
  return keys::load_key_ring(file);
}

}  // namespace weir::server
