// KeyRing: the secret under which subjects and API keys are hashed, and during a rotation also the one before it.
//
// The file has one or two lines of 32 hexadecimal digits: the current key, then the previous one. To rotate, put a new
// key above the old one, restart every node, and drop the old line once the longest window has passed.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "weir/options.h"
#include "weir/result.h"

namespace weir::keys {

struct KeyRing {
  HashKey current{};
  std::optional<HashKey> previous;
};

// 32 hexadecimal digits.
std::string hash_key_text(const HashKey& key);
// Nothing if the text is not such digits, or all of them are zero.
std::optional<HashKey> parse_hash_key(std::string_view text);

// Failures name the file and line, never its contents.
Result<KeyRing> load_key_ring(const std::filesystem::path& file);

}  // namespace weir::keys
