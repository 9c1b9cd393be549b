#include "cli/top_screen.h"

#include <algorithm>
#include <cstdio>

#include "cli/moment.h"

namespace weir::cli {
namespace {

// The text cut to so many columns, with "…" where something is missing.
std::string cut_to(const std::string& text, std::size_t columns) {
  if (columns_of(text) <= columns) return text;
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t next = i + 1;
    while (next < text.size() && (static_cast<unsigned char>(text[next]) & 0xC0) == 0x80) ++next;
    if (columns_of(out) + columns_of(text.substr(i, next - i)) + 1 > columns) break;
    out += text.substr(i, next - i);
    i = next;
  }
  return columns == 0 ? "" : out + "…";
}

std::string cell(const std::string& text, std::size_t columns) { return padded(cut_to(text, columns), columns); }

std::string right(const std::string& text, std::size_t columns) {
  const std::size_t width = columns_of(text);
  return width >= columns ? text : std::string(columns - width, ' ') + text;
}

// Eight heights, one character a second.
std::string sparkline(const std::vector<double>& series, std::size_t columns) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t first = series.size() > columns ? series.size() - columns : 0;
  double most = 1;
  for (std::size_t i = first; i < series.size(); ++i) most = std::max(most, series[i]);
  std::string out;
  for (std::size_t i = first; i < series.size(); ++i) {
    if (series[i] < 0) {
      out += ' ';
    } else {
      out += kBars[std::min<std::size_t>(7, static_cast<std::size_t>(series[i] / most * 7.999))];
    }
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return part.empty() || text.find(part) != std::string::npos;
}

class TopScreen {
 public:
  TopScreen(const Overview& now, const TopState& state, int columns, int rows, const Terminal& terminal)
      : now_(now),
        state_(state),
        columns_(static_cast<std::size_t>(std::max(columns, kLeastColumns))),
        rows_(static_cast<std::size_t>(std::max(rows, kLeastRows))),
        terminal_(terminal) {}

  std::vector<std::string> lines() {
    add_head();
    if (state_.help) {
      add_help();
    } else {
      const std::size_t left = rows_ - lines_.size() - 1;  // one for the keys
      const std::size_t for_rules = std::max<std::size_t>(3, left / 2);
      add_rules(for_rules);
      add_subjects(rows_ - lines_.size() - 1);
    }
    if (lines_.size() > rows_ - 1) lines_.resize(rows_ - 1);
    while (lines_.size() < rows_ - 1) lines_.emplace_back();
    add_keys();
    return std::move(lines_);
  }

 private:
  void add_head() {
    const std::vector<std::string> troubles = now_.troubles();
    std::string title = "weir top  " + now_.node + "  " + local_time(now_.at);
    if (state_.paused) title += "  paused";
    lines_.push_back(terminal_.paint(Colour::bold, cut_to(title, columns_)));
    std::string rates = decisions_text(now_, "  ");
    if (columns_of(rates) > columns_) rates = decisions_text(now_, "  ", /*with_usual=*/false);
    rates = cut_to(rates, columns_);
    lines_.push_back(now_.is_shedding() ? terminal_.paint(Colour::yellow, rates) : rates);
    char times[64];
    std::snprintf(times, sizeof times, "p50 %.3g ms  p99 %.3g ms", now_.p50_ms, now_.p99_ms);
    lines_.push_back(cut_to(std::string(times) + "  store " + now_.store + " (" + now_.breaker + ")  database " +
                                now_.database + "  rules v" + now_.rules_version + "  " + count_text(now_.store_keys) +
                                " keys " + bytes_text(now_.store_bytes),
                            columns_));
    if (!state_.trouble.empty()) {
      lines_.push_back(terminal_.paint(Colour::red, cut_to(state_.trouble, columns_)));
    } else if (!troubles.empty()) {
      lines_.push_back(terminal_.paint(Colour::red, cut_to(troubles.front(), columns_)));
    }
    lines_.push_back(terminal_.paint(Colour::faint, sparkline(now_.series, columns_)));
  }

  void add_title(const std::string& text) { lines_.push_back(terminal_.paint(Colour::bold, cut_to(text, columns_))); }

  std::vector<RuleRow> chosen_rules() const {
    std::vector<RuleRow> rules;
    for (const RuleRow& each : now_.rules) {
      if (contains(each.rule, state_.filter)) rules.push_back(each);
    }
    std::stable_sort(rules.begin(), rules.end(), [&](const RuleRow& left, const RuleRow& right) {
      if (state_.sort == TopSort::name) return left.rule < right.rule;
      return state_.sort == TopSort::passed ? left.passed > right.passed : left.denied > right.denied;
    });
    return rules;
  }

