// Backend: a fresh, empty database for a test that both kinds must pass. The tests are value-parameterized by its kind.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "database/location.h"
#include "tests/database/postgres_server.h"

namespace weir::database::tests {

class Backend {
 public:
  explicit Backend(Dialect dialect) {
    const std::string text = dialect == Dialect::sqlite ? "sqlite:test.db" : PostgresServer::shared().fresh_database();
    location_ = parse_location(text, folder_.path()).value();
  }

  const Location& location() const { return location_; }
  std::unique_ptr<Database> open(ThreadCounts threads = {}, const Limits& limits = {}) const {
    return make_database(location_, threads, limits);
  }

 private:
  rules::TemporaryFolder folder_;
  Location location_;
};

inline std::string dialect_name(const ::testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "Sqlite" : "Postgres";
}

inline const auto kBothDatabases = ::testing::Values(Dialect::sqlite, Dialect::postgres);

// Fails the test with the message of a failure.
template <typename T>
::testing::AssertionResult succeeded(const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "code " << static_cast<int>(result.failure().code) << ": "
                                       << result.failure().message;
}
inline ::testing::AssertionResult succeeded(const Outcome& outcome) { return succeeded(outcome.status); }

}  // namespace weir::database::tests
