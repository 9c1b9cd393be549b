// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace weir::cli {

// 1536 -> "1.5 KiB"
std::string size_for_people(double bytes);
inline std::string size_for_people(std::uint64_t bytes) { return size_for_people(static_cast<double>(bytes)); }
// 1234.5 -> "1,235"
std::string rounded_number(double number);
// 0.1234 -> "0.123", 1234.5 -> "1,235": three digits at least.
std::string three_digits(double number);

}  // namespace weir::cli
