// ClockModule: reports when the machine's clock is set (clock_watch.h).
#pragma once

#include "server/clock_watch.h"
#include "server/module.h"
#include "server/server_context.h"

namespace weir::server {

class ClockModule final : public Module {
 public:
  explicit ClockModule(ServerContext& context) : context_(context), watch_(context.log) {}

  Status start() override;

 private:
  ServerContext& context_;
  ClockWatch watch_;
};

}  // namespace weir::server
