// The secrets that a server reads, makes or agrees on at its start. Failures name the setting or the file, never its
// content.
#pragma once

#include <string>
#include <string_view>

#include "keys/key_ring.h"
#include "server/config.h"
#include "weir/result.h"

namespace weir::server {

// Its file in the data folder.
inline constexpr std::string_view kHashKeyName = "hash_key";

// What subjects are hashed with: from hash_key_file, else from Redis (which may have to be waited for), else from
// beside the snapshot, else from the data folder if a database uses it, else a new one.
Result<keys::KeyRing> choose_keys(const Config& config);

// The first line of resp.password_file; no file, no password.
Result<std::string> read_resp_password(const Config& config);

}  // namespace weir::server
