// /admin/v1/keys: API keys bound to a tenant, a plan and attributes. A key is shown once, when it is made.
#include <algorithm>

#include "admin/operator_state.h"
#include "control/key_hash.h"
#include "control/tokens.h"
#include "rules/compile/rule_check.h"

namespace weir::admin {
namespace {

using control::KeyRecord;
using control::Role;

constexpr std::size_t kMostBound = 16;  // attributes of a key
// What identity makes of the request itself.
constexpr std::string_view kNotBound[] = {"api_key", "ip",     "method",  "path",   "host",
                                          "scheme",  "action", "traffic", "tenant", "plan"};

void check_attributes(Members& body, const control::TextPairs& attributes) {
  for (const auto& [name, value] : attributes) {
    if (std::find(std::begin(kNotBound), std::end(kNotBound), name) != std::end(kNotBound)) {
      return body.fail("attributes", "has " + name + ", which a key cannot be bound to here");
    }
    if (!rules::is_attribute_name(name)) return body.fail("attributes", "has a name that no attribute can have");
  }
}

std::string with_key(const KeyRecord& record, const std::string& key);

void create_key(Call& call) {
  Members body = call.body();
  KeyRecord record;
  record.name = body.text("name", {.most = 128});
  record.tenant = body.text("tenant");
  record.plan = body.optional_text("plan").value_or("");
  record.attributes = body.text_map("attributes", kMostBound);
  record.expires = body.optional_until("expires_at", call.now());
  const std::string reason = body.has("reason") ? body.reason() : std::string();
  check_attributes(body, record.attributes);
  if (!call.accepts(body)) return;
  record.id = control::make_id("key");
  record.actor = call.actor().name;
  record.created = call.now();
  const std::string key = control::make_api_key();
  record.prefix = key.substr(0, control::kKeyPrefix);
  call.write([record, key, reason](Write& write) -> Result<Answer> {
    const Result<std::string> secret = control::ensure_key_secret(write.session);
    if (!secret.ok()) return secret.failure();
    KeyRecord stored = record;
    stored.hash = control::KeyHasher(secret.value()).hash(key);
    Status done = control::add_record(write.session, stored);
    if (done.ok()) done = note_record<KeyRecord>(write, "create", object_of(stored), "", describe(stored), reason);
    if (!done.ok()) return done.failure();
    return created(with_key(stored, key), etag_of_record(stored));
  });
}

void revoke_key(Call& call) {
  Query query = call.query();
  const std::string reason = query.reason();
  if (!call.accepts(query)) return;
  call.write([id = call.parameter("id"), reason](Write& write) -> Result<Answer> {
    const Result<std::optional<KeyRecord>> found = control::find_record<KeyRecord>(write.session, id);
    if (!found.ok()) return found.failure();
    if (!found.value() || found.value()->revoked) return not_found("active key", id);
    const KeyRecord& before = *found.value();
    if (const std::optional<Answer> refused = write.refuse(etag_of_record(before))) return *refused;
    KeyRecord after = before;
    after.revoked = write.now;
    after.revision = before.revision + 1;
    Status done = control::change_record(write.session, after);
    if (done.ok()) {
      done = note_record<KeyRecord>(write, "revoke", object_of(after), describe(before), describe(after), reason);
    }
    if (!done.ok()) return done.failure();
    return no_content();
  });
}

void list_keys(Call& call, const OperatorState& state) {
  Query query = call.query();
  const std::string tenant = query.text("tenant").value_or("");
  const Page page = query.page("keys");
  if (!call.accepts(query)) return;
  call.read([page, tenant, &state](database::Session& session) -> Result<Answer> {
    auto records = tenant.empty() ? control::read_page<KeyRecord>(session, page.after, page.limit + 1)
                                  : control::read_keys_of(session, tenant, page.after, page.limit + 1);
    if (!records.ok()) return records.failure();
    for (KeyRecord& record : records.value()) record.use = state.keys.mark_of(record.id);
    return list_answer(records.value(), page);
  });
}

void write_key(JsonWriter& out, const KeyRecord& record, const std::string* shown_once) {
  out.begin_object();
  out.member("id", record.id);
  out.member("name", record.name);
  out.member("prefix", record.prefix);
  out.member("tenant", record.tenant);
  out.member("plan", record.plan);
  out.begin_object("attributes");
  for (const auto& [name, value] : record.attributes) out.member(name, value);
  out.end_object();
  out.member("created_at", record.created);
  out.member("expires_at", record.expires);
  out.member("revoked_at", record.revoked);
  out.member("last_used_at", control::last_use(record.last_used, record.use));
  out.member("actor", record.actor);
  out.member("etag", etag_of_record(record));
  if (shown_once != nullptr) out.member("key", *shown_once);
  out.end_object();
}

std::string with_key(const KeyRecord& record, const std::string& key) {
  JsonWriter out;
  write_key(out, record, &key);
  return out.take();
}

}  // namespace

std::string describe(const KeyRecord& record) {
  JsonWriter out;
  write_key(out, record, nullptr);
  return out.take();
}

void add_key_routes(Api& api, const OperatorState& state) {
  const auto mark_of = [&state](const std::string& id) { return state.keys.mark_of(id); };
  api.get("/keys", [&state](Call& call) { list_keys(call, state); });
  api.get("/keys/{id}", [mark_of](Call& call) { show_one<KeyRecord>(call, "id", mark_of); });
  api.post("/keys", Role::operator_, create_key);
  api.remove("/keys/{id}", Role::operator_, revoke_key);
}

}  // namespace weir::admin
