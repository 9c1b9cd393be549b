// ServerInfo: asks a server now and then how much memory and CPU it uses.
//
// One question is under way at most, with a deadline of its own; a server that does not answer, or may not, is asked
// again at the next turn. Belongs to one loop.
#pragma once

#include <chrono>

#include "stores/redis/connection.h"
#include "stores/redis/server_figures.h"

namespace weir::redis {

class ServerInfo final : private ReplyHandler {
 public:
  static constexpr std::chrono::seconds kPeriod{10};
  static constexpr std::chrono::milliseconds kDeadline{1000};

  // Does nothing while a question is under way. `figures` must outlive the connection.
  void ask(Connection& connection, ServerFigures& figures, SteadyTime now);

 private:
  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;

  ServerFigures* figures_ = nullptr;
  int unanswered_ = 0;
};

}  // namespace weir::redis
