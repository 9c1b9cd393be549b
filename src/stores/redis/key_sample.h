// KeySample: about how much memory our keys take in a server, from a sample of random keys.
//
// At each turn kEachTurn random keys are asked for (RANDOMKEY), and of those that are ours their size (MEMORY USAGE).
// Of the last kKept, the mean, with 0 for the keys of others, times the number of keys (DBSIZE) is the estimate. The
// work for the server does not depend on how many keys there are. A server that does not allow one of the commands is
// not known.
//
// One turn is under way at most. Belongs to one loop.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "stores/redis/connection.h"
#include "stores/redis/server_figures.h"

namespace weir::redis {

class KeySample final : private ReplyHandler {
 public:
  static constexpr std::size_t kEachTurn = 16;
  static constexpr std::size_t kKept = 128;
  static constexpr std::chrono::milliseconds kDeadline{1000};

  // `prefix`: what every key of ours begins with.
  explicit KeySample(std::string prefix) : prefix_(std::move(prefix)) {}

  // Does nothing while a turn is under way. Connection and figures must outlive the answers.
  void ask(Connection& connection, ServerFigures& figures, SteadyTime now);

 private:
  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;
  void see_key(const ReplyItem& answer);
  void ask_sizes(SteadyTime now);
  void keep(std::int64_t bytes);
  void finish();

  const std::string prefix_;
  Connection* connection_ = nullptr;
  ServerFigures* figures_ = nullptr;

  // Of the turn.
  std::size_t unanswered_ = 0;
  bool sizes_ = false;  // the second step: how large the keys are
  bool failed_ = false;
  bool counted_ = false;       // DBSIZE has answered
  std::int64_t all_keys_ = 0;  // of the server
  std::vector<std::string> ours_;

  std::array<std::int64_t, kKept> kept_{};  // bytes of a key; 0: it is not ours
  std::size_t used_ = 0;
  std::size_t next_ = 0;
};

}  // namespace weir::redis
