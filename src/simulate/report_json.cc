#include "simulate/report_json.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "base/json_text.h"
#include "observe/log.h"

namespace weir::simulate {
namespace {

// Writes an object's members one after the other.
class JsonObject {
 public:
  explicit JsonObject(std::string& out) : out_(out) { out_ += '{'; }

  JsonObject& text(std::string_view name, std::string_view value) {
    key(name);
    base::append_json_string(out_, value);
    return *this;
  }
  JsonObject& number(std::string_view name, std::uint64_t value) { return raw(name, std::to_string(value)); }
  JsonObject& share(std::string_view name, double value) {
    std::array<char, 32> room{};
    std::snprintf(room.data(), room.size(), "%.6g", value);
    return raw(name, room.data());
  }
  JsonObject& boolean(std::string_view name, bool value) { return raw(name, value ? "true" : "false"); }
  JsonObject& time(std::string_view name, TimePoint value) {
    return value == TimePoint{} ? raw(name, "null") : raw(name, time_or_null(value));
  }
  JsonObject& raw(std::string_view name, std::string_view value) {
    key(name);
    out_ += value;
    return *this;
  }
  void key(std::string_view name) {
    if (!first_) out_ += ',';
    first_ = false;
    out_.append("\"").append(name).append("\":");
  }
  void end() { out_ += '}'; }

 private:
  std::string& out_;
  bool first_ = true;
};

// Writes "name":[…], each entry by `write`.
template <typename List, typename Write>
void json_list(JsonObject& object, std::string& out, std::string_view name, const List& list, Write write) {
  object.key(name);
  out += '[';
  bool first = true;
  for (const auto& each : list) {
    if (!first) out += ',';
    first = false;
    write(each);
  }
  out += ']';
}

void json_bad_line(JsonObject& object, std::string& out, std::string_view name, const std::optional<BadLine>& line) {
  object.key(name);
  if (!line) {
    out += "null";
    return;
  }
  JsonObject inner(out);
  inner.text("log", line->log).number("line", line->number).text("text", line->text).text("why", line->why).end();
}

void json_subjects(JsonObject& object, std::string& out, std::string_view name,
                   const std::vector<SubjectCounts>& subjects, std::size_t sets) {
  json_list(object, out, name, subjects, [&](const SubjectCounts& each) {
    JsonObject inner(out);
    inner.text("subject", each.text).text("rule", each.rule).number("requests", each.requests[sets - 1]);
    inner.number("denied_now", each.denied[0]).number("denied_then", each.denied[sets - 1]);
    inner.time("first_denied_at", each.first_denied).time("last_denied_at", each.last_denied);
    inner.number("peak_units", each.peak).time("peak_at", each.peak_at).end();
  });
}

void json_rules(JsonObject& object, std::string& out, const Report& report) {
  const std::size_t last = report.sets.size() - 1;
  json_list(object, out, "rules", report.rules, [&](const RuleSummary& each) {
    JsonObject inner(out);
    inner.text("rule", each.rule).text("summary_now", each.summary[0]).text("summary_then", each.summary[last]);
    inner.text("mode_now", each.mode[0]).text("mode_then", each.mode[last]);
    inner.number("requests_now", each.requests[0]).number("requests_then", each.requests[last]);
    inner.number("denied_now", each.denied[0]).number("denied_then", each.denied[last]);
    inner.number("exceeded_now", each.over[0]).number("exceeded_then", each.over[last]);
    inner.number("subjects", each.subjects).time("first_denied_at", each.first_denied);
    inner.time("last_denied_at", each.last_denied).end();
  });
}

void json_series(JsonObject& object, std::string& out, const Report& report) {
  const std::size_t last = report.sets.size() - 1;
  object.key("series");
  JsonObject inner(out);
  inner.time("start_at", report.series_start);
  inner.number("step_ms", static_cast<std::uint64_t>(report.series_step.count() / 1'000));
  json_list(inner, out, "requests", report.series,
            [&](const StepCounts& each) { out += std::to_string(each.requests); });
  json_list(inner, out, "denied_now", report.series,
            [&](const StepCounts& each) { out += std::to_string(each.denied[0]); });
  json_list(inner, out, "denied_then", report.series,
            [&](const StepCounts& each) { out += std::to_string(each.denied[last]); });
  inner.end();
}

void json_suggestions(JsonObject& object, std::string& out, const Report& report) {
  object.share("target", report.target);
  json_list(object, out, "suggestions", report.suggestions, [&](const Suggestion& each) {
    JsonObject inner(out);
    inner.text("rule", each.rule).number("limit", static_cast<std::uint64_t>(each.limit)).share("share", each.share);
    inner.boolean("reached", each.reached).boolean("beginning_only", each.cut_off);
    inner.number("suggested_limit", static_cast<std::uint64_t>(each.suggested));
    inner.share("suggested_share", each.suggested_share).end();
  });
}

}  // namespace

std::string time_or_null(TimePoint time) { return time == TimePoint{} ? "null" : "\"" + observe::rfc3339(time) + "\""; }

std::string report_json(const Report& report) {
  std::string out;
  const std::size_t sets = report.sets.size();
  JsonObject object(out);
  object.number("requests", report.requests).number("allowed_now", report.now().allowed);
  object.number("denied_now", report.now().denied).number("allowed_then", report.then().allowed);
  object.number("denied_then", report.then().denied);
  object.number("newly_denied", report.newly_denied).number("newly_allowed", report.newly_allowed);
  object.time("from", report.from).time("to", report.to);
  object.number("lines", report.lines).number("unparsed", report.unparsed);
  json_bad_line(object, out, "first_unparsed", report.first_unparsed);
  object.number("refused", report.refused);
  json_bad_line(object, out, "first_refused", report.first_refused);
  object.number("logged_429", report.logged_429).number("out_of_order", report.out_of_order);
  json_list(object, out, "logs", report.logs, [&](const LogSummary& each) {
    JsonObject inner(out);
    inner.text("log", each.name).text("format", each.format).number("lines", each.lines);
    inner.number("unparsed", each.unparsed).end();
  });
  json_list(object, out, "sets", report.sets, [&](const SetSummary& each) {
    JsonObject inner(out);
    inner.text("name", each.name).number("rules", each.rules).number("allowed", each.allowed);
    inner.number("denied", each.denied).number("shadow_denied", each.shadow_denied).number("no_rule", each.no_rule);
    inner.number("degraded", each.degraded).end();
  });
  json_rules(object, out, report);
  json_subjects(object, out, "subjects", report.top_denied, sets);
  json_subjects(object, out, "top_requests", report.top_requests, sets);
  json_subjects(object, out, "changed", report.changed, sets);
  object.boolean("exact_subjects", report.exact_subjects);
  object.number("peak_per_second", report.peak_second.requests).time("peak_second_at", report.peak_second.at);
  object.number("peak_per_minute", report.peak_minute.requests).time("peak_minute_at", report.peak_minute.at);
  json_series(object, out, report);
  if (report.target > 0 || !report.suggestions.empty()) json_suggestions(object, out, report);
  json_list(object, out, "notes", report.notes, [&](const std::string& each) { base::append_json_string(out, each); });
  object.end();
  return out;
}

}  // namespace weir::simulate
