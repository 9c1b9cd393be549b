// A report as one JSON object, for machines; its members are listed in docs/simulate.md. Pure.
#pragma once

#include <string>

#include "simulate/report.h"

namespace weir::simulate {

std::string report_json(const Report& report);

// "2026-11-18T04:31:12.345Z"; "null" for the epoch, which means never.
std::string time_or_null(TimePoint time);

}  // namespace weir::simulate
