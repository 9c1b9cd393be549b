// Sealer: makes texts that only services with the same hash key can make and read, for handles that callers carry
// around. A text tells nothing, and no change to one goes unnoticed.
//
// Format: base64url of {version (1 byte, 2), tag (16), sealed bytes}. Under three keys that are derived from the hash
// key, with AES-128:
//
//   tag     E2(E1(block 0) ⊕ E1(block 1) ⊕ … ⊕ length), where a block is its number (2 bytes) and 14 bytes of the text,
//           the last one filled up with zeros
//   stream  E3(tag ⊕ 0), E3(tag ⊕ 1), …, which the bytes are XORed with
//
// The tag depends on every byte, so it serves as the nonce: equal bytes give equal texts, and nothing else is told. A
// forger has to guess 128 bits. Why this and not another: docs/decisions/0035-sealed-handles.md.
//
// Version 1 had a tag of SipHash-2-4-128, and a stream of SipHash-1-3-128. It is opened, and not made any more.
//
// Immutable, so thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "keys/aes.h"
#include "keys/siphash.h"
#include "weir/options.h"

namespace weir::keys {

class Sealer {
 public:
  explicit Sealer(const HashKey& key, Aes128::Instructions use = Aes128::Instructions::if_possible);

  std::string seal(std::string_view bytes) const;
  // None: not sealed under this key, or changed since.
  std::optional<std::string> open(std::string_view text) const;
  // The same without allocating: what it says is in `room`, which has at least room_for(text.size()) bytes.
  std::optional<std::string_view> open(std::string_view text, char* room) const;
  static constexpr std::size_t room_for(std::size_t text) { return text * 3 / 4 + 48; }
  // The most bytes that are sealed or opened.
  static constexpr std::size_t kMostBytes = 4'800;

 private:
  static constexpr std::size_t kBlock = 16;

  // Precondition: 16 bytes of 0 follow.
  AesBlock tag_of(std::string_view bytes) const {
    return finish_.encrypt(sum_.sum_of(bytes.data(), bytes.size()) ^ AesBlock{bytes.size(), 0});
  }
  std::optional<std::string_view> open_first_version(std::string_view bytes, const AesBlock& tag, char* room) const;

  const Aes128 sum_;     // E1
  const Aes128 finish_;  // E2
  const Aes128 stream_;  // E3
  const StrongSipHash first_tag_seed_;
  const SipHash first_stream_seed_;
};

}  // namespace weir::keys
