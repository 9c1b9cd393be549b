// /admin/v1/tenants: the plan, the time zone and the settings of tenants.
#include <algorithm>

#include "admin/operator_state.h"
#include "base/time_zone.h"
#include "base/utf8.h"
#include "rules/read/yaml_values.h"
#include "weir/request.h"

namespace weir::admin {
namespace {

using control::Role;
using control::TenantRecord;

// From when on the plan applies: a moment, past or to come, or a duration from now.
std::optional<TimePoint> read_plan_from(Members& body, TimePoint now) {
  constexpr Duration kFurthest = std::chrono::hours(24 * 366 * 10);
  const std::optional<std::string> text = body.optional_text("plan_from_at", {.least = 1, .most = 64});
  if (!text) return std::nullopt;
  Result<TimePoint> at = rules::parse_instant(*text);
  if (const Result<Duration> in = rules::parse_duration(*text); in.ok() && in.value() <= kFurthest)
    at = now + in.value();
  if (at.ok() && at.value() > TimePoint{} && at.value() < now + kFurthest) return at.value();
  body.fail("plan_from_at",
            "is \"" + *text + "\", expected a time such as 2026-12-31T00:00:00Z or a duration such as 2d");
  return std::nullopt;
}

TenantRecord read_tenant_body(Members& body) {
  TenantRecord record;
  record.plan = body.optional_text("plan").value_or("");
  record.zone = body.optional_text("zone").value_or("");
  record.settings = body.text_map("settings");
  record.note = body.optional_text("note", {.least = 0, .most = 2'000, .lines = true}).value_or("");
  if (!record.zone.empty() && !body.failed() && !base::TimeZone::load(record.zone).ok()) {
    body.fail("zone", "is \"" + record.zone + "\", expected the name of a time zone such as Europe/Berlin");
  }
  return record;
}

bool is_tenant_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxAttributeValue && base::valid_text_prefix(name) == name.size();
}

// Makes one with If-None-Match: *, and changes one with If-Match.
void put_tenant(Call& call) {
  Members body = call.body();
  TenantRecord given = read_tenant_body(body);
  const std::optional<TimePoint> from = read_plan_from(body, call.now());
  const std::string reason = body.has("reason") ? body.reason() : std::string();
  given.tenant = call.parameter("tenant");
  if (!is_tenant_name(given.tenant)) body.fail("tenant", "in the path is not a text that an attribute can have");
  if (!call.accepts(body)) return;
  call.write([given, from, reason](Write& write) -> Result<Answer> {
    const Result<std::optional<TenantRecord>> found = control::find_record<TenantRecord>(write.session, given.tenant);
    if (!found.ok()) return found.failure();
    std::optional<std::string> etag;
    if (found.value()) etag = etag_of_record(*found.value());
    if (const std::optional<Answer> refused = write.refuse(etag)) return *refused;
    TenantRecord after = given;
    after.plan = found.value() ? found.value()->plan : std::string();
    after.steps = found.value() ? found.value()->steps : std::vector<control::PlanStep>();
    after.created = found.value() ? found.value()->created : TimePoint{};
    after.set_plan(given.plan, from, write.now);
    after.created = found.value() ? found.value()->created : write.now;
    after.updated = write.now;
    after.revision = found.value() ? found.value()->revision + 1 : 1;
    Status done =
        found.value() ? control::change_record(write.session, after) : control::add_record(write.session, after);
    if (done.ok()) {
      done = note_record<TenantRecord>(write, found.value() ? "change" : "create", object_of(after),
                                       found.value() ? describe(*found.value()) : "", describe(after), reason);
    }
    if (!done.ok()) return done.failure();
    return found.value() ? json_answer(describe(after), etag_of_record(after))
                         : created(describe(after), etag_of_record(after));
  });
}

void list_tenants(Call& call) {
  Query query = call.query();
  const Page page = query.page("tenants");
  if (!call.accepts(query)) return;
  call.read([page](database::Session& session) -> Result<Answer> {
    const auto records = control::read_page<TenantRecord>(session, page.after, page.limit + 1);
    if (!records.ok()) return records.failure();
    return list_answer(records.value(), page);
  });
}

}  // namespace

std::string describe(const TenantRecord& record) {
  JsonWriter out;
  out.begin_object();
  out.member("tenant", record.tenant);
  out.member("plan", record.plan);
  const auto moment = [](const control::PlanStep& step) {
    return step.from == TimePoint{} ? std::nullopt : std::optional<TimePoint>(step.from);
  };
  out.member("plan_from_at", record.steps.empty() ? std::nullopt : moment(record.steps.back()));
  out.begin_array("plans");
  for (const control::PlanStep& step : record.steps) {
    out.begin_object();
    out.member("plan", step.plan);
    out.member("from_at", moment(step));
    out.end_object();
  }
  out.end_array();
  out.member("zone", record.zone);
  out.begin_object("settings");
  for (const auto& [name, value] : record.settings) out.member(name, value);
  out.end_object();
  out.member("note", record.note);
  out.member("created_at", record.created);
  out.member("updated_at", record.updated);
  out.member("etag", etag_of_record(record));
  out.end_object();
  return out.take();
}

void add_tenant_routes(Api& api) {
  api.get("/tenants", list_tenants);
  api.get("/tenants/{tenant}", [](Call& call) { show_one<TenantRecord>(call, "tenant"); });
  api.put("/tenants/{tenant}", Role::operator_, put_tenant);
  api.remove("/tenants/{tenant}", Role::operator_, [](Call& call) { remove_one<TenantRecord>(call, "tenant"); });
}

}  // namespace weir::admin
