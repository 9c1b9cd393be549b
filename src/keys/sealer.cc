#include "keys/sealer.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "base/base64url.h"

namespace weir::keys {
namespace {

constexpr char kVersion = 2;
constexpr char kFirstVersion = 1;
constexpr std::size_t kTagBytes = 16;
constexpr std::size_t kPrefix = 1 + kTagBytes;

constexpr std::uint64_t kTagKeyUse = 0x616c6165733177;     // "w1seala", of version 1
constexpr std::uint64_t kStreamKeyUse = 0x736c6165733177;  // "w1seals", of version 1
constexpr std::uint64_t kSumKeyUse = 0x316c61657332'7700;  // of version 2, like those below
constexpr std::uint64_t kFinishKeyUse = 0x326c61657332'7700;
constexpr std::uint64_t kPadKeyUse = 0x336c61657332'7700;

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

Sealer::Sealer(const HashKey& key, Aes128::Instructions use)
    : sum_(derived_key(key, kSumKeyUse), use),
      finish_(derived_key(key, kFinishKeyUse), use),
      stream_(derived_key(key, kPadKeyUse), use),
      first_tag_seed_(derived_key(key, kTagKeyUse)),
      first_stream_seed_(derived_key(key, kStreamKeyUse)) {}

[[gnu::hot]] std::string Sealer::seal(std::string_view bytes) const {
  assert(bytes.size() <= kMostBytes);
  constexpr std::size_t kUsual = 512;
  char usual[kUsual];
  std::string longer;
  char* room = usual;
  if (kPrefix + bytes.size() + kBlock > kUsual) [[unlikely]] {
    longer.resize(kPrefix + bytes.size() + kBlock);
    room = longer.data();
  }
  if (!bytes.empty()) std::memcpy(room + kPrefix, bytes.data(), bytes.size());
  std::memset(room + kPrefix + bytes.size(), 0, kBlock);
  const AesBlock tag = tag_of({room + kPrefix, bytes.size()});
  room[0] = kVersion;
  std::memcpy(room + 1, &tag, kTagBytes);
  stream_.apply_stream(tag, room + kPrefix, bytes.size());
  std::string text(base::base64url_size(kPrefix + bytes.size()), '\0');
  base::encode_base64url({room, kPrefix + bytes.size()}, text.data());
  return text;
}

std::optional<std::string_view> Sealer::open(std::string_view text, char* room) const {
  const std::optional<std::size_t> size = base::decode_base64url(text, room);
  if (!size || *size < kPrefix || *size - kPrefix > kMostBytes) return std::nullopt;
  AesBlock tag;
  std::memcpy(&tag, room + 1, kTagBytes);
  const std::string_view bytes(room + kPrefix, *size - kPrefix);
  std::memset(room + *size, 0, kBlock);
  if (room[0] == kFirstVersion) return open_first_version(bytes, tag, room);
  if (room[0] != kVersion) return std::nullopt;
  stream_.apply_stream(tag, room + kPrefix, bytes.size());
  std::memset(room + *size, 0, kBlock);
  const AesBlock differs = tag_of(bytes) ^ tag;
  // Without a branch on how much of it agrees.
  if ((differs.low | differs.high) != 0) return std::nullopt;
  return bytes;
}

// There the first eight bytes of the tag were the high half of a hash.
std::optional<std::string_view> Sealer::open_first_version(std::string_view bytes, const AesBlock& tag,
                                                           char* room) const {
  SipHash seed = first_stream_seed_;
  seed.add_word(tag.low);
  seed.add_word(tag.high);
  char* const sealed = room + kPrefix;
  for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
    SipHash block = seed;
    block.add_word(at);
    const BucketKey made = block.finish();
    std::uint64_t words[2];
    std::memcpy(words, sealed + at, kBlock);
    words[0] ^= made.high;
    words[1] ^= made.low;
    std::memcpy(sealed + at, words, kBlock);
  }
  StrongSipHash hash = first_tag_seed_;
  hash.add_word(static_cast<std::uint64_t>(kFirstVersion));
  hash.add_framed(bytes);
  const BucketKey expected = hash.finish();
  if (((expected.high ^ tag.low) | (expected.low ^ tag.high)) != 0) return std::nullopt;
  return bytes;
}

std::optional<std::string> Sealer::open(std::string_view text) const {
  std::string room(room_for(text.size()), '\0');
  const std::optional<std::string_view> bytes = open(text, room.data());
  if (!bytes) return std::nullopt;
  return std::string(*bytes);
}

}  // namespace weir::keys
