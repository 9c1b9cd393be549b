// A report as one HTML page that needs nothing else: styles and charts (SVG) are in it, and it has no scripts. It
// follows the reader's choice of light or dark. Pure.
#pragma once

#include <string>

#include "simulate/report.h"

namespace weir::simulate {

std::string report_html(const Report& report);

}  // namespace weir::simulate
