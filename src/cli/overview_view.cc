#include "cli/overview_view.h"

#include <cstdio>

namespace weir::cli {
namespace {

std::vector<SubjectRow> read_subjects(JsonView list, std::string_view value) {
  std::vector<SubjectRow> rows;
  for (const JsonView each : list.items()) {
    SubjectRow& row = rows.emplace_back();
    row.subject = each["text"].exists() ? each["text"].text() : each["subject"].text();
    row.rule = each["rule"].text();
    row.value = each[value].number();
    row.used = each["used"].whole();
    row.limit = each["limit"].whole();
  }
  return rows;
}

std::vector<double> read_series(JsonView series) {
  std::vector<double> sums;
  const std::vector<JsonView> allowed = series["allowed"].items();
  const std::vector<JsonView> denied = series["denied"].items();
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    const double refused = i < denied.size() ? denied[i].number() : 0;
    sums.push_back(allowed[i].exists() ? allowed[i].number() + refused : -1);
  }
  return sums;
}

std::string formatted(const char* format, double value) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, format, value))};
}

}  // namespace

Overview read_overview(JsonView json) {
  Overview made;
  made.node = json["node"].text();
  made.at = json["at"].text();
  const JsonView totals = json["totals"];
  made.allowed = totals["allowed_per_second"].number();
  made.denied = totals["denied_per_second"].number();
  made.denied_share = totals["denied_share"].number();
  made.usual_denied_share = totals["usual_denied_share"].number();
  made.shadow_denied = totals["shadow_denied_per_second"].number();
  made.shed = totals["shed_per_second"].number();
  made.blocked = totals["blocked_per_second"].number();
  made.degraded = totals["degraded_per_second"].number();
  made.p50_ms = totals["p50_ms"].number();
  made.p99_ms = totals["p99_ms"].number();
  const JsonView state = json["state"];
  made.store = state["store"]["name"].text();
  made.store_ok = state["store"]["ok"].boolean();
  made.breaker = state["store"]["breaker"].text();
  made.store_p99_ms = state["store"]["p99_ms"].number();
  made.store_keys = state["store"]["keys"].number();
  made.store_bytes = state["store"]["bytes"].number();
  made.database = state["database"]["kind"].text();
  made.database_ok = state["database"]["ok"].boolean();
  made.database_detail = state["database"]["detail"].text();
  made.rules_version = state["rules"]["version"].text();
  made.rules_error = state["rules"]["error"].text();
  for (const JsonView each : state["fallbacks"].items()) {
    made.fallbacks.push_back(each["rule"].text() + ": " + each["policy"].text());
  }
  made.series = read_series(json["series"]);
  for (const JsonView each : json["top_rules"].items()) {
    made.rules.push_back({each["rule"].text(), each["mode"].text(), each["allowed_per_second"].number(),
                          each["denied_per_second"].number(), each["shadow_denied_per_second"].number(),
                          each["fallback"].boolean()});
  }
  made.denied_subjects = read_subjects(json["top_subjects"], "denied_per_second");
  made.near_limit = read_subjects(json["near_limit"], "share");
  made.hot_subjects = read_subjects(json["hot_subjects"], "per_second");
  return made;
}

std::vector<std::string> Overview::troubles() const {
  std::vector<std::string> all;
  if (!store_ok) all.push_back("the store (" + store + ") does not answer: breaker " + breaker);
  if (!database_ok) all.push_back("the database (" + database + ") does not answer: " + database_detail);
  if (!rules_error.empty()) all.push_back("the rules file is invalid, older rules are used: " + rules_error);
  for (const std::string& each : fallbacks) all.push_back("decides without the store: " + each);
  return all;
}

std::string decisions_text(const Overview& now, std::string_view separator, bool with_usual) {
  std::string text = rate_text(now.allowed) + "/s allowed" + std::string(separator) + rate_text(now.denied) +
                     "/s denied (" + percent_text(now.denied_share);
  if (with_usual) text += ", usually " + percent_text(now.usual_denied_share);
  text += ")";
  const auto add = [&](double rate, std::string_view what) {
    if (Overview::is_seen(rate)) text += std::string(separator) + rate_text(rate) + "/s " + std::string(what);
  };
  add(now.shed, "shed");
  add(now.degraded, "without the store");
  add(now.blocked, "blocked");
  add(now.shadow_denied, "denied in shadow mode");
  return text;
}

std::string count_text(double count) {
  return count < 1'000 ? std::to_string(static_cast<int>(count)) : rate_text(count);
}

std::string rate_text(double per_second) {
  if (!Overview::is_seen(per_second)) return "0";
  if (per_second < 10) return formatted("%.1f", per_second);
  if (per_second < 10'000) return formatted("%.0f", per_second);
  if (per_second < 1'000'000) return formatted("%.3gk", per_second / 1e3);
  return formatted("%.3gM", per_second / 1e6);
}

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return formatted("%.0f B", bytes);
  if (bytes < 1e6) return formatted("%.3g kB", bytes / 1e3);
  if (bytes < 1e9) return formatted("%.3g MB", bytes / 1e6);
  return formatted("%.3g GB", bytes / 1e9);
}

std::string percent_text(double share) { return formatted("%.1f %%", share * 100); }

}  // namespace weir::cli
