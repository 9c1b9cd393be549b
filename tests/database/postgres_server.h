// PostgresServer: a real PostgreSQL for tests, in a temporary folder, reached through a Unix socket there (or, if asked
// for, a TCP port). It runs as the user nobody when the test is root's, because it refuses to run as root, and dies
// with the object.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/support/child_process.h"
#include "tests/support/temporary_folder.h"

namespace weir::database::tests {

class PostgresServer {
 public:
  // `settings`: such as "fsync=on". Without them nothing is forced to disk: these tests kill the server, not the
  // machine.
  explicit PostgresServer(std::vector<std::string> settings = {}, int tcp_port = 0);
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // One that the process shares, started when it is first asked for.
  static PostgresServer& shared();

  // The URL of a database that was empty until now.
  std::string fresh_database();
  std::string url(const std::string& database) const;
  std::filesystem::path folder() const { return folder_.path(); }

  void kill();   // SIGKILL, all of its processes at once
  void start();  // after kill()
  void freeze();
  void thaw();

  // Runs one statement on the side; throws if it fails. The first column of the first row, if any.
  std::string ask(const std::string& database, const std::string& sql);

 private:
  std::vector<pid_t> processes() const;

  rules::TemporaryFolder folder_;
  const std::vector<std::string> settings_;
  const int tcp_port_;
  const passwd* user_;
  pid_t pid_ = -1;
  int databases_ = 0;
};

}  // namespace weir::database::tests
