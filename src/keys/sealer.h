// Sealer: makes texts that only services with the same hash key can make and read, for handles that callers carry
// around. A text tells nothing, and no change to one goes unnoticed.
//
// Format: base64url of {version (1 byte, 1), tag (16), sealed bytes}. The tag is SipHash-2-4-128 of the plain bytes
// under one key derived from the hash key; the plain bytes are XORed with a stream that SipHash makes from the tag
// under another. The tag depends on every byte, so it serves as the nonce: equal bytes give equal texts, and nothing
// else is told. A forger has to guess 128 bits.
//
// Immutable, so thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "keys/siphash.h"
#include "weir/options.h"

namespace weir::keys {

class Sealer {
 public:
  explicit Sealer(const HashKey& key);

  std::string seal(std::string_view bytes) const;
  // None: not sealed under this key, or changed since.
  std::optional<std::string> open(std::string_view text) const;
  // The same without allocating: what it says is in `room`, which has at least room_for(text.size()) bytes.
  std::optional<std::string_view> open(std::string_view text, char* room) const;
  static constexpr std::size_t room_for(std::size_t text) { return text * 3 / 4 + 32; }

 private:
  static constexpr std::size_t kBlock = 16;

  BucketKey tag_of(std::string_view bytes) const;
  // In whole blocks: what is beyond `size` in the last one is changed too.
  void apply_stream(const BucketKey& tag, char* bytes, std::size_t size) const;

  const StrongSipHash tag_seed_;
  const SipHash stream_seed_;
};

}  // namespace weir::keys
