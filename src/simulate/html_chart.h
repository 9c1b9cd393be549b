// Charts as SVG, for pages without scripts. Colours are classes of the page. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/time.h"

namespace weir::simulate {

// &, <, > and quotation marks escaped; what is not UTF-8 replaced.
std::string html_text(std::string_view text);

// "1,234,567"
std::string grouped_number(std::uint64_t number);

// Bars over time, each of a part in front of the whole: `part` in colour, the rest behind it.
struct BarSeries {
  std::string title;
  TimePoint start{};
  Duration step{0};
  std::vector<std::uint64_t> whole;  // empty: only the parts
  std::vector<std::uint64_t> part;
};
std::string bar_chart(const BarSeries& series);

// Horizontal bars: one line for each name.
struct RankedBar {
  std::string name;
  std::uint64_t now = 0;
  std::uint64_t then = 0;
};
std::string ranked_chart(const std::vector<RankedBar>& bars, bool two_sets);

}  // namespace weir::simulate
