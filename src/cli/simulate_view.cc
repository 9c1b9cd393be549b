#include "cli/simulate_view.h"

#include <algorithm>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "observe/log.h"
#include "simulate/html_chart.h"

namespace weir::cli {
namespace {

using simulate::grouped_number;

constexpr std::size_t kRowsShown = 10;
constexpr std::size_t kWidestCell = 48;
constexpr Duration kEnoughToGuess = std::chrono::milliseconds(500);

std::string share_text(double share) {
  std::ostringstream out;
  out << std::fixed << std::setprecision(2) << 100 * share << " %";
  return out.str();
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  return share_text(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole));
}

std::string moment(TimePoint time) {
  return time == TimePoint{} ? "never" : observe::rfc3339(time).substr(0, 19) + "Z";
}

// Rows of cells in columns as wide as their widest; columns whose heading begins with '#' are numbers.
class Columns {
 public:
  explicit Columns(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const { return rows_.size() == 1; }

  void show(const Terminal& terminal) const {
    std::vector<std::size_t> widths(rows_.front().size());
    for (const auto& row : rows_) {
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(cell(row, i)));
    }
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      std::string line = "  ";
      for (std::size_t i = 0; i < rows_[r].size(); ++i) {
        const std::string text = cell(rows_[r], i);
        if (rows_.front()[i].starts_with('#')) {
          line += std::string(widths[i] - columns_of(text), ' ') + text;
        } else {
          line += padded(text, widths[i]);
        }
        line += "  ";
      }
      line.erase(line.find_last_not_of(' ') + 1);
      terminal.out << (r == 0 ? terminal.paint(Colour::faint, line) : line) << '\n';
    }
  }

 private:
  std::string cell(const std::vector<std::string>& row, std::size_t i) const {
    std::string text = &row == &rows_.front() && row[i].starts_with('#') ? row[i].substr(1) : shown(row[i]);
    if (columns_of(text) <= kWidestCell) return text;
    std::size_t bytes = 0;
    while (bytes < text.size() && columns_of(std::string_view(text).substr(0, bytes)) < kWidestCell - 1) ++bytes;
    while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0U) == 0x80U) --bytes;
    return text.substr(0, bytes) + "…";
  }

  std::vector<std::vector<std::string>> rows_;
};

void show_heading(const Terminal& terminal, std::string_view text) {
  terminal.out << '\n' << terminal.paint(Colour::bold, text) << '\n';
}

void show_input(const simulate::Report& report, const Terminal& terminal) {
  std::ostream& out = terminal.out;
  out << terminal.paint(Colour::bold, grouped_number(report.requests)) << " requests, " << moment(report.from) << " to "
      << moment(report.to) << ", from " << grouped_number(report.lines) << " lines\n";
  out << "peak " << grouped_number(report.peak_second.requests) << " in one second (" << moment(report.peak_second.at)
      << "), " << grouped_number(report.peak_minute.requests) << " in one minute (" << moment(report.peak_minute.at)
      << ")\n";
  const auto bad = [&](std::uint64_t count, std::string_view what, const std::optional<simulate::BadLine>& first) {
    if (count == 0) return;
    out << terminal.paint(Colour::yellow, grouped_number(count) + " lines " + std::string(what));
    if (first)
      out << "; the first, " << shown(first->log) << ':' << first->number << ", " << first->why << ":\n  "
          << shown(first->text);
    out << '\n';
  };
  bad(report.unparsed, "could not be parsed and are left out", report.first_unparsed);
  bad(report.refused, "would have been refused before any rule", report.first_refused);
  if (report.logged_429 > 0)
    out << grouped_number(report.logged_429) << " of them were answered with 429 according to the log\n";
  if (report.out_of_order > 0) {
    out << grouped_number(report.out_of_order)
        << " lines are earlier than the line before; they count at the latest time seen\n";
  }
}

void show_sets(const simulate::Report& report, const Terminal& terminal) {
  show_heading(terminal, "Decisions");
  Columns table({"rules", "#allowed", "#denied", "#share", "#denied in shadow", "#no rule"});
  for (const simulate::SetSummary& set : report.sets) {
    table.add({set.name, grouped_number(set.allowed), grouped_number(set.denied),
               share_text(set.denied, report.requests), grouped_number(set.shadow_denied),
               grouped_number(set.no_rule)});
  }
  table.show(terminal);
  if (report.sets.size() == 2) {
    terminal.out << "  " << grouped_number(report.newly_denied) << " requests newly denied, "
                 << grouped_number(report.newly_allowed) << " newly allowed\n";
  }
}

