#include "cli/database_option.h"

#include <cstdlib>
#include <filesystem>

#include "database/location.h"

namespace weir::cli {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// As the server chooses it.
std::filesystem::path default_folder() {
  if (const std::string folders = variable("STATE_DIRECTORY"); !folders.empty()) {
    return folders.substr(0, folders.find(':'));
  }
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) return state + "/weir";
  const std::string home = variable("HOME");
  return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".local/state/weir";
}

}  // namespace

void DatabaseOption::add_to(Command& verb) {
  if (const std::string set = variable("WEIR_DATABASE"); !set.empty()) database = set;
  if (const std::string set = variable("WEIR_DATA_DIR"); !set.empty()) data_dir = set;
  verb.text("--database", database, "The server's database: sqlite:PATH or postgres://… [WEIR_DATABASE]").value("URL");
  verb.text("--data-dir", data_dir, "Folder that a relative SQLite path is in [WEIR_DATA_DIR]").value("PATH");
}

Result<std::unique_ptr<database::Database>> DatabaseOption::open(bool may_make) const {
  const std::filesystem::path folder = data_dir.empty() ? default_folder() : std::filesystem::path(data_dir);
  const Result<database::Location> location = database::parse_location(database, folder);
  if (!location.ok()) return location.failure();
  using Kind = database::Location::Kind;
  if (location.value().kind == Kind::off) {
    return Failure{Code::invalid_argument, "--database: is off, expected sqlite:PATH or postgres://…"};
  }
  if (location.value().kind == Kind::sqlite && !may_make && !std::filesystem::exists(location.value().address)) {
    return Failure{Code::not_found, location.value().shown +
                                        ": no such database; say where it is with --database or "
                                        "--data-dir"};
  }
  return database::make_database(location.value());
}

}  // namespace weir::cli
