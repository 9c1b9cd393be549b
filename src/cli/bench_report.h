// How `weir bench` shows progress and results.
#pragma once

#include <cstdint>

#include "cli/load.h"
#include "cli/terminal.h"

namespace weir::cli {

// Shows one changing line on standard error if that is a terminal, else nothing. Clears it when it ends.
class ProgressLine {
 public:
  ProgressLine(const Terminal& terminal, Duration total) : terminal_(terminal), total_(total) {}
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(Duration elapsed, std::uint64_t done);

 private:
  const Terminal& terminal_;
  const Duration total_;
  bool shown_ = false;
};

// Precondition: some requests were answered.
void report_load(const LoadPlan& plan, const LoadResult& result, bool json, const Terminal& terminal);

struct LocalResult {
  std::uint64_t allowed = 0;
  std::uint64_t total = 0;
  Duration took{};
};
void report_local(const LocalResult& result, bool json, const Terminal& terminal);

}  // namespace weir::cli
