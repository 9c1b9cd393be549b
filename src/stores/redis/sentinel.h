// Sentinel: asks the sentinels where the master is, and moves when they say that it has changed.
//
// Each connection to a sentinel first asks for the master's address and then listens for `+switch-master`; to ask again
// is to connect again. What a sentinel announces is trusted at once. What it answers is trusted only while there is
// no working connection to a master, so that one that lags behind cannot pull the store back. A connection counts as
// working only after the server has called itself a master (ROLE).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/redis/directory.h"

namespace weir::redis {

class Sentinel final : public Directory, private NodeWatcher {
 public:
  static constexpr std::chrono::milliseconds kAskAgain{250};

  explicit Sentinel(NodeContext& context);
  ~Sentinel() override;

  void open() override;
  Node* node_for(std::uint16_t) override { return master_known_ ? &node_ : nullptr; }
  void doubt(Node& node) override;

 private:
  class Peer;

  void on_node_down(Node& node) override;
  void on_answer(const Address& address);
  void on_switch(const Address& address);
  void ask_again();
  void move_to(const Address& address);

  NodeContext& context_;
  Greeting greeting_;
  LoopTimer ask_timer_;  // before node_, which may arm it once more while it goes down
  Node node_;
  bool master_known_ = false;
  std::vector<std::unique_ptr<Peer>> peers_;
};

}  // namespace weir::redis
