#include "admin/decision_json.h"

#include "admin/traffic.h"
#include "base/ascii.h"

namespace weir::admin {
namespace {

// "#9c41d2e07b5a": a value that is not kept, as lines about decisions show it.
std::string hashed_text(std::uint64_t hash) {
  const SubjectDigits digits = subject_digits({.high = hash, .low = 0});
  return "#" + std::string(digits.data(), digits.size());
}

void write_text(JsonWriter& out, std::string_view name, const observe::JournalEntry& entry) {
  const observe::JournalAttribute* const found = entry.find(name);
  out.member(name, found != nullptr ? found->text : std::nullopt);
}

void write_rule(JsonWriter& out, const observe::RecordRule& rule) {
  out.begin_object();
  out.member("rule", rule.rule);
  out.member("subject", subject_of(rule.subject, rule.shared));
  out.member("allowed", rule.allowed);
  out.member("mode", mode_name(rule.mode));
  out.member("limit", rule.unlimited ? std::nullopt : std::optional(rule.limit));
  out.member("remaining", rule.unlimited ? std::nullopt : std::optional(rule.remaining));
  out.member("cost", rule.cost);
  out.member("retry_after_ms", ceil_ms(rule.retry_after));
  out.member("reset_after_ms", ceil_ms(rule.reset_after));
  out.member("store_failed", rule.store_failed);
  out.end_object();
}

std::optional<Reason> reason_from_name(std::string_view name) {
  for (int r = 0; r < kReasonCount; ++r) {
    if (reason_name(static_cast<Reason>(r)) == name) return static_cast<Reason>(r);
  }
  return std::nullopt;
}

}  // namespace

void write_entry(JsonWriter& out, const observe::JournalEntry& entry, std::string_view node) {
  const observe::RecordRule* const decisive = entry.decisive();
  out.begin_object();
  out.member("id", observe::place_text(observe::place_of(entry)));
  out.member("at", entry.at);
  out.member("node", node);
  out.member("allowed", entry.allowed);
  out.member("shadow_denied", entry.shadow_denied());
  out.member("reason", reason_name(entry.reason));
  out.member("rule", decisive != nullptr ? std::optional(decisive->rule) : std::nullopt);
  out.member("source", entry.source);
  out.member("degraded", entry.degraded);
  out.member("count", entry.count);
  out.member("cost", entry.cost);
  out.member("retry_after_ms", ceil_ms(entry.retry_after));
  for (const std::string_view name : {"action", "method", "path", "trace_id", "tenant"}) write_text(out, name, entry);
  out.begin_object("attributes");
  for (const observe::JournalAttribute& each : entry.attributes) {
    out.member(each.name, each.text ? *each.text : hashed_text(each.hash));
  }
  out.end_object();
  out.member("rules_version", entry.rules_version);
  out.member("rules_hash", base::hex_text(entry.rules_hash));
  out.begin_array("rules");
  for (const observe::RecordRule& rule : entry.rules) write_rule(out, rule);
  out.end_array();
  out.end_object();
}

observe::JournalQuery read_journal_query(Query& query) {
  observe::JournalQuery read;
  read.attributes = query.prefixed("attribute.");
  if (read.attributes.size() > kMaxAttributes) {
    query.fail("attribute", "too many, expected at most " + std::to_string(kMaxAttributes));
  }
  read.rule = query.text("rule").value_or("");
  read.subject = query.text("subject").value_or("");
  if (const std::optional<std::string> reason = query.text("reason")) {
    read.reason = reason_from_name(*reason);
    if (!read.reason) query.fail("reason", "is '" + *reason + "', expected a reason such as limit_exceeded");
  }
  const std::string outcome = query.choice("outcome", {"allowed", "denied", "shadow"}).value_or("");
  if (outcome == "allowed") read.outcome = observe::JournalQuery::Outcome::allowed;
  if (outcome == "denied") read.outcome = observe::JournalQuery::Outcome::denied;
  if (outcome == "shadow") read.outcome = observe::JournalQuery::Outcome::shadow;
  read.from = query.time("from");
  read.until = query.time("to");
  return read;
}

}  // namespace weir::admin
