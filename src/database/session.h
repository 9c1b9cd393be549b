// Session: statements inside one transaction. A Database gives one to the work that it runs.
//
//   const Statement kAdd{"INSERT INTO note (id, text) VALUES ($1, $2)"};
//   Batch batch;
//   batch.add(kAdd, std::int64_t{1}, "one");
//   batch.add(kAdd, std::int64_t{2}, "two");
//   Result<std::vector<Rows>> answers = session.run(batch);        // PostgreSQL: one round trip
//
// Statements are written once for both databases, in the part of SQL that both understand, with $1, $2 … for values.
// SELECT … FOR UPDATE may be written at the end of a statement and is left out for SQLite, where a transaction that
// writes has the whole database to itself.
//
// A change of many rows is one SetStatement: PostgreSQL does it with one statement over arrays, which costs a fraction
// of as many statements.
//
// A session and its batches belong to the thread that runs the work.
#pragma once

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "database/value.h"
#include "weir/result.h"

namespace weir::database {

enum class Dialect : std::uint8_t { sqlite, postgres };

// Prepared once per connection and found again by its address: statements are constants.
struct Statement {
  std::string_view text;
};

// One statement for many rows of values. SQLite runs `one` for each row. PostgreSQL runs `many` once; its $1 is an
// array of the first values of all rows, $2 of the second ones, and so on: unnest($1::bigint[], $2::text[]) is the rows
// again. The answer has the rows of all, in no particular order.
struct SetStatement {
  Statement one;
  Statement many;
};

struct Step {
  const Statement* statement;
  Row values;
  // Of a set: `values` is empty.
  const Statement* many = nullptr;
  Rows rows = {};
};

// Statements that run one after the other. If one fails, those after it do not run, and the transaction is over.
class Batch {
 public:
  template <typename... Values>
  void add(const Statement& statement, Values&&... values) {
    Row row;
    row.reserve(sizeof...(values));
    (row.emplace_back(std::forward<Values>(values)), ...);
    steps_.push_back({&statement, std::move(row)});
  }
  void add_row(const Statement& statement, Row values) { steps_.push_back({&statement, std::move(values)}); }
  // Precondition: there are rows, each has as many values as the statement takes, and those of a column are of one
  // kind.
  void add_set(const SetStatement& statement, Rows rows) {
    assert(!rows.empty());
    steps_.push_back({&statement.one, {}, &statement.many, std::move(rows)});
  }

  // False if a text contains a zero byte, which PostgreSQL cannot store.
  bool storable() const;

  const std::vector<Step>& steps() const { return steps_; }
  bool empty() const { return steps_.empty(); }
  std::size_t size() const { return steps_.size(); }

 private:
  std::vector<Step> steps_;
};

// For such a batch.
Failure not_storable();

class Session {
 public:
  virtual ~Session() = default;

  virtual Dialect dialect() const = 0;

  // The rows of each statement, in order. Failures: aborted (a conflict with another transaction; the work will be run
  // again), unavailable (the connection is lost), deadline_exceeded, already_exists (a unique key), failed_precondition
  // (another constraint, or a trigger), invalid_argument (not storable), resource_exhausted (no space),
  // permission_denied, data_loss, internal.
  virtual Result<std::vector<Rows>> run(const Batch& batch) = 0;

  // Several statements without values, separated by semicolons: migrations.
  virtual Status run_script(const std::string& sql) = 0;

  template <typename... Values>
  Result<Rows> run(const Statement& statement, Values&&... values) {
    Batch batch;
    batch.add(statement, std::forward<Values>(values)...);
    Result<std::vector<Rows>> answers = run(batch);
    if (!answers.ok()) return answers.failure();
    return std::move(answers.value().front());
  }
};

}  // namespace weir::database
