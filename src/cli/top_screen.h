// The screen of `weir top` as text: pure functions, so that every size can be tested.
#pragma once

#include <string>
#include <vector>

#include "cli/overview_view.h"
#include "cli/terminal.h"

namespace weir::cli {

enum class TopSort { denied, passed, name };
std::string_view top_sort_name(TopSort sort);

// What the person at the terminal has chosen.
struct TopState {
  TopSort sort = TopSort::denied;
  std::string filter;   // rules and subjects whose text contains it
  bool typing = false;  // the filter is being typed
  bool paused = false;
  bool help = false;
  std::string trouble;  // why the figures are not new; empty: they are
};

inline constexpr int kLeastColumns = 40;
inline constexpr int kLeastRows = 10;

// At most `rows` lines of at most `columns` columns each, colours not counted.
std::vector<std::string> top_screen(const Overview& now, const TopState& state, int columns, int rows,
                                    const Terminal& terminal);

}  // namespace weir::cli
