// Which database a verb works on: --database and --data-dir, as in the server's settings. Verbs open it beside a server
// that runs: SQLite and PostgreSQL let several processes in, and the data_dir's lock is about its other files.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "database/database.h"
#include "weir/result.h"

namespace weir::cli {

struct DatabaseOption {
  std::string database = "sqlite:weir.db";
  std::string data_dir;

  void add_to(Command& verb);
  // Failures: invalid_argument; not_found (an SQLite file that does not exist is not made).
  Result<std::unique_ptr<database::Database>> open(bool may_make = false) const;
};

}  // namespace weir::cli
