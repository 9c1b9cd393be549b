// Reads a whole file, up to a bound.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "weir/result.h"

namespace weir::base {

// The size is checked before a byte is read, and again while reading. Only regular files: a pipe or a device could
// keep the caller waiting.
//
// Failures: not_found (no such file), permission_denied, invalid_argument (not a regular file), resource_exhausted (too
// large), unavailable (any other error of the system). The message begins with the path.
Result<std::string> read_bounded_file(const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace weir::base
