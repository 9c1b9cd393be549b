#include "stores/redis/directory.h"

#include "stores/redis/cluster.h"
#include "stores/redis/sentinel.h"

namespace weir::redis {
namespace {

class Standalone final : public Directory, private NodeWatcher {
 public:
  explicit Standalone(NodeContext& context) : address_(context.options.seeds.front()), node_(context, *this, 0) {}

  void open() override { node_.open(address_); }
  Node* node_for(std::uint16_t) override { return &node_; }
  // A name may lead to another server by now.
  void doubt(Node& node) override { node.reopen(); }

 private:
  void on_node_down(Node&) override {}

  const Address address_;
  Node node_;
};

}  // namespace

std::unique_ptr<Directory> make_directory(NodeContext& context) {
  switch (context.options.topology) {
    case Topology::sentinel:
      return std::make_unique<Sentinel>(context);
    case Topology::cluster:
      return std::make_unique<Cluster>(context);
    case Topology::standalone:
      break;
  }
  return std::make_unique<Standalone>(context);
}

}  // namespace weir::redis