  // With its title, at most so many lines.
  void add_rules(std::size_t most) {
    constexpr std::size_t kNumbers = 3 * 9 + 10;
    const std::size_t name = columns_ - kNumbers;
    add_title(cell("RULE", name) + right("PASSED/s", 9) + right("DENIED/s", 9) + right("SHADOW/s", 9) + "  MODE");
    std::size_t shown = 1;
    for (const RuleRow& rule : chosen_rules()) {
      if (shown++ == most) break;
      std::string line = cell(rule.rule, name) + right(rate_text(rule.passed), 9) + right(rate_text(rule.denied), 9) +
                         right(rate_text(rule.shadow_denied), 9) + "  " +
                         cut_to(rule.fallback ? "fallback" : rule.mode, 8);
      if (rule.fallback) {
        line = terminal_.paint(Colour::yellow, line);
      } else if (rule.denied >= 0.05) {
        line = terminal_.paint(Colour::red, line);
      }
      lines_.push_back(std::move(line));
    }
    if (shown > 1) return;
    const bool hidden = !now_.rules.empty();
    const std::string none = hidden ? "no rule with recent requests contains \"" + state_.filter + "\""
                                    : "no rule has counted a request recently";
    lines_.push_back(terminal_.paint(Colour::faint, cut_to(none, columns_)));
  }

  // Three columns: most denied, close to their limit, asking most.
  void add_subjects(std::size_t most) {
    if (most < 2) return;
    const std::size_t width = (columns_ - 4) / 3;
    add_title(cell("MOST DENIED", width) + "  " + cell("NEAR LIMIT", width) + "  " + cell("HOT", width));
    const std::vector<std::string> denied = texts_of(now_.denied_subjects, width, &TopScreen::rate_of);
    const std::vector<std::string> close = texts_of(now_.near_limit, width, &TopScreen::share_of);
    const std::vector<std::string> hot = texts_of(now_.hot_subjects, width, &TopScreen::rate_of);
    const std::size_t rows = std::min(most - 1, std::max({denied.size(), close.size(), hot.size()}));
    const auto at = [&](const std::vector<std::string>& list, std::size_t row) {
      return row < list.size() ? list[row] : std::string(width, ' ');
    };
    for (std::size_t row = 0; row < rows; ++row)
      lines_.push_back(at(denied, row) + "  " + at(close, row) + "  " + at(hot, row));
    if (rows == 0) lines_.push_back(terminal_.paint(Colour::faint, "no subjects"));
  }

  static std::string rate_of(const SubjectRow& row) { return rate_text(row.value) + "/s"; }
  static std::string share_of(const SubjectRow& row) { return percent_text(row.value); }

  std::vector<std::string> texts_of(const std::vector<SubjectRow>& rows, std::size_t width,
                                    std::string (*value)(const SubjectRow&)) const {
    std::vector<std::string> texts;
    for (const SubjectRow& row : rows) {
      if (!contains(row.subject, state_.filter) && !contains(row.rule, state_.filter)) continue;
      const std::string number = value(row);
      const std::size_t left = width - std::min(width, columns_of(number) + 1);
      texts.push_back(cell(row.subject + " " + row.rule, left) + " " + number);
    }
    return texts;
  }

  void add_help() {
    for (const char* line :
         {"", "q  quit", "p  pause or continue", "s  sort rules by denied, passed or name",
          "/  show only rules and subjects that contain a text; Enter finishes, Esc clears", "h  this help", ""}) {
      lines_.push_back(cut_to(line, columns_));
    }
  }

  void add_keys() {
    std::string keys = "q quit  p pause  s sort: " + std::string(top_sort_name(state_.sort)) + "  / filter";
    if (state_.typing) {
      keys = "filter: " + state_.filter + "_";
    } else if (!state_.filter.empty()) {
      keys += ": " + state_.filter;
    }
    if (!state_.typing) keys += "  h help";
    lines_.push_back(terminal_.paint(Colour::faint, cut_to(keys, columns_)));
  }

  const Overview& now_;
  const TopState& state_;
  const std::size_t columns_;
  const std::size_t rows_;
  const Terminal& terminal_;
  std::vector<std::string> lines_;
};

}  // namespace

std::string_view top_sort_name(TopSort sort) {
  if (sort == TopSort::name) return "name";
  return sort == TopSort::passed ? "passed" : "denied";
}

std::vector<std::string> top_screen(const Overview& now, const TopState& state, int columns, int rows,
                                    const Terminal& terminal) {
  return TopScreen(now, state, columns, rows, terminal).lines();
}

}  // namespace weir::cli
