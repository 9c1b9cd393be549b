#include "keys/sealer.h"

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
  for (std::size_t at = 0; at < size; at += kBlock) {
    SipHash block = seed;
    block.add_word(at);
    const BucketKey made = block.finish();
    std::uint64_t words[2];
    std::memcpy(words, bytes + at, kBlock);
    words[0] ^= made.high;
    words[1] ^= made.low;
    std::memcpy(bytes + at, words, kBlock);
  }
}

std::string Sealer::seal(std::string_view bytes) const {
  constexpr std::size_t kUsual = 512;
  char usual[kUsual];
  std::string longer;
  char* room = usual;
  if (kPrefix + bytes.size() + kBlock > kUsual) [[unlikely]] {
    longer.resize(kPrefix + bytes.size() + kBlock);
    room = longer.data();
  }
  const BucketKey tag = tag_of(bytes);
  room[0] = kVersion;
  std::memcpy(room + 1, &tag.high, 8);
  std::memcpy(room + 9, &tag.low, 8);
  if (!bytes.empty()) std::memcpy(room + kPrefix, bytes.data(), bytes.size());
  std::memset(room + kPrefix + bytes.size(), 0, kBlock);
  apply_stream(tag, room + kPrefix, bytes.size());
  std::string text(base::base64url_size(kPrefix + bytes.size()), '\0');
  base::encode_base64url({room, kPrefix + bytes.size()}, text.data());
  return text;
}

std::optional<std::string_view> Sealer::open(std::string_view text, char* room) const {
  const std::optional<std::size_t> size = base::decode_base64url(text, room);
  if (!size || *size < kPrefix || room[0] != kVersion) return std::nullopt;
  BucketKey tag;
  std::memcpy(&tag.high, room + 1, 8);
  std::memcpy(&tag.low, room + 9, 8);
  const std::string_view bytes(room + kPrefix, *size - kPrefix);
  std::memset(room + *size, 0, kBlock);
  apply_stream(tag, room + kPrefix, bytes.size());
  const BucketKey expected = tag_of(bytes);
  // Without a branch on how much of it agrees.
  if (((expected.high ^ tag.high) | (expected.low ^ tag.low)) != 0) return std::nullopt;
  return bytes;
}

std::optional<std::string> Sealer::open(std::string_view text) const {
  std::string room(room_for(text.size()), '\0');
  const std::optional<std::string_view> bytes = open(text, room.data());
  if (!bytes) return std::nullopt;
  return std::string(*bytes);
}

}  // namespace weir::keys
