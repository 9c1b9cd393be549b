#include "cli/local_database.h"

#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "database/location.h"
#include "server/config.h"
#include "server/migrations.h"

namespace weir::cli {

void add_local_database_options(Command& verb, LocalDatabaseOptions& options) {
  verb.text("--config", options.config, "Configuration file of the server (variable WEIR_CONFIG)").value("PATH");
  verb.text("--data-dir", options.data_dir, "Folder of the server, as for weir serve").value("PATH");
  verb.text("--database", options.database, "Database of the server, as for weir serve").value("URL");
}

Result<LocalDatabase> open_local_database(const LocalDatabaseOptions& options) {
  server::ConfigSources sources;
  sources.variable = [](const std::string& name) -> const char* { return std::getenv(name.c_str()); };
  const char* const file = std::getenv("WEIR_CONFIG");
  sources.file = options.config.empty() && file != nullptr ? file : options.config;
  if (!options.data_dir.empty()) sources.flags.emplace_back("data_dir", options.data_dir);
  if (!options.database.empty()) sources.flags.emplace_back("database", options.database);
  const Result<server::Config> config = server::load_config(sources);
  if (!config.ok()) return Failure{Code::invalid_argument, config.failure().message};
  const std::filesystem::path& folder = config.value().data_dir;
  const Result<database::Location> location = database::parse_location(config.value().database, folder);
  if (!location.ok()) return location.failure();
  using Kind = database::Location::Kind;
  if (location.value().kind == Kind::off) {
    return Failure{Code::failed_precondition, "database: is off, so there is nothing to change"};
  }
  if (location.value().kind == Kind::sqlite && !std::filesystem::path(location.value().address).is_absolute()) {
    return Failure{Code::invalid_argument, "data_dir: is not known; set --data-dir"};
  }
  if (!folder.empty() && location.value().kind == Kind::sqlite) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
    if (error) return Failure{Code::unavailable, "data_dir: " + folder.string() + ": " + error.message()};
  }
  LocalDatabase local{database::make_database(location.value()), location.value().shown, config.value().node_name};
  if (local.node.empty()) {
    char name[256] = {};
    if (::gethostname(name, sizeof name - 1) == 0) local.node = name;
  }
  ProcessClock clock;
  const auto migrated = database::migrate(*local.database, server::all_migrations(), clock.wall());
  if (!migrated.ok()) return Failure{migrated.failure().code, local.shown + ": " + migrated.failure().message};
  return local;
}

control::Actor local_actor() {
  const passwd* const user = ::getpwuid(::getuid());
  return {"cli:" + (user != nullptr ? std::string(user->pw_name) : std::to_string(::getuid())), control::Role::admin,
          ""};
}

}  // namespace weir::cli
