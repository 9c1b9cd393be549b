// The version of this program; CMakeLists.txt says the same (a test compares them).
#pragma once

#include <string_view>

namespace weir::server {

inline constexpr std::string_view kVersion = "0.1.0";

}  // namespace weir::server
