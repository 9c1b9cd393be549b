// /admin/v1/audit: the audit trail, page by page or as one line for each entry.
#pragma once

#include "admin/api.h"
#include "admin/json_writer.h"
#include "control/audit_trail.h"

namespace weir::admin {

void add_audit_routes(Api& api);

void write_audit_entry(JsonWriter& out, const control::AuditEntry& entry);

}  // namespace weir::admin
