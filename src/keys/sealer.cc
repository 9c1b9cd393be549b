#include "keys/sealer.h"

#include <algorithm>
#include <cstring>

#include "base/base64url.h"

namespace weir::keys {
namespace {

constexpr char kVersion = 1;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kPrefix = 1 + kTagBytes;

constexpr std::uint64_t kTagKeyUse = 0x616c6165733177;     // "w1seala"
constexpr std::uint64_t kStreamKeyUse = 0x736c6165733177;  // "w1seals"

HashKey derived_key(const HashKey& key, std::uint64_t use) {
  StrongSipHash hash(key);
  hash.add_word(use);
  const BucketKey made = hash.finish();
  HashKey derived;
  std::memcpy(derived.data(), &made.high, 8);
  std::memcpy(derived.data() + 8, &made.low, 8);
  return derived;
}

}  // namespace

Sealer::Sealer(const HashKey& key)
    : tag_seed_(derived_key(key, kTagKeyUse)), stream_seed_(derived_key(key, kStreamKeyUse)) {}

BucketKey Sealer::tag_of(std::string_view bytes) const {
  StrongSipHash hash = tag_seed_;
  hash.add_word(static_cast<std::uint64_t>(kVersion));
  hash.add_framed(bytes);
  return hash.finish();
}

void Sealer::apply_stream(const BucketKey& tag, char* bytes, std::size_t size) const {
  SipHash seed = stream_seed_;
  seed.add_word(tag.high);
  seed.add_word(tag.low);
  for (std::size_t at = 0; at < size; at += 16) {
    SipHash block = seed;
    block.add_word(at);
    const BucketKey made = block.finish();
    std::uint64_t words[2] = {};
    const std::size_t count = std::min<std::size_t>(16, size - at);
    std::memcpy(words, bytes + at, count);
    words[0] ^= made.high;
    words[1] ^= made.low;
    std::memcpy(bytes + at, words, count);
  }
}

std::string Sealer::seal(std::string_view bytes) const {
  const BucketKey tag = tag_of(bytes);
  std::string sealed(kPrefix + bytes.size(), '\0');
  sealed[0] = kVersion;
  std::memcpy(sealed.data() + 1, &tag.high, 8);
  std::memcpy(sealed.data() + 9, &tag.low, 8);
  std::copy(bytes.begin(), bytes.end(), sealed.begin() + kPrefix);
  apply_stream(tag, sealed.data() + kPrefix, bytes.size());
  return base::encode_base64url(sealed);
}

std::optional<std::string> Sealer::open(std::string_view text) const {
  std::optional<std::string> sealed = base::decode_base64url(text);
  if (!sealed || sealed->size() < kPrefix || sealed->front() != kVersion) return std::nullopt;
  BucketKey tag;
  std::memcpy(&tag.high, sealed->data() + 1, 8);
  std::memcpy(&tag.low, sealed->data() + 9, 8);
  sealed->erase(0, kPrefix);
  apply_stream(tag, sealed->data(), sealed->size());
  const BucketKey expected = tag_of(*sealed);
  // Without a branch on how much of it agrees.
  if (((expected.high ^ tag.high) | (expected.low ^ tag.low)) != 0) return std::nullopt;
  return sealed;
}

}  // namespace weir::keys
