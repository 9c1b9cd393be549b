// Server: everything put together. The only place that knows all rooms.
//
//   Result<std::unique_ptr<Server>> server = Server::start(config, clock, log);
//   …                       // it serves, on its own threads
//   server.value()->drain();
//
// Rules, store and counters are shared; each loop has an engine of its own. start(), drain() and the destructor belong
// to one thread; the rest may be called from any. Borrows the log.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "observe/log.h"
#include "server/config.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class Server {
 public:
  // Listens when it returns. Failures: invalid_argument (rules or hash key do not hold up), already_exists (an address
  // is in use), unavailable (the system refuses).
  static Result<std::unique_ptr<Server>> start(const Config& config, std::shared_ptr<ProcessClock> clock,
                                               observe::Log& log);
  // Closes everything at once, without a snapshot, if drain() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where a listener ("http", "grpc", "resp", "spop", "admin") listens, with the port that was taken; "off" if it does
  // not.
  const std::string& address(std::string_view listener) const;

  // Reads the rules, certificates, keys and revocations again, as the server does by itself when a file changes. On
  // failure, which is logged, those in force stay.
  Status reload();

  // Stops accepting, lets connections finish within drain_timeout, writes the snapshot. Idempotent.
  void drain();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace weir::server
