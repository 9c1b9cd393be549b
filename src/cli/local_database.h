// The database of a server on this machine, for verbs that work without the server: its settings are read as
// `weir serve` reads them.
#pragma once

#include <memory>
#include <string>

#include "cli/command.h"
#include "control/actor.h"
#include "database/database.h"
#include "weir/result.h"

namespace weir::cli {

// As given on the command line; an empty text: not given.
struct LocalDatabaseOptions {
  std::string config;
  std::string data_dir;
  std::string database;
};

// Adds --config, --data-dir and --database.
void add_local_database_options(Command& verb, LocalDatabaseOptions& options);

struct LocalDatabase {
  std::unique_ptr<database::Database> database;
  std::string shown;  // where it is, for people
  std::string node;
};

// Opened, with tables as this program expects them. A server may be running on it.
Result<LocalDatabase> open_local_database(const LocalDatabaseOptions& options);

// Who runs this program: "cli:ada".
control::Actor local_actor();

}  // namespace weir::cli
