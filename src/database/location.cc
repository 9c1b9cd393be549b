#include "database/location.h"

#include <cassert>

#include "database/postgres/postgres_connection.h"
#include "database/postgres/postgres_url.h"
#include "database/sqlite/sqlite_connection.h"

namespace weir::database {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

}  // namespace

Result<Location> parse_location(std::string_view text, const std::filesystem::path& data_dir) {
  if (text == "off") return Location{Location::Kind::off, "", "off"};
  if (text.starts_with(kSqlite)) {
    const std::string_view path = text.substr(kSqlite.size());
    // With a query or a fragment, SQLite would read it as a URI; in memory, nothing would be durable.
    if (path.empty() || path == ":memory:" || path.starts_with("//") || path.back() == '/' ||
        path.find('\0') != std::string_view::npos) {
      return Failure{Code::invalid_argument, "expected a path behind sqlite:, such as sqlite:weir.db"};
    }
    const std::string file = (data_dir / path).lexically_normal().string();
    return Location{Location::Kind::sqlite, file, "sqlite:" + file};
  }
  if (is_postgres_url(text)) {
    Result<std::string> shown = shown_postgres_url(std::string(text));
    if (!shown.ok()) return shown.failure();
    return Location{Location::Kind::postgres, std::string(text), std::move(shown).value()};
  }
  return Failure{Code::invalid_argument, "expected sqlite:PATH, postgres://USER@HOST/DATABASE, or off"};
}

std::unique_ptr<Database> make_database(const Location& location, ThreadCounts threads, const Limits& limits) {
  assert(location.kind != Location::Kind::off);
  const std::string address = location.address;
  if (location.kind == Location::Kind::sqlite) {
    threads.writers = 1;
    const auto make = [address](Access access) -> std::unique_ptr<Connection> {
      return std::make_unique<SqliteConnection>(address, access);
    };
    return std::make_unique<Database>(Dialect::sqlite, location.shown, threads, make, limits);
  }
  const auto make = [address](Access) -> std::unique_ptr<Connection> {
    return std::make_unique<PostgresConnection>(address);
  };
  return std::make_unique<Database>(Dialect::postgres, location.shown, threads, make, limits);
}

}  // namespace weir::database
