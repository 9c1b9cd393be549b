#include "database/postgres/postgres_url.h"

#include <libpq-fe.h>

#include <memory>

namespace weir::database {
namespace {

struct Free {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
  void operator()(char* text) const { PQfreemem(text); }
};

std::string value_of(const PQconninfoOption* options, std::string_view keyword) {
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (keyword == option->keyword && option->val != nullptr) return option->val;
  }
  return {};
}

// libpq's messages may quote the URL, with its password, behind a colon.
std::string harmless_part(const char* message) {
  std::string text(message == nullptr ? "not a valid URL" : message);
  const std::size_t quoted = text.find('"');
  if (quoted != std::string::npos) text.resize(quoted);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == ':')) text.pop_back();
  return text;
}

}  // namespace

bool is_postgres_url(std::string_view text) {
  return text.starts_with("postgres://") || text.starts_with("postgresql://");
}

Result<std::string> shown_postgres_url(const std::string& url) {
  char* said = nullptr;
  const std::unique_ptr<PQconninfoOption, Free> options(PQconninfoParse(url.c_str(), &said));
  const std::unique_ptr<char, Free> message(said);
  if (!options) {
    return Failure{Code::invalid_argument, "not a URL that PostgreSQL understands (" + harmless_part(said) +
                                               "); expected postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…"};
  }
  const std::string user = value_of(options.get(), "user");
  const std::string host = value_of(options.get(), "host");
  const std::string port = value_of(options.get(), "port");
  return "postgres://" + (user.empty() ? "" : user + "@") + host + (port.empty() ? "" : ":" + port) + "/" +
         value_of(options.get(), "dbname");
}

}  // namespace weir::database
