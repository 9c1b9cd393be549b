// Server: all modules put together (module.h). server.cc lists them.
//
//   Result<std::unique_ptr<Server>> server = Server::start(config, clock, log);
//   …                       // it serves, on its own threads
//   server.value()->drain();
//
// Rules and store are shared; each loop has an engine and counters of its own. start(), drain() and the destructor are
// for one thread; the rest may be called from any. Borrows the log.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "observe/log.h"
#include "server/config.h"
#include "weir/result.h"
#include "weir/time.h"

namespace weir::server {

class Server {
 public:
  // Listens when it returns. Failures: invalid_argument (invalid rules, settings or hash key), already_exists (an
  // address is in use), unavailable (Redis or the system refuses).
  static Result<std::unique_ptr<Server>> start(const Config& config, std::shared_ptr<ProcessClock> clock,
                                               observe::Log& log);
  // Closes everything at once, without a snapshot, if drain() was not called.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Every listener's name ("http", "grpc", "resp", "spop", "admin") and address, with the port that was taken; "off"
  // for those that do not listen.
  const std::vector<std::pair<std::string, std::string>>& addresses() const;
  const std::string& address(std::string_view listener) const;

  // Reads the rules, certificates, keys and revocations again, as the server does by itself when a file changes. A
  // failure is logged, and what was loaded before stays. Returns the first failure.
  Status reload();

  // Stops accepting, lets connections finish within drain_timeout, writes the snapshot. Idempotent.
  void drain();

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace weir::server
