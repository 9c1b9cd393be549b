#include "admin/audit_routes.h"

#include <charconv>
#include <limits>

namespace weir::admin {
namespace {

using control::AuditEntry;
using control::AuditFilter;

// Entries in one export. More are read with `to` set to the time of the last one.
constexpr std::int64_t kMaxExport = 100'000;

std::int64_t below_of(const Page& page) {
  std::int64_t id = std::numeric_limits<std::int64_t>::max();
  std::from_chars(page.after.data(), page.after.data() + page.after.size(), id);
  return id;
}

Answer listed(const std::vector<AuditEntry>& entries, std::int64_t limit) {
  const auto shown = std::min(static_cast<std::size_t>(limit), entries.size());
  JsonWriter out;
  out.begin_object();
  out.begin_array("items");
  for (std::size_t i = 0; i < shown; ++i) write_audit_entry(out, entries[i]);
  out.end_array();
  const bool more = entries.size() > shown;
  out.member("next", more ? std::optional(next_cursor("audit", std::to_string(entries[shown - 1].id))) : std::nullopt);
  out.end_object();
  return json_answer(out.take());
}

Answer exported(const std::vector<AuditEntry>& entries) {
  std::string lines;
  for (const AuditEntry& entry : entries) {
    JsonWriter out;
    write_audit_entry(out, entry);
    lines += out.take() + "\n";
  }
  Answer answer = json_answer(std::move(lines));
  answer.content_type = "application/x-ndjson";
  return answer;
}

void show_audit(Call& call) {
  Query query = call.query();
  AuditFilter filter{.actor = query.text("actor").value_or(""),
                     .action = query.text("action").value_or(""),
                     .object = query.text("object").value_or("")};
  filter.from = query.time("from").value_or(TimePoint());
  filter.to = query.time("to").value_or(TimePoint::max());
  const Page page = query.page("audit");
  const bool lines = query.choice("format", {"json", "ndjson"}) == "ndjson";
  if (!call.accepts(query)) return;
  const std::int64_t limit = lines ? kMaxExport : page.limit;
  call.read([filter, below = below_of(page), lines, limit](database::Session& session) -> Result<Answer> {
    const Result<std::vector<AuditEntry>> entries =
        control::read_audit(session, filter, below, lines ? limit : limit + 1);
    if (!entries.ok()) return entries.failure();
    return lines ? exported(entries.value()) : listed(entries.value(), limit);
  });
}

}  // namespace

void write_audit_entry(JsonWriter& out, const AuditEntry& entry) {
  out.begin_object();
  out.member("id", entry.id);
  out.member("at", entry.at);
  out.member("actor", entry.actor);
  out.member("from", entry.from);
  out.member("action", entry.action);
  out.member("object", entry.object);
  out.raw_member("before", entry.before);
  out.raw_member("after", entry.after);
  out.member("reason", entry.reason);
  out.member("node", entry.node);
  out.end_object();
}

void add_audit_routes(Api& api) { api.get("/audit", show_audit); }

}  // namespace weir::admin
