// Durations as people read them. Pure.
#pragma once

#include <string>

namespace weir::base {

// "250 ms", "1.5 s", "2 min 5 s", "16 days 19 h": rounded up to what is shown, so that no wait is too short.
std::string duration_for_people(long long milliseconds);

}  // namespace weir::base
