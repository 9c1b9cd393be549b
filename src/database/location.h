// Location: where the database is, from the setting `database`: `sqlite:weir.db`, `postgres://…` or `off`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "database/database.h"
#include "weir/result.h"

namespace weir::database {

struct Location {
  enum class Kind : std::uint8_t { off, sqlite, postgres };
  Kind kind = Kind::off;
  std::string address;  // the path of a file, or a URL that may contain a password
  std::string shown;    // for logs and people: without a password
};

// A relative path of SQLite is below `data_dir`. Failure: invalid_argument; its message does not repeat a password.
Result<Location> parse_location(std::string_view text, const std::filesystem::path& data_dir);

// How many threads a database gets. SQLite has one writer, whatever is asked for.
// Nothing is opened until there is work. Precondition: the location is not `off`.
std::unique_ptr<Database> make_database(const Location& location, ThreadCounts threads = {}, const Limits& limits = {});

}  // namespace weir::database
