#include "stores/redis/server_info.h"

namespace weir::redis {

// Two commands, because servers before version 7 take one section at a time.
void ServerInfo::ask(Connection& connection, ServerFigures& figures, SteadyTime now) {
  if (unanswered_ > 0) return;
  figures_ = &figures;
  for (const std::string_view section : {"memory", "cpu"}) {
    CommandWriter(connection.start(), 2).word("INFO").word(section);
    ++unanswered_;
    connection.finish(*this, {.now = now, .deadline = now + kDeadline});
  }
}

void ServerInfo::on_reply(Reply reply, SteadyTime) {
  --unanswered_;
  if (reply[0].kind == ReplyKind::text) figures_->read_info(reply[0].text);
}

void ServerInfo::on_lost(FailureKind, SteadyTime) { --unanswered_; }

}  // namespace weir::redis
