// The secret that subjects are hashed with, kept in a file so that buckets survive a restart and nodes can share it.
//
// The file holds 32 hexadecimal digits and a line break; during a rotation a second such line (key_ring.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "keys/key_ring.h"
#include "weir/limiter.h"
#include "weir/result.h"

namespace weir::server {

// 32 hexadecimal digits.
std::string hash_key_text(const HashKey& key);
// Nothing if the text is not a key.
std::optional<HashKey> parse_hash_key(std::string_view text);

// Reads the file, or makes it (mode 0600, from the system's random source) if there is none. Two processes that make
// it at the same time agree on one. Failures: invalid_argument (not a key), unavailable (cannot be read or made).
Result<keys::KeyRing> load_or_make_key_ring(const std::filesystem::path& file);

}  // namespace weir::server
