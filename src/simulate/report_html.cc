#include "simulate/report_html.h"

#include <array>
#include <cstdio>

#include "observe/log.h"
#include "simulate/html_chart.h"

namespace weir::simulate {
namespace {

constexpr std::size_t kMaxRulesShown = 50;
constexpr std::size_t kMaxRuleCharts = 6;

constexpr std::string_view kPageBegin = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>Weir simulation</title>
<style>
:root{color-scheme:light dark;--back:#fff;--text:#1b2430;--faint:#5b6776;--line:#d8dee6;--whole:#b9c6d6;--part:#c2410c;--card:#f5f7fa}
@media(prefers-color-scheme:dark){:root{--back:#12161c;--text:#e6eaf0;--faint:#98a4b3;--line:#2c3440;--whole:#3d4b5e;--part:#fb923c;--card:#1a2029}}
body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,sans-serif;margin:0 auto;max-width:1020px;padding:24px}
h1{font-size:24px;margin:0 0 4px}h2{font-size:18px;margin:32px 0 8px}
p.about{color:var(--faint);margin:0 0 16px}
.cards{display:grid;gap:12px;grid-template-columns:repeat(auto-fit,minmax(150px,1fr))}
.cards div{background:var(--card);border-radius:8px;padding:12px}
.cards b{display:block;font-size:22px}.cards span{color:var(--faint)}
.table{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{border-bottom:1px solid var(--line);padding:6px 10px 6px 0;text-align:left;vertical-align:top}
th{color:var(--faint);font-weight:600}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
svg{display:block;height:auto;width:100%}svg text{fill:var(--faint);font-size:12px}svg line{stroke:var(--line)}
.whole{fill:var(--whole)}.part{fill:var(--part)}
code{background:var(--card);border-radius:4px;padding:1px 5px;word-break:break-all}
.note{border-left:3px solid var(--part);margin:8px 0;padding:2px 12px}
</style></head><body>
)";

std::string percent(std::uint64_t part, std::uint64_t whole) {
  std::array<char, 32> room{};
  std::snprintf(room.data(), room.size(), "%.2f %%",
                whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return room.data();
}

std::string percent(double share) {
  std::array<char, 32> room{};
  std::snprintf(room.data(), room.size(), "%.2f %%", 100.0 * share);
  return room.data();
}

std::string time_cell(TimePoint time) { return time == TimePoint{} ? "" : observe::rfc3339(time); }

std::string card(const std::string& value, std::string_view what) {
  return "<div><b>" + html_text(value) + "</b><span>" + html_text(what) + "</span></div>";
}

// One row; cells that begin with '#' are numbers.
std::string row(const std::vector<std::string>& cells, std::string_view kind) {
  std::string out = "<tr>";
  for (const std::string& cell : cells) {
    const bool number = cell.starts_with('#');
    out.append("<").append(kind).append(number ? " class=\"n\">" : ">");
    out.append(html_text(number ? cell.substr(1) : cell)).append("</").append(kind).append(">");
  }
  return out + "</tr>\n";
}

std::string number_cell(std::uint64_t number) { return "#" + grouped_number(number); }

void add_cards(const Report& report, std::string& out) {
  out += "<div class=\"cards\">";
  out += card(grouped_number(report.requests), "requests");
  if (report.sets.size() == 2) {
    out += card(grouped_number(report.now().denied), "denied now, " + percent(report.now().denied, report.requests));
    out += card(grouped_number(report.then().denied), "denied then, " + percent(report.then().denied, report.requests));
    out += card(grouped_number(report.newly_denied), "newly denied");
    out += card(grouped_number(report.newly_allowed), "newly allowed");
  } else {
    out += card(grouped_number(report.now().denied), "denied, " + percent(report.now().denied, report.requests));
    out += card(grouped_number(report.now().shadow_denied), "denied in shadow only");
  }
  out += card(grouped_number(report.peak_second.requests) + "/s", "peak, " + time_cell(report.peak_second.at));
  out += "</div>\n";
}

void add_charts(const Report& report, std::string& out) {
  BarSeries whole{"Requests and denials over time", report.series_start, report.series_step, {}, {}};
  for (const StepCounts& each : report.series) {
    whole.whole.push_back(each.requests);
    whole.part.push_back(each.denied[report.sets.size() - 1]);
  }
  out += "<h2>Requests and denials over time</h2>\n" + bar_chart(whole) + "\n";
  std::vector<RankedBar> bars;
  for (const RuleSummary& rule : report.rules) {
    const std::uint64_t then = rule.denied[report.sets.size() - 1];
    if (rule.denied[0] + then > 0 && bars.size() < kMaxRulesShown) bars.push_back({rule.rule, rule.denied[0], then});
  }
  if (!bars.empty()) out += "<h2>Denials by rule</h2>\n" + ranked_chart(bars, report.sets.size() == 2) + "\n";
  std::size_t shown = 0;
  for (const RuleSummary& rule : report.rules) {
    if (rule.denied_series.empty() || shown == kMaxRuleCharts) continue;
    ++shown;
    const BarSeries series{"Denials of " + rule.rule, report.series_start, report.series_step, {}, rule.denied_series};
    out += "<h2>When " + html_text(rule.rule) + " denied</h2>\n" + bar_chart(series) + "\n";
  }
}

void add_rules_table(const Report& report, std::string& out) {
  const std::size_t last = report.sets.size() - 1;
  out += "<h2>Rules</h2>\n<div class=\"table\"><table>\n";
  if (last > 0) {
    out += row({"rule", "now", "then", "#requests", "#denied now", "#denied then", "#subjects", "first denial"}, "th");
  } else {
    out += row({"rule", "limit", "mode", "#requests", "#denied", "#exceeded", "#subjects", "first denial"}, "th");
  }
  for (std::size_t i = 0; i < report.rules.size() && i < kMaxRulesShown; ++i) {
    const RuleSummary& rule = report.rules[i];
    const auto number = number_cell;
    if (last > 0) {
      out += row({rule.rule, rule.summary[0].empty() ? "–" : rule.summary[0],
                  rule.summary[1].empty() ? "–" : rule.summary[1], number(std::max(rule.requests[0], rule.requests[1])),
                  number(rule.denied[0]), number(rule.denied[1]), number(rule.subjects), time_cell(rule.first_denied)},
                 "td");
    } else {
      out += row({rule.rule, rule.summary[0], rule.mode[0], number(rule.requests[0]), number(rule.denied[0]),
                  number(rule.over[0]), number(rule.subjects), time_cell(rule.first_denied)},
                 "td");
    }
  }
  out += "</table></div>\n";
}

void add_subjects_table(const Report& report, std::string_view title, const std::vector<SubjectCounts>& subjects,
                        std::string& out) {
  if (subjects.empty()) return;
  const std::size_t last = report.sets.size() - 1;
  out.append("<h2>").append(title).append("</h2>\n<div class=\"table\"><table>\n");
  std::vector<std::string> head = {"subject", "rule", "#requests"};
  if (last > 0) head.emplace_back("#denied now");
  head.emplace_back(last > 0 ? "#denied then" : "#denied");
  head.insert(head.end(), {"first denied", "last denied", "#peak in a window"});
  out += row(head, "th");
  for (const SubjectCounts& each : subjects) {
    std::vector<std::string> cells = {each.text, each.rule,
                                      number_cell(std::max(each.requests[0], each.requests[last]))};
    if (last > 0) cells.push_back(number_cell(each.denied[0]));
    cells.push_back(number_cell(each.denied[last]));
    cells.insert(cells.end(), {time_cell(each.first_denied), time_cell(each.last_denied), number_cell(each.peak)});
    out += row(cells, "td");
  }
  out += "</table></div>\n";
}

void add_suggestions(const Report& report, std::string& out) {
  if (report.suggestions.empty()) return;
  out += "<h2>Limits for at most " + percent(report.target) + " denied</h2>\n<div class=\"table\"><table>\n";
  out += row({"rule", "#limit", "#denies", "#suggested", "#would deny"}, "th");
  for (const Suggestion& each : report.suggestions) {
    const auto limit = static_cast<std::uint64_t>(each.limit);
    const auto suggested = static_cast<std::uint64_t>(each.suggested);
    out +=
        row({each.rule, number_cell(limit), "#" + percent(each.share), each.reached ? number_cell(suggested) : "#none",
             each.reached ? "#" + percent(each.suggested_share) : "#"},
            "td");
  }
  out += "</table></div>\n";
}

void add_remarks(const Report& report, std::string& out) {
  const auto line = [&](std::uint64_t count, std::string_view what, const std::optional<BadLine>& first) {
    if (count == 0) return;
    out += "<p class=\"note\">" + grouped_number(count) + " lines " + std::string(what);
    if (first) {
      out += "; the first, " + html_text(first->log) + ":" + std::to_string(first->number) + ", " +
             html_text(first->why) + ": <code>" + html_text(first->text) + "</code>";
    }
    out += "</p>\n";
  };
  line(report.unparsed, "could not be parsed and are left out", report.first_unparsed);
  line(report.refused, "would have been refused before any rule", report.first_refused);
  for (const std::string& note : report.notes) out += "<p class=\"note\">" + html_text(note) + "</p>\n";
  if (!report.exact_subjects) {
    out +=
        "<p class=\"note\">The log has too many subjects to track; those with the fewest requests are not in the "
        "lists.</p>\n";
  }
}

}  // namespace

std::string report_html(const Report& report) {
  std::string out(kPageBegin);
  out += "<h1>Weir simulation</h1>\n<p class=\"about\">";
  for (const LogSummary& log : report.logs) out += html_text(log.name) + " (" + grouped_number(log.lines) + " lines) ";
  out += "against " + html_text(report.now().name);
  if (report.sets.size() == 2) out += " (now) and " + html_text(report.then().name) + " (then)";
  out += ", " + time_cell(report.from) + " to " + time_cell(report.to) + "</p>\n";
  add_cards(report, out);
  add_remarks(report, out);
  add_charts(report, out);
  add_rules_table(report, out);
  add_suggestions(report, out);
  if (report.sets.size() == 2) add_subjects_table(report, "Who would notice the change", report.changed, out);
  add_subjects_table(report, "Most denied", report.top_denied, out);
  add_subjects_table(report, "Most requests", report.top_requests, out);
  return out + "</body></html>\n";
}

}  // namespace weir::simulate
