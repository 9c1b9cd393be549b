// serve(): a server in the foreground, from start to signal. What `weir serve` runs.
#pragma once

#include <iosfwd>

#include "server/config.h"
#include "weir/result.h"

namespace weir::server {

struct Console {
  std::ostream& out;          // addresses and a command to try, unless the log is for machines
  bool coloured_log = false;  // standard error is a terminal that takes colours
};

// Returns when SIGTERM or SIGINT has come and the server has drained; a second one ends the process at once. SIGHUP
// reads the rules again. Failures are those of Server::start.
Status serve(const Config& config, const Console& console);

}  // namespace weir::server
