// The change log: a number for each topic ("tokens", "rules", "overrides" …) that grows with every change, so that
// nodes notice what to load again, and for the latest numbers which records they are about. A writer notes the change
// in its transaction; PostgreSQL also notifies listeners (kChangeChannel), which then need not wait for their next
// look.
//
// Functions on a session, which belongs to its thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "database/session.h"
#include "weir/result.h"

namespace weir::control {

inline constexpr std::string_view kChangeChannel = "weir_change";

// So many of the latest changes of a topic are known by their records.
inline constexpr std::int64_t kKnownChanges = 1'000;

// `records` are the keys of what has changed; none: perhaps everything.
Status note_change(database::Session& session, std::string_view topic, std::span<const std::string> records = {});

// By topic. One that has never changed is not there.
Result<std::map<std::string, std::int64_t>> read_changes(database::Session& session);

// The keys of what has changed after the number `from` up to `to`, each once. Nothing: not known, or more than `most`.
Result<std::optional<std::vector<std::string>>> read_changed_records(database::Session& session,
                                                                     const std::string& topic, std::int64_t from,
                                                                     std::int64_t to, std::size_t most);

}  // namespace weir::control
