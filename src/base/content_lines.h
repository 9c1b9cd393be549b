// The lines of a list in a file, such as revoked keys.
#pragma once

#include <string_view>
#include <vector>

namespace weir::base {

// The lines of a text that are neither empty nor comments ('#'), without white space at their ends. They refer to
// `text`.
std::vector<std::string_view> content_lines(std::string_view text);

}  // namespace weir::base
