// Serves the web console at /console. Its page answers every address below that, so that a link to a screen works; the
// page asks the admin API for everything else, so the files themselves need no token.
#pragma once

#include <span>

#include "console/console_files.h"
#include "frontends/http/router.h"

namespace weir::console {

// How to get a console, where the program was built without one. One line.
inline constexpr std::string_view kHowToGet =
    "this build has no console: run `make console` where npm and its registry can be reached, and start again";

// `files` outlive the router.
void add_console_routes(http::Router& router, std::span<const ConsoleFile> files);

}  // namespace weir::console