void show_rules(const simulate::Report& report, const Terminal& terminal) {
  const std::size_t last = report.sets.size() - 1;
  show_heading(terminal, "Rules");
  std::vector<std::string> heading = {"rule", "limit", "#requests"};
  if (last > 0) heading.emplace_back("#denied now");
  heading.emplace_back(last > 0 ? "#denied then" : "#denied");
  heading.insert(heading.end(), {"#exceeded", "#subjects", "first denial", "last denial"});
  Columns table(heading);
  for (const simulate::RuleSummary& rule : report.rules) {
    const std::string& limit = rule.summary[last].empty() ? rule.summary[0] + " (removed)" : rule.summary[last];
    std::vector<std::string> row = {rule.rule, limit, grouped_number(std::max(rule.requests[0], rule.requests[last]))};
    if (last > 0) row.push_back(grouped_number(rule.denied[0]));
    row.push_back(grouped_number(rule.denied[last]));
    row.insert(row.end(), {grouped_number(rule.over[last]), grouped_number(rule.subjects), moment(rule.first_denied),
                           moment(rule.last_denied)});
    table.add(std::move(row));
  }
  table.show(terminal);
}

void show_subjects(std::string_view title, const std::vector<simulate::SubjectCounts>& subjects, std::size_t last,
                   const Terminal& terminal) {
  if (subjects.empty()) return;
  show_heading(terminal, title);
  std::vector<std::string> heading = {"subject", "rule", "#requests"};
  if (last > 0) heading.emplace_back("#denied now");
  heading.insert(heading.end(), {last > 0 ? "#denied then" : "#denied", "#peak in a window", "first denied"});
  Columns table(heading);
  for (std::size_t i = 0; i < subjects.size() && i < kRowsShown; ++i) {
    const simulate::SubjectCounts& each = subjects[i];
    std::vector<std::string> row = {each.text, each.rule,
                                    grouped_number(std::max(each.requests[0], each.requests[last]))};
    if (last > 0) row.push_back(grouped_number(each.denied[0]));
    row.insert(row.end(), {grouped_number(each.denied[last]), grouped_number(each.peak), moment(each.first_denied)});
    table.add(std::move(row));
  }
  table.show(terminal);
}

void show_suggestions(const simulate::Report& report, const Terminal& terminal) {
  if (report.suggestions.empty()) return;
  show_heading(terminal, "Limits that deny at most " + share_text(report.target) + " of a rule's requests");
  Columns table({"rule", "#limit", "#denies", "#suggested", "#would deny"});
  for (const simulate::Suggestion& each : report.suggestions) {
    table.add({each.rule, grouped_number(static_cast<std::uint64_t>(each.limit)), share_text(each.share),
               each.reached ? grouped_number(static_cast<std::uint64_t>(each.suggested)) : "none",
               each.reached ? share_text(each.suggested_share) : ""});
  }
  table.show(terminal);
  terminal.out << "  each rule by itself; a burst or queue that is set keeps its ratio to the limit\n";
}

}  // namespace

SimulateProgress::~SimulateProgress() {
  if (shown_) terminal_.err << "\r\x1b[K" << std::flush;
}

void SimulateProgress::say(std::string_view text) {
  if (!terminal_.live) return;
  shown_ = true;
  terminal_.err << "\r\x1b[K" << text << std::flush;
}

void SimulateProgress::show(Duration elapsed, std::uint64_t lines, std::uint64_t done, std::uint64_t all) {
  if (!terminal_.live) return;
  constexpr int kBar = 24;
  const double seconds = std::max(1e-3, static_cast<double>(elapsed.count()) / 1e6);
  std::ostringstream line;
  if (all > 0) {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
    const int full = static_cast<int>(share * kBar);
    line << '[' << std::string(static_cast<std::size_t>(full), '#')
         << std::string(static_cast<std::size_t>(kBar - full), '.') << "] " << std::setw(3)
         << static_cast<int>(share * 100) << " %  ";
    line << grouped_number(lines) << " lines, "
         << grouped_number(static_cast<std::uint64_t>(static_cast<double>(lines) / seconds)) << "/s";
    if (share > 0.01 && elapsed > kEnoughToGuess) {
      line << ", " << duration_for_people(static_cast<long long>(seconds * (1 - share) / share * 1e3) / 1000 * 1000)
           << " left";
    }
  } else {
    line << grouped_number(lines) << " lines, "
         << grouped_number(static_cast<std::uint64_t>(static_cast<double>(lines) / seconds)) << "/s";
  }
  say(line.str());
}

void show_report(const simulate::Report& report, const Terminal& terminal) {
  const std::size_t last = report.sets.size() - 1;
  show_input(report, terminal);
  show_sets(report, terminal);
  show_rules(report, terminal);
  if (last > 0) show_subjects("Who would notice the change", report.changed, last, terminal);
  show_subjects("Most denied", report.top_denied, last, terminal);
  show_subjects("Most requests", report.top_requests, last, terminal);
  show_suggestions(report, terminal);
  for (const std::string& note : report.notes) {
    terminal.out << terminal.paint(Colour::yellow, "note") << "  " << shown(note) << '\n';
  }
  if (!report.exact_subjects) {
    terminal.out << terminal.paint(Colour::yellow, "note")
                 << "  the log has too many subjects to track; those with the fewest requests are not in the lists\n";
  }
}

}  // namespace weir::cli
