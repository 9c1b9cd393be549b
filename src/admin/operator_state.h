// OperatorState: what the routes for overrides, blocks, tenants and keys share. Everything is borrowed, and outlives
// the routes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/answer.h"
#include "admin/api.h"
#include "admin/json_writer.h"
#include "admin/query.h"
#include "control/change_log.h"
#include "control/kept.h"
#include "control/record_tables.h"
#include "rules/rule_book.h"

namespace weir::admin {

struct OperatorState {
  std::shared_ptr<rules::RuleBook> book;
  const control::Kept<control::OverrideRecord>& overrides;
  const control::Kept<control::BlockRecord>& blocks;
  const control::Kept<control::TenantRecord>& tenants;
  const control::Kept<control::KeyRecord>& keys;
};

void add_override_routes(Api& api, const OperatorState& state);
void add_block_routes(Api& api, const OperatorState& state);
void add_tenant_routes(Api& api);
void add_key_routes(Api& api, const OperatorState& state);

// The overrides and blocks that end within a day, of the database and of the rules; the first to end first.
struct EndsSoon;
std::vector<EndsSoon> ends_soon(const OperatorState& state, TimePoint now);

// A block of a rules file, which has an id for answers ("file-2").
inline bool is_of_file(const Block& block) { return block.use != nullptr && block.use->id().starts_with("file-"); }

// The overrides that apply to a request, each once, as entries of an array.
void write_applying_overrides(JsonWriter& out, const OperatorState& state, const rules::Explanation& explanation);

// A record for answers and the audit trail. Of a key neither the key nor its hash.
std::string describe(const control::OverrideRecord& record);
std::string describe(const control::BlockRecord& record);
std::string describe(const control::TenantRecord& record);
std::string describe(const control::KeyRecord& record);

// `when`, as in a request.
void write_when(JsonWriter& out, const std::vector<weir::Condition>& when);
std::vector<weir::Condition> read_when(Members& body);

// What a route is about, for messages and the audit trail.
template <typename Record>
inline constexpr std::string_view kThing = "";
template <>
inline constexpr std::string_view kThing<control::OverrideRecord> = "override";
template <>
inline constexpr std::string_view kThing<control::BlockRecord> = "block";
template <>
inline constexpr std::string_view kThing<control::TenantRecord> = "tenant";
template <>
inline constexpr std::string_view kThing<control::KeyRecord> = "key";

template <typename Record>
std::string etag_of_record(const Record& record) {
  return std::to_string(record.revision);
}

template <typename Record>
std::string object_of(const Record& record) {
  return std::string(kThing<Record>) + "/" + record.key();
}

// {"items": […], "next": …} of a page for which one record more was read. `more` writes what follows the last page.
template <typename Record>
Answer list_answer(const std::vector<Record>& records, const Page& page,
                   const std::function<void(JsonWriter&)>& more = {}) {
  JsonWriter out;
  out.begin_object();
  out.begin_array("items");
  const auto limit = static_cast<std::size_t>(page.limit);
  for (std::size_t i = 0; i < records.size() && i < limit; ++i) out.raw_value(describe(records[i]));
  if (records.size() <= limit && more) more(out);
  out.end_array();
  std::optional<std::string> next;
  if (records.size() > limit) next = next_cursor(control::Table<Record>::kTopic, records[limit - 1].key());
  out.member("next", next);
  out.end_object();
  return json_answer(out.take());
}

// A change of one record: written, noted and audited in one transaction.
template <typename Record>
Status note_record(Write& write, std::string_view verb, const std::string& object, std::string before,
                   std::string after, std::string reason) {
  const std::string key = object.substr(kThing<Record>.size() + 1);
  Status noted = control::note_change(write.session, control::Table<Record>::kTopic, {&key, 1});
  if (!noted.ok()) return noted;
  return write.audit({std::string(kThing<Record>) + "." + std::string(verb), object, std::move(before),
                      std::move(after), std::move(reason)});
}

// DELETE of a record, with If-Match and a reason.
template <typename Record>
void remove_one(Call& call, std::string_view parameter) {
  Query query = call.query();
  const std::string reason = query.reason();
  if (!call.accepts(query)) return;
  call.write([key = call.parameter(parameter), reason](Write& write) -> Result<Answer> {
    const Result<std::optional<Record>> found = control::find_record<Record>(write.session, key);
    if (!found.ok()) return found.failure();
    if (!found.value()) return not_found(kThing<Record>, key);
    const Record& record = *found.value();
    if (const std::optional<Answer> refused = write.refuse(etag_of_record(record))) return *refused;
    Status done = control::remove_record<Record>(write.session, key);
    if (done.ok()) done = note_record<Record>(write, "remove", object_of(record), describe(record), "", reason);
    if (!done.ok()) return done.failure();
    return no_content();
  });
}

// GET of one.
template <typename Record>
void show_one(Call& call, std::string_view parameter,
              std::function<std::shared_ptr<UseMark>(const std::string&)> mark_of = {}) {
  call.read([key = call.parameter(parameter), mark_of](database::Session& session) -> Result<Answer> {
    Result<std::optional<Record>> found = control::read_record<Record>(session, key);
    if (!found.ok()) return found.failure();
    if (!found.value()) return not_found(kThing<Record>, key);
    if constexpr (requires(Record record) { record.use; }) {
      if (mark_of) found.value()->use = mark_of(key);
    }
    return json_answer(describe(*found.value()), etag_of_record(*found.value()));
  });
}

// POST of a new record.
template <typename Record>
void add_one(Call& call, const Record& record, const std::string& reason, const std::string& answer) {
  call.write([record, reason, answer](Write& write) -> Result<Answer> {
    Status done = control::add_record(write.session, record);
    if (done.ok()) done = note_record<Record>(write, "create", object_of(record), "", describe(record), reason);
    if (!done.ok()) return done.failure();
    return created(answer, etag_of_record(record));
  });
}

}  // namespace weir::admin
