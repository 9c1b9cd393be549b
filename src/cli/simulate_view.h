// How `weir rules simulate` shows progress and its report to people.
#pragma once

#include <cstdint>

#include "cli/terminal.h"
#include "simulate/report.h"
#include "weir/time.h"

namespace weir::cli {

// A bar on standard error if that is a terminal, else nothing. Clears it when it ends.
class SimulateProgress {
 public:
  explicit SimulateProgress(const Terminal& terminal) : terminal_(terminal) {}
  ~SimulateProgress();
  SimulateProgress(const SimulateProgress&) = delete;
  SimulateProgress& operator=(const SimulateProgress&) = delete;

  // `done` of `all` bytes; `all` 0: not known.
  void show(Duration elapsed, std::uint64_t lines, std::uint64_t done, std::uint64_t all);
  // In place of the bar.
  void say(std::string_view text);

 private:
  const Terminal& terminal_;
  bool shown_ = false;
};

void show_report(const simulate::Report& report, const Terminal& terminal);

}  // namespace weir::cli
