#include "admin/rules_routes.h"

#include <charconv>
#include <limits>
#include <utility>

#include "admin/json_writer.h"
#include "admin/rule_text.h"
#include "admin/rules_check.h"
#include "control/change_log.h"
#include "control/rule_versions.h"
#include "rules/read/candidate_text.h"

namespace weir::admin {
namespace {

using control::RuleVersion;

constexpr std::string_view kRewritten =
    "the whole file was written again, because the rule could not be changed in place: its comments, blank lines and "
    "order of fields are lost; the version before has them";
constexpr std::size_t kMaxRulesText = std::size_t{16} << 20;
constexpr TextBounds kRulesText{.least = 1, .most = kMaxRulesText, .lines = true};

std::string rules_etag(const ActiveRules& active) {
  return active.source == control::kDatabaseRules ? std::to_string(active.version) : active.hash;
}

std::string describe_rules(const ActiveRules& active) {
  JsonWriter out;
  out.begin_object();
  out.member("source", active.source);
  out.member("path", active.path.empty() ? std::optional<std::string>() : active.path);
  out.member("version", active.version);
  out.member("hash", active.hash);
  out.member("loaded_at", active.loaded);
  out.member("author", active.author);
  out.member("reason", active.reason);
  out.member("text", active.text);
  out.member("error", active.error.empty() ? std::optional<std::string>() : active.error);
  write_texts(out, "warnings", active.warnings);
  out.member("etag", rules_etag(active));
  out.end_object();
  return out.take();
}

void write_version(JsonWriter& out, const RuleVersion& version, bool with_text) {
  out.begin_object();
  out.member("version", version.version);
  out.member("at", version.at);
  out.member("author", version.author);
  out.member("reason", version.reason);
  out.member("source", version.source);
  out.member("node", version.node);
  out.member("hash", version.hash);
  out.member("rules", version.rules);
  if (with_text) out.member("text", version.text);
  out.end_object();
}

// For the audit trail: the text itself is among the versions.
std::string version_note(const RuleVersion& version) {
  JsonWriter out;
  out.begin_object();
  out.member("version", version.version);
  out.member("hash", version.hash);
  out.member("rules", version.rules);
  out.end_object();
  return out.take();
}

// What one rule was, or is now, when its candidate ends: its own numbers and the candidate's.
std::string rule_note(const RuleVersion& version, const Rule& rule) {
  JsonWriter out;
  out.begin_object();
  out.member("version", version.version);
  out.member("hash", version.hash);
  out.member("numbers", summary_of(rule));
  out.member("candidate", rule.candidate
                              ? std::optional(summary_of(rules::without_candidate(rule, rules::CandidateEnd::promoted)))
                              : std::nullopt);
  out.end_object();
  return out.take();
}

Answer invalid_rules(const CheckedRules& checked) {
  JsonWriter faults;
  write_faults(faults, checked.faults);
  const RulesFault& first = checked.faults.front();
  const std::string where = first.line == 0 ? "" : "line " + std::to_string(first.line) + ": ";
  const std::string field = first.field.empty() ? "" : first.field + ": ";
  return problem(400, "invalid_rules", "the rules are invalid: " + where + field + first.message, "," + faults.take());
}

Answer rules_from_elsewhere(const ActiveRules& active) {
  if (active.source == "file") {
    return problem(
        409, "rules_from_file",
        "the rules come from " + active.path + "; change them there, or start the server with `rules: database`");
  }
  return problem(409, "rules_built_in",
                 "the rules are the built-in ones; start the server with `rules: database` or with a file");
}

// A text that is to become the active one, and what was found when it was read.
struct NewRules {
  std::string text;
  CheckedRules checked;
};

// An answer: what is wrong.
std::optional<Answer> read_rules(NewRules& rules, TimePoint now) {
  rules.checked = check_rules_text(rules.text, now);
  if (rules.checked.ok()) return std::nullopt;
  return invalid_rules(rules.checked);
}

std::optional<Answer> fetch_version(database::Database& database, std::int64_t number, std::string& text) {
  bool known = false;
  const database::Outcome outcome = database.run(database::Access::read, [&](database::Session& session) -> Status {
    const auto found = control::find_rule_version(session, number);
    if (!found.ok()) return found.failure();
    known = found.value().has_value();
    if (known) text = found.value()->text;
    return success();
  });
  if (!outcome.ok()) return problem_of(outcome.status.failure());
  if (!known) return not_found("version", std::to_string(number));
  return std::nullopt;
}

std::optional<std::int64_t> version_number(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

// Makes a text the active one, as a new version. It was read before, because that may take longer than the thread that
// writes can be kept busy. `ended`: the change is the end of a candidate, and the caller has
// noted it.
Result<Answer> store(Write& write, const NewRules& rules, const std::string& reason, const std::string& action,
                     bool needs_match, const rules::EndedCandidate* ended = nullptr) {
  const std::string& text = rules.text;
  const CheckedRules& checked = rules.checked;
  // Also takes the lock that lets one change of the rules follow the other.
  if (ended == nullptr) {
    if (Status noted = control::note_change(write.session, control::kRulesTopic); !noted.ok()) return noted.failure();
  }
  const auto latest = control::latest_rule_version(write.session, control::kDatabaseRules);
  if (!latest.ok()) return latest.failure();
  const std::int64_t current = latest.value() ? latest.value()->version : 0;
  if (needs_match || write.is_conditional()) {
    if (const std::optional<Answer> refused = write.refuse(std::to_string(current))) return *refused;
  }
  RuleVersion version{.version = 0,
                      .at = write.now,
                      .author = write.actor.name,
                      .reason = reason,
                      .node = write.node(),
                      .source = std::string(control::kDatabaseRules),
                      .hash = control::hash_of_rules(text),
                      .rules = static_cast<std::int64_t>(checked.rules.rules.size()),
                      .text = text};
  const Result<std::int64_t> number = control::add_rule_version(write.session, version);
  if (!number.ok()) return number.failure();
  version.version = number.value();
  AuditNote note{action, "rules", latest.value() ? version_note(*latest.value()) : "", version_note(version), reason};
  if (ended != nullptr) {
    note.object = "rules/" + ended->after.id;
    note.before = rule_note(*latest.value(), ended->before);
    note.after = rule_note(version, ended->after);
  }
  const Status audited = write.audit(std::move(note));
  if (!audited.ok()) return audited.failure();
  ActiveRules active{.source = version.source,
                     .path = {},
                     .version = version.version,
                     .hash = version.hash,
                     .loaded = version.at,
                     .author = version.author,
                     .reason = version.reason,
                     .text = text,
                     .error = {},
                     .warnings = checked.warnings};
  if (ended != nullptr && ended->rewritten) active.warnings.emplace_back(kRewritten);
  return json_answer(describe_rules(active), rules_etag(active));
}

class RulesRoutes {
 public:
  explicit RulesRoutes(RulesRouteOptions options) : options_(std::move(options)) {}

  void show(Call& call) const {
    const ActiveRules active = options_.view->active();
    call.answer(json_answer(describe_rules(active), rules_etag(active)));
  }

  void replace(Call& call) const {
    Members body = call.body();
    const std::string text = body.text("text", kRulesText);
    const std::string reason = body.reason();
    if (!call.accepts(body) || !is_writable(call)) return;
    const auto rules = std::make_shared<NewRules>(NewRules{text, {}});
    call.write_after(
        *options_.offload, [rules, now = call.now()] { return read_rules(*rules, now); },
        [rules, reason](Write& write) { return store(write, *rules, reason, "rules.change", true); });
  }

  void validate(Call& call) const {
    Members body = call.body();
    const std::string text = body.text("text", kRulesText);
    if (!call.accepts(body)) return;
    options_.offload->answer(call, [text, now = call.now()] {
      const CheckedRules checked = check_rules_text(text, now);
      JsonWriter out;
      out.begin_object();
      out.member("ok", checked.ok());
      write_faults(out, checked.faults);
      write_texts(out, "warnings", checked.warnings);
      out.member("rules", checked.rules.rules.size());
      out.end_object();
      return json_answer(out.take());
    });
  }

  void diff(Call& call) const {
    Members body = call.body();
    if (body.has("text")) {
      const std::string text = body.text("text", kRulesText);
      if (!call.accepts(body)) return;
      return options_.offload->answer(call, [options = options_, text, now = call.now()] {
        return compared(options, options.view->active().text, text, now);
      });
    }
    const std::int64_t from = body.number("from", 1, std::numeric_limits<std::int64_t>::max());
    const std::int64_t to = body.number("to", 1, std::numeric_limits<std::int64_t>::max());
    if (!call.accepts(body)) return;
    call.read([options = options_, from, to, now = call.now()](database::Session& session) -> Result<Answer> {
      std::string texts[2];
      const std::int64_t numbers[2] = {from, to};
      for (int i = 0; i < 2; ++i) {
        const auto found = control::find_rule_version(session, numbers[i]);
        if (!found.ok()) return found.failure();
        if (!found.value()) return not_found("version", std::to_string(numbers[i]));
        texts[i] = found.value()->text;
      }
      return compared(options, texts[0], texts[1], now);
    });
  }

  static void list_versions(Call& call) {
    Query query = call.query();
    const Page page = query.page("rules");
    if (!call.accepts(query)) return;
    const std::int64_t below = version_number(page.after).value_or(std::numeric_limits<std::int64_t>::max());
    call.read([below, limit = page.limit](database::Session& session) -> Result<Answer> {
      const auto versions = control::list_rule_versions(session, below, limit + 1);
      if (!versions.ok()) return versions.failure();
      const auto shown = std::min(static_cast<std::size_t>(limit), versions.value().size());
      JsonWriter out;
      out.begin_object();
      out.begin_array("items");
      for (std::size_t i = 0; i < shown; ++i) write_version(out, versions.value()[i], false);
      out.end_array();
      std::optional<std::string> next;
      if (versions.value().size() > shown) {
        next = next_cursor("rules", std::to_string(versions.value()[shown - 1].version));
      }
      out.member("next", next);
      out.end_object();
      return json_answer(out.take());
    });
  }

  static void show_version(Call& call) {
    const std::string text = call.parameter("n");
    const std::optional<std::int64_t> number = version_number(text);
    if (!number) return call.answer(not_found("version", text));
    call.read([number = *number](database::Session& session) -> Result<Answer> {
      const auto found = control::find_rule_version(session, number);
      if (!found.ok()) return found.failure();
      if (!found.value()) return not_found("version", std::to_string(number));
      JsonWriter out;
      write_version(out, *found.value(), true);
      return json_answer(out.take());
    });
  }

  // Answers where the change is to be made, if that is a file: nothing is written then, so no If-Match is needed.
  void end_candidate(Call& call, rules::CandidateEnd end) const {
    Members body = call.body();
    const std::string reason = body.reason();
    if (!call.accepts(body)) return;
    const std::string id = call.parameter("id");
    const ActiveRules active = options_.view->active();
    if (active.source != control::kDatabaseRules) {
      return options_.offload->answer(call, [active, id, end] { return how_to_end(active, id, end); });
    }
    if (call.preconditions().empty()) return call.answer(precondition_required());
    call.write([id, reason, end](Write& write) -> Result<Answer> {
      // Takes the lock before it reads, so that what it compares with If-Match is what it changes.
      if (Status noted = control::note_change(write.session, control::kRulesTopic); !noted.ok()) return noted.failure();
      const auto latest = control::latest_rule_version(write.session, control::kDatabaseRules);
      if (!latest.ok()) return latest.failure();
      const std::int64_t current = latest.value() ? latest.value()->version : 0;
      if (const std::optional<Answer> refused = write.refuse(std::to_string(current))) return *refused;
      if (!latest.value()) return not_found("rule", id);
      const Result<rules::EndedCandidate> ended = rules::end_candidate(latest.value()->text, id, end);
      if (!ended.ok()) return no_candidate(ended.failure(), id);
      NewRules changed{ended.value().text, {}};
      if (std::optional<Answer> refused = read_rules(changed, write.now)) return *std::move(refused);
      const bool promoted = end == rules::CandidateEnd::promoted;
      return store(write, changed, reason, promoted ? "candidate.promote" : "candidate.discard", true, &ended.value());
    });
  }

  void restore(Call& call) const {
    Members body = call.body();
    const std::string reason = body.reason();
    if (!call.accepts(body) || !is_writable(call)) return;
    const std::string text = call.parameter("n");
    const std::optional<std::int64_t> number = version_number(text);
    if (!number) return call.answer(not_found("version", text));
    const auto rules = std::make_shared<NewRules>();
    call.write_after(
        *options_.offload,
        [rules, number = *number, now = call.now(), database = call.environment().database]() -> std::optional<Answer> {
          std::optional<Answer> refused = fetch_version(*database, number, rules->text);
          return refused ? refused : read_rules(*rules, now);
        },
        [rules, reason](Write& write) { return store(write, *rules, reason, "rules.restore", false); });
  }

 private:
  static Answer no_candidate(const Failure& failure, const std::string& id) {
    if (failure.code == Code::not_found) return not_found("rule", id);
    if (failure.code == Code::failed_precondition) return problem(404, "no_candidate", failure.message);
    return problem(400, "invalid_rules", failure.message);
  }

  static Answer how_to_end(const ActiveRules& active, const std::string& id, rules::CandidateEnd end) {
    const Result<rules::EndedCandidate> ended = rules::end_candidate(active.text, id, end);
    if (!ended.ok() && ended.failure().code != Code::invalid_argument) return no_candidate(ended.failure(), id);
    const bool promoted = end == rules::CandidateEnd::promoted;
    const std::string what = promoted ? "replace the rule's numbers by those of `candidate`, and remove `candidate`"
                                      : "remove `candidate` from the rule";
    const std::string where = active.path.empty() ? "the built-in rules" : active.path;
    JsonWriter more;
    if (ended.ok()) more.member("text", ended.value().text);
    const std::string_view lost = ended.ok() && ended.value().rewritten ? ", without its comments" : std::string_view();
    return problem(409, active.source == "file" ? "rules_from_file" : "rules_built_in",
                   "the rules come from " + where + "; " + what + " there" +
                       (ended.ok() ? " (`text` has the file as it then is" + std::string(lost) + ")" : ""),
                   ended.ok() ? "," + more.take() : "");
  }

  bool is_writable(Call& call) const {
    const ActiveRules active = options_.view->active();
    if (active.source == control::kDatabaseRules) return true;
    call.answer(rules_from_elsewhere(active));
    return false;
  }

  static Answer compared(const RulesRouteOptions& options, const std::string& before, const std::string& after,
                         TimePoint now) {
    const CheckedRules old_rules = check_rules_text(before, now);
    if (!old_rules.ok()) return invalid_rules(old_rules);
    const CheckedRules new_rules = check_rules_text(after, now);
    if (!new_rules.ok()) return invalid_rules(new_rules);
    return json_answer(options.diff(old_rules.rules, new_rules.rules));
  }

  const RulesRouteOptions options_;
};

}  // namespace

void add_rules_routes(Api& api, const RulesRouteOptions& options) {
  using control::Role;
  const auto routes = std::make_shared<const RulesRoutes>(options);
  api.get("/rules", [routes](Call& call) { routes->show(call); });
  api.put("/rules", Role::admin, [routes](Call& call) { routes->replace(call); });
  api.ask("/rules/validate", [routes](Call& call) { routes->validate(call); });
  if (options.diff) api.ask("/rules/diff", [routes](Call& call) { routes->diff(call); });
  // Operators may: the numbers were written by an admin.
  api.post("/rules/{id}/candidate/promote", Role::operator_,
           [routes](Call& call) { routes->end_candidate(call, rules::CandidateEnd::promoted); });
  api.post("/rules/{id}/candidate/discard", Role::operator_,
           [routes](Call& call) { routes->end_candidate(call, rules::CandidateEnd::discarded); });
  api.get("/rules/versions", RulesRoutes::list_versions);
  api.get("/rules/versions/{n}", RulesRoutes::show_version);
  api.post("/rules/versions/{n}/restore", Role::admin, [routes](Call& call) { routes->restore(call); });
}

}  // namespace weir::admin
