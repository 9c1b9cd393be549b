// Module: one capability of the server, such as the HTTP API or the memory store. A module opens what it needs and
// registers its listeners, routes, background tasks, metrics and health with the ServerContext.
//
// Server::start() lists the modules. A new capability is a new module and one line there; modules that need another
// one get a reference to it in their constructor, so a module may use every module listed before it.
//
// The server calls these from one thread, in the order of the list, each phase for all modules before the next:
//
//   open()       opens what other modules use (stores, engines)
//   start()      reads files and registers with the context
//   listening()  every address is bound, no connection is accepted yet
//   reload()     on SIGHUP, from the thread of the signal
//   leaving()    the server is about to drain: connections are open, loops and background tasks run
//   stop()       no connection and no background task runs any more; every module still exists. In reverse order.
//   drained()    after stop(), only when the server was drained: writes what must survive a restart
//
// Modules are destroyed in reverse order.
#pragma once

#include "weir/result.h"

namespace weir::server {

class Module {
 public:
  virtual ~Module() = default;
  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // A failure in one of the first three stops the start.
  virtual Status open() { return success(); }
  virtual Status start() { return success(); }
  virtual Status listening() { return success(); }
  // A failure is logged by the module, which keeps what it has.
  virtual Status reload() { return success(); }
  virtual void leaving() {}
  // Idempotent.
  virtual void stop() {}
  virtual void drained() {}
};

}  // namespace weir::server
