#include "simulate/html_chart.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/json_text.h"
#include "observe/log.h"

namespace weir::simulate {
namespace {

constexpr double kWidth = 960;
constexpr double kHeight = 180;
constexpr double kLeft = 64;
constexpr double kBottom = 24;

std::string coordinate(double value) {
  std::array<char, 32> room{};
  std::snprintf(room.data(), room.size(), "%.1f", value);
  return room.data();
}

std::string rectangle(double x, double y, double width, double height, std::string_view colour,
                      std::string_view title) {
  return "<rect class=\"" + std::string(colour) + "\" x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) +
         "\" width=\"" + coordinate(width) + "\" height=\"" + coordinate(height) + "\"><title>" + html_text(title) +
         "</title></rect>";
}

std::string label(double x, double y, std::string_view anchor, std::string_view text) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\" text-anchor=\"" + std::string(anchor) + "\">" +
         html_text(text) + "</text>";
}

// "2026-11-18 04:31:12"
std::string short_time(TimePoint time) {
  std::string text = observe::rfc3339(time).substr(0, 19);
  text[10] = ' ';
  return text;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string plain;
  base::append_plain_line(plain, text);
  std::string out;
  for (const char c : plain) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

std::string grouped_number(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string bar_chart(const BarSeries& series) {
  std::uint64_t most = 1;
  for (const std::uint64_t each : series.whole.empty() ? series.part : series.whole) most = std::max(most, each);
  const std::size_t steps = std::max<std::size_t>(1, series.part.size());
  const double bar = (kWidth - kLeft) / static_cast<double>(steps);
  const double space = kHeight - kBottom - 8;
  std::string out = "<svg role=\"img\" viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(kHeight) +
                    "\" aria-label=\"" + html_text(series.title) + "\">";
  out += label(kLeft - 6, 14, "end", grouped_number(most)) + label(kLeft - 6, kHeight - kBottom, "end", "0");
  out += "<line x1=\"" + coordinate(kLeft) + "\" x2=\"" + coordinate(kWidth) + "\" y1=\"" +
         coordinate(kHeight - kBottom) + "\" y2=\"" + coordinate(kHeight - kBottom) + "\"/>";
  const auto height_of = [&](std::uint64_t value) {
    return space * static_cast<double>(value) / static_cast<double>(most);
  };
  for (std::size_t i = 0; i < series.part.size(); ++i) {
    const double x = kLeft + bar * static_cast<double>(i);
    const std::string when = short_time(series.start + series.step * static_cast<std::int64_t>(i));
    const double width = std::max(0.5, bar - (bar > 3 ? 1 : 0));
    if (!series.whole.empty() && series.whole[i] > 0) {
      const double height = height_of(series.whole[i]);
      out += rectangle(x, kHeight - kBottom - height, width, height, "whole",
                       when + ": " + grouped_number(series.whole[i]) + " requests");
    }
    if (series.part[i] > 0) {
      const double height = std::max(1.0, height_of(series.part[i]));
      out += rectangle(x, kHeight - kBottom - height, width, height, "part",
                       when + ": " + grouped_number(series.part[i]) + " denied");
    }
  }
  const TimePoint end = series.start + series.step * static_cast<std::int64_t>(steps);
  out +=
      label(kLeft, kHeight - 6, "start", short_time(series.start)) + label(kWidth, kHeight - 6, "end", short_time(end));
  return out + "</svg>";
}

std::string ranked_chart(const std::vector<RankedBar>& bars, bool two_sets) {
  constexpr double kLine = 26;
  constexpr double kName = 260;
  std::uint64_t most = 1;
  for (const RankedBar& each : bars) most = std::max({most, each.now, each.then});
  const double height = kLine * static_cast<double>(bars.size()) + 4;
  std::string out = "<svg role=\"img\" viewBox=\"0 0 " + coordinate(kWidth) + " " + coordinate(height) +
                    "\" aria-label=\"Denials by rule\">";
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const RankedBar& each = bars[i];
    const double y = kLine * static_cast<double>(i);
    const auto width_of = [&](std::uint64_t value) {
      return std::max(value > 0 ? 1.0 : 0.0,
                      (kWidth - kName - 90) * static_cast<double>(value) / static_cast<double>(most));
    };
    out += label(kName - 8, y + 17, "end", each.name.size() > 36 ? each.name.substr(0, 35) + "…" : each.name);
    if (two_sets) out += rectangle(kName, y + 4, width_of(each.now), 8, "whole", "now: " + grouped_number(each.now));
    out += rectangle(kName, y + (two_sets ? 13 : 6), width_of(each.then), two_sets ? 8 : 14, "part",
                     (two_sets ? "then: " : "denied: ") + grouped_number(each.then));
    out += label(kName + width_of(std::max(each.now, each.then)) + 6, y + 17, "start", grouped_number(each.then));
  }
  return out + "</svg>";
}

}  // namespace weir::simulate
