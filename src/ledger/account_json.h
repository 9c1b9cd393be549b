// An account as JSON, the same in the HTTP API and on the command line.
#pragma once

#include <string>
#include <vector>

#include "ledger/account.h"

namespace weir::ledger {

// {"rule":…,"subject":…,"tenant":…,"period":…,"begins_at":…,"resets_at":…,"limit":…,"used":…,"held":…,"expired":…,
// "available":…,"granted":…,"grace":…,"grace_used":…,"overage":…}, with "grants" if they are given.
void append_account_json(std::string& out, const Account& account, const std::vector<Grant>* grants = nullptr);

// "2026-03-01T00:00:00.000Z"
std::string utc_text(TimePoint time);

}  // namespace weir::ledger
