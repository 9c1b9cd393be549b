// PostgresConnection: a connection to PostgreSQL, through libpq.
//
// A batch is one round trip (pipeline mode), and BEGIN travels with the first one. No statement waits beyond the
// deadline, also when the network is cut: the socket is polled, and a server that does not answer in time counts as
// lost. Connecting may take `connect_timeout` of the URL (2 s) for each of its hosts.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "database/connection.h"

struct pg_conn;
struct pg_result;

namespace weir::database {

class PostgresConnection final : public Connection {
 public:
  // A URL for libpq (postgres://user:password@host:port/database?sslmode=verify-full). Unless it says otherwise, of
  // several hosts the one that accepts writes is used, and a peer that is gone is noticed within seconds.
  explicit PostgresConnection(std::string url);
  ~PostgresConnection() override;

  Dialect dialect() const override { return Dialect::postgres; }
  Result<std::vector<Rows>> run(const Batch& batch) override;
  Status run_script(const std::string& sql) override;
  using Session::run;

  bool is_open() const override { return connection_ != nullptr; }
  Status open(Deadline deadline) override;
  void close() override;
  void set_deadline(Deadline deadline) override { deadline_ = deadline; }
  Status begin(Access access) override;
  Committed commit(Failure& failure) override;
  void rollback() override;
  Trouble trouble() const override { return trouble_; }

 private:
  struct Free {
    void operator()(pg_result* result) const;
  };
  using Answer = std::unique_ptr<pg_result, Free>;

  // What was sent in a pipeline, in order.
  struct Sent {
    enum class Kind : std::uint8_t { begin, preparation, step };
    Kind kind;
    const Statement* statement = nullptr;
  };

  Status prepare_session();
  Result<std::vector<Sent>> send(const Batch& batch);
  bool send_preparation(const Step& step, const Statement* statement, std::string& name);
  bool send_step(const Step& step);
  Result<std::vector<Rows>> take_answers(const std::vector<Sent>& sent);
  // Sends what is still buffered and waits until an answer can be taken. Null: the end of one statement's answers.
  Result<Answer> next_answer();
  // Outside a pipeline. The first column of the last row, if any.
  Result<std::string> simple(const char* sql);
  // The connection is of no use any more.
  Failure lost(const std::string& what);
  Failure refused(const pg_result* result);

  const std::string url_;
  pg_conn* connection_ = nullptr;
  std::map<const Statement*, std::string> prepared_;  // and its name in the server
  std::size_t names_given_ = 0;
  bool writes_ = false;         // what the transaction may do
  bool begun_ = false;          // BEGIN was sent
  bool begin_pending_ = false;  // and goes with the first batch
  Deadline deadline_{};
  Trouble trouble_ = Trouble::none;
};

}  // namespace weir::database
