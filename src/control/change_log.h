// The change log: a number for each topic ("tokens", "rules", "overrides" …) that grows with every change, so that
// nodes notice what to load again. A writer notes the change in its transaction; PostgreSQL also notifies listeners
// (kChangeChannel), which then need not wait for their next look.
//
// Functions on a session, which belongs to its thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "database/session.h"
#include "weir/result.h"

namespace weir::control {

inline constexpr std::string_view kChangeChannel = "weir_change";

Status note_change(database::Session& session, std::string_view topic);

// By topic. One that has never changed is not there.
Result<std::map<std::string, std::int64_t>> read_changes(database::Session& session);

}  // namespace weir::control
