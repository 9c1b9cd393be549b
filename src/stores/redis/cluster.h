// Cluster: the map from slots to the masters of a Redis Cluster.
//
// Read with CLUSTER SLOTS from any node that answers: at the start, after MOVED, CLUSTERDOWN and lost connections, and
// now and then. MOVED itself changes one slot at once. A slot without a known node is asked at any node, which then
// says where it lives.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "stores/redis/directory.h"
#include "stores/redis/slot.h"

namespace weir::redis {

class Cluster final : public Directory, private NodeWatcher, private ReplyHandler {
 public:
  static constexpr std::size_t kMaxNodes = 1000;
  static constexpr std::chrono::milliseconds kSoon{50};
  static constexpr std::chrono::milliseconds kTroubled{250};  // while some node does not answer
  static constexpr std::chrono::seconds kRegularly{30};

  explicit Cluster(NodeContext& context);

  void open() override;
  bool slotted() const override { return true; }
  Node* node_for(std::uint16_t slot) override;
  Node* node_at(const Address& address) override;
  void moved(std::uint16_t slot, const Address& address) override;
  void doubt(Node& node) override;

 private:
  void on_node_up(Node& node) override;
  void on_node_down(Node& node) override;
  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;

  void refresh();
  void refresh_after(std::chrono::microseconds delay);
  bool read_map(Reply reply);
  void forget_unused();
  Node* find_or_add(const Address& address, std::uint16_t slot);
  Node* any_connected();

  NodeContext& context_;
  LoopTimer refresh_timer_;  // before nodes_: a node that goes down with a question pending arms it once more
  std::unordered_map<std::string, std::unique_ptr<Node>> nodes_;  // by address
  std::array<Node*, kSlotCount> slots_{};
  std::size_t asked_ = 0;   // turns over the nodes that are asked for the map
  std::string asked_host_;  // of the node asked last: an empty host in its answer means its own
  bool asking_ = false;
  bool mapped_ = false;  // a map was read
};

}  // namespace weir::redis
