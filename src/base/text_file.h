// Reads a whole file, up to a bound. Errors: not_found, invalid_argument (too large), unavailable.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weir/result.h"

namespace weir::base {

Result<std::string> read_text_file(const std::filesystem::path& file, std::size_t max_bytes);

// The lines of a text that are neither empty nor comments ('#'), trimmed.
std::vector<std::string_view> content_lines(std::string_view text);

}  // namespace weir::base
