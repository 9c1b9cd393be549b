// The secret that subjects are hashed with, kept in a file so that buckets survive a restart and nodes can share it.
//
// The file holds 32 hexadecimal digits and a line break; during a rotation a second such line (key_ring.h).
#pragma once

#include <filesystem>

#include "keys/key_ring.h"
#include "weir/result.h"

namespace weir::server {

// Reads the file, or makes it (mode 0600, from the system's random source) if there is none. Two processes that make
// it at the same time agree on one. Failures: those of load_key_ring(), and unavailable (cannot be created).
Result<keys::KeyRing> load_or_make_key_ring(const std::filesystem::path& file);

}  // namespace weir::server
