// nearest: the known name that a misspelt one most likely means. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace weir::base {

// The least number of insertions, deletions, replacements and swaps of neighbours that turn one short name into
// another.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The first of the nearest names; empty when none is within two edits, or when half of the name would change.
std::string_view nearest(std::string_view name, std::span<const std::string_view> known);

}  // namespace weir::base
