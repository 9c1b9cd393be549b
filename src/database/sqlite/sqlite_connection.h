// SqliteConnection: the embedded database. A file with a write-ahead log; every commit is on disk before it is
// acknowledged (synchronous=FULL).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "database/connection.h"

struct sqlite3;
struct sqlite3_stmt;

namespace weir::database {

class SqliteConnection final : public Connection {
 public:
  // The file is made, readable only by its owner, if there is none and `access` is write. Its folder must exist.
  SqliteConnection(std::string path, Access access);
  ~SqliteConnection() override;

  Dialect dialect() const override { return Dialect::sqlite; }
  Result<std::vector<Rows>> run(const Batch& batch) override;
  Status run_script(const std::string& sql) override;
  using Session::run;

  bool is_open() const override { return handle_ != nullptr; }
  Status open(Deadline deadline) override;
  void close() override;
  void set_deadline(Deadline deadline) override;
  Status begin(Access access) override;
  Committed commit(Failure& failure) override;
  void rollback() override;
  Trouble trouble() const override { return trouble_; }

  // Copies the database, as it is now, to a file that does not exist yet. Other connections may go on writing. Not
  // inside a transaction.
  Status copy_to(const std::string& path);

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Prepared = std::unique_ptr<sqlite3_stmt, Finalize>;

  Result<sqlite3_stmt*> prepare(const Statement& statement);
  Result<Rows> run_step(const Step& step);
  // Appends the rows of the answer.
  Status run_with(const Statement& what, const Row& values, Rows& rows);
  // What sqlite3 said last, in our terms. Sets trouble_.
  Failure failure();
  Status script(const char* sql);

  const std::string path_;
  const Access access_;
  sqlite3* handle_ = nullptr;
  std::map<const Statement*, Prepared> prepared_;
  Deadline deadline_{};
  Trouble trouble_ = Trouble::none;
};

}  // namespace weir::database
