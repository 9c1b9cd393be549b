// Connection: a Session with what its Worker needs to open it and to end transactions. One implementation per database.
//
// Belongs to one thread at a time.
#pragma once

#include <chrono>
#include <cstdint>

#include "database/session.h"

namespace weir::database {

// What a transaction may do. Readers see one state of the database from their first statement to their last.
enum class Access : std::uint8_t { read, write };

class Connection : public Session {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // What the last failure means for the transaction and the connection.
  enum class Trouble : std::uint8_t {
    none,
    conflict,  // with another transaction: nothing was done, and it can be tried again
    lost,      // the connection is gone; nothing was done, unless a commit says otherwise
    refused,   // anything else: trying again would fail again
  };

  // How a commit ended. `unknown`: the answer was lost, so it may or may not have been done.
  enum class Committed : std::uint8_t { yes, no, unknown };

  virtual bool is_open() const = 0;
  // Precondition: !is_open().
  virtual Status open(Deadline deadline) = 0;
  virtual void close() = 0;

  // Statements wait no longer than this.
  virtual void set_deadline(Deadline deadline) = 0;

  // Precondition: is_open(), and no transaction has begun.
  virtual Status begin(Access access) = 0;
  virtual Committed commit(Failure& failure) = 0;
  virtual void rollback() = 0;

  virtual Trouble trouble() const = 0;
};

}  // namespace weir::database
