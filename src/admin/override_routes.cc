// /admin/v1/overrides: other numbers, or another mode, for some requests until a time.
#include <algorithm>

#include "admin/operator_state.h"
#include "control/tokens.h"
#include "weir/allowance.h"

namespace weir::admin {
namespace {

using control::OverrideRecord;
using control::Role;

constexpr std::size_t kMostFromFile = 1'000;  // overrides of a rules file that a list shows
constexpr std::size_t kMostMisfits = 20;      // rules that an answer names because an override of all does not fit them

void write_change(JsonWriter& out, const AllowanceChange& change, const std::optional<Mode>& mode) {
  if (change.limit) out.member("limit", *change.limit);
  if (change.window) out.member("window", std::to_string(ceil_ms(*change.window)) + "ms");
  if (change.burst) out.member("burst", *change.burst);
  if (change.unlimited) out.member("unlimited", true);
  if (mode) out.member("mode", mode_name(*mode));
}

void write_file_override(JsonWriter& out, const Rule& rule, std::size_t index) {
  const Override& override = rule.overrides[index];
  out.begin_object();
  out.member("id", rules::file_override_id(rule, index));
  out.begin_array("rules");
  out.value(rule.id);
  out.end_array();
  write_when(out, override.when);
  write_change(out, override.change, override.mode);
  out.member("emergency", override.emergency);
  out.member("until", override.until);
  out.member("reason", override.reason);
  out.member("actor", "file");
  for (const std::string_view name : {"created_at", "last_used_at", "etag"}) out.null_member(name);
  out.member("source", "file");
  out.end_object();
}

void write_file_overrides(JsonWriter& out, const rules::RuleBook& book) {
  std::size_t shown = 0;
  const std::shared_ptr<const rules::RuleSet> set = book.current();
  for (const rules::CompiledRule& rule : set->rules()) {
    for (std::size_t i = 0; i < rule.source.overrides.size(); ++i) {
      if (rule.source.overrides[i].use != nullptr) continue;  // set at run time
      if (++shown > kMostFromFile) return;
      write_file_override(out, rule.source, i);
    }
  }
}

std::optional<Mode> mode_named(std::string_view name) {
  for (const Mode mode : {Mode::enforce, Mode::shadow, Mode::off}) {
    if (mode_name(mode) == name) return mode;
  }
  return std::nullopt;
}

OverrideRecord read_override_body(Members& body, TimePoint now) {
  OverrideRecord record;
  record.rules = body.texts("rules", 1'000);
  record.when = read_when(body);
  record.change.limit = body.optional_number("limit", 0, kMaxUnits);
  record.change.window = body.optional_duration("window");
  record.change.burst = body.optional_number("burst", 1, kMaxUnits);
  record.change.unlimited = body.flag("unlimited");
  if (body.has("mode")) record.mode = mode_named(body.choice("mode", {"enforce", "shadow", "off"}));
  record.emergency = body.flag("emergency");
  record.until = body.until("until", now);
  record.reason = body.reason();
  return record;
}

// `misfits`: rules that it leaves as they are, because it does not fit them.
std::string describe_with(const OverrideRecord& record, const std::vector<std::string>& misfits) {
  JsonWriter out;
  out.begin_object();
  out.member("id", record.id);
  out.begin_array("rules");
  for (const std::string& rule : record.rules) out.value(rule);
  out.end_array();
  write_when(out, record.when);
  write_change(out, record.change, record.mode);
  out.member("emergency", record.emergency);
  out.member("until", record.until);
  out.member("reason", record.reason);
  out.member("actor", record.actor);
  out.member("created_at", record.created);
  out.member("last_used_at", control::last_use(record.last_used, record.use));
  out.member("source", "api");
  out.member("etag", etag_of_record(record));
  if (!misfits.empty()) {
    out.begin_array("misfits");
    for (const std::string& misfit : misfits) out.value(misfit);
    out.end_array();
  }
  out.end_object();
  return out.take();
}

// Why it does not fit rules that are loaded, of all rules: "rule ID: what". Those have their own numbers.
std::vector<std::string> misfits_of_every_rule(const rules::RuleSet& set, const Override& change) {
  std::vector<std::string> misfits;
  for (const rules::CompiledRule& rule : set.rules()) {
    const std::string why_not = rules::misfit(rule.source, change);
    if (!why_not.empty()) misfits.push_back("rule " + rule.source.id + ": " + why_not);
  }
  return misfits;
}

// One that changes every rule must fit at least one of them. `misfits` are the others, as many as are shown.
Status check_under_every_rule(const rules::RuleSet& set, const Override& change, std::vector<std::string>& misfits) {
  misfits = misfits_of_every_rule(set, change);
  if (!misfits.empty() && misfits.size() == set.rules().size()) {
    return Failure{Code::invalid_argument, "rules: it fits none of the rules; " + misfits.front()};
  }
  if (misfits.size() > kMostMisfits) misfits.resize(kMostMisfits);
  return success();
}

// What is wrong with it under the rules that are loaded. Those may change later: then it stays, and does not apply.
Status check_under(const rules::RuleBook& book, const OverrideRecord& record, std::vector<std::string>& misfits) {
  rules::RuntimeOverride made;
  made.rules = record.rules;
  made.change.when = record.when;
  made.change.change = record.change;
  made.change.mode = record.mode;
  made.change.emergency = record.emergency;
  const std::vector<std::string> faults = rules::check_alone(made);
  if (!faults.empty()) return Failure{Code::invalid_argument, faults.front()};
  const std::shared_ptr<const rules::RuleSet> set = book.current();
  if (record.rules.front() == rules::kEveryRule) return check_under_every_rule(*set, made.change, misfits);
  for (const std::string& id : record.rules) {
    const auto rule = std::find_if(set->rules().begin(), set->rules().end(),
                                   [&](const rules::CompiledRule& each) { return each.source.id == id; });
    if (rule == set->rules().end()) return Failure{Code::invalid_argument, "rules: no rule has the id \"" + id + "\""};
    const std::string why_not = rules::misfit(rule->source, made.change);
    if (!why_not.empty()) return Failure{Code::invalid_argument, "rule " + id + ": " + why_not};
  }
  return success();
}

void create_override(Call& call, const rules::RuleBook& book) {
  Members body = call.body();
  OverrideRecord record = read_override_body(body, call.now());
  std::vector<std::string> misfits;
  if (!call.accepts(body) || !call.accepts(check_under(book, record, misfits))) return;
  record.id = control::make_id("ovr");
  record.actor = call.actor().name;
  record.created = call.now();
  add_one(call, record, record.reason, describe_with(record, misfits));
}

void replace_override(Call& call, const rules::RuleBook& book) {
  Members body = call.body();
  const OverrideRecord given = read_override_body(body, call.now());
  std::vector<std::string> misfits;
  if (!call.accepts(body) || !call.accepts(check_under(book, given, misfits))) return;
  call.write([given, misfits, id = call.parameter("id")](Write& write) -> Result<Answer> {
    const Result<std::optional<OverrideRecord>> found = control::find_record<OverrideRecord>(write.session, id);
    if (!found.ok()) return found.failure();
    if (!found.value()) return not_found("override", id);
    const OverrideRecord& before = *found.value();
    if (const std::optional<Answer> refused = write.refuse(etag_of_record(before))) return *refused;
    OverrideRecord after = given;
    after.id = id;
    after.actor = write.actor.name;
    after.created = before.created;
    after.last_used = before.last_used;
    after.revision = before.revision + 1;
    Status done = control::change_record(write.session, after);
    if (done.ok()) {
      done = note_record<OverrideRecord>(write, "change", object_of(after), describe(before), describe(after),
                                         after.reason);
    }
    if (!done.ok()) return done.failure();
    return json_answer(describe_with(after, misfits), etag_of_record(after));
  });
}

void list_overrides(Call& call, const OperatorState& state) {
  Query query = call.query();
  const Page page = query.page("overrides");
  if (!call.accepts(query)) return;
  call.read([page, &state](database::Session& session) -> Result<Answer> {
    auto records = control::read_page<OverrideRecord>(session, page.after, page.limit + 1);
    if (!records.ok()) return records.failure();
    for (OverrideRecord& record : records.value()) record.use = state.overrides.mark_of(record.id);
    return list_answer(records.value(), page, [&state](JsonWriter& out) { write_file_overrides(out, *state.book); });
  });
}

}  // namespace

std::string describe(const OverrideRecord& record) { return describe_with(record, {}); }

void write_applying_overrides(JsonWriter& out, const OperatorState& state, const rules::Explanation& explanation) {
  const auto applies = [&](const std::string& id) {
    return std::any_of(explanation.rules.begin(), explanation.rules.end(),
                       [&](const rules::RuleExplanation& rule) { return rule.applies && rule.override_id == id; });
  };
  for (const OverrideRecord& record : *state.overrides.current()) {
    if (applies(record.id)) out.raw_value(describe(record));
  }
  const std::shared_ptr<const rules::RuleSet> set = state.book->current();
  for (const rules::CompiledRule& rule : set->rules()) {
    for (std::size_t i = 0; i < rule.source.overrides.size(); ++i) {
      if (rule.source.overrides[i].use != nullptr) continue;  // set at run time
      if (applies(rules::file_override_id(rule.source, i))) write_file_override(out, rule.source, i);
    }
  }
}

void write_when(JsonWriter& out, const std::vector<weir::Condition>& when) {
  out.begin_object("when");
  for (const weir::Condition& condition : when) {
    if (condition.patterns.size() == 1) {
      out.member(condition.attribute, condition.patterns.front());
      continue;
    }
    out.begin_array(condition.attribute);
    for (const std::string& pattern : condition.patterns) out.value(pattern);
    out.end_array();
  }
  out.end_object();
}

std::vector<weir::Condition> read_when(Members& body) {
  std::vector<weir::Condition> when;
  for (Condition& each : body.conditions("when")) when.push_back({std::move(each.attribute), std::move(each.values)});
  return when;
}

void add_override_routes(Api& api, const OperatorState& state) {
  const auto mark_of = [&state](const std::string& id) { return state.overrides.mark_of(id); };
  api.get("/overrides", [&state](Call& call) { list_overrides(call, state); });
  api.get("/overrides/{id}", [mark_of](Call& call) { show_one<OverrideRecord>(call, "id", mark_of); });
  api.post("/overrides", Role::operator_, [&state](Call& call) { create_override(call, *state.book); });
  api.put("/overrides/{id}", Role::operator_, [&state](Call& call) { replace_override(call, *state.book); });
  api.remove("/overrides/{id}", Role::operator_, [](Call& call) { remove_one<OverrideRecord>(call, "id"); });
}

}  // namespace weir::admin
