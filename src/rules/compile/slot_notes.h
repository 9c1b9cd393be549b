// Which rules can meet in one decision and yet live in different slots of a Redis Cluster. Pure.
#pragma once

#include <string>
#include <vector>

#include "weir/rule.h"

namespace weir::rules {

// One line for each pair, with the hash_tag that would join them if there is one; at most kMaxSlotNotes, then one that
// tells how many more there are.
inline constexpr std::size_t kMaxSlotNotes = 50;
std::vector<std::string> slot_notes(const Rules& rules);

}  // namespace weir::rules
