// Directory: which server a bucket lives on, and how to find out when that changes. One kind for each topology.
//
// Belongs to one loop. Nodes are owned by the directory; a pointer to one is valid until the loop's next turn.
#pragma once

#include <memory>

#include "stores/redis/node.h"
#include "stores/redis/options.h"

namespace weir::redis {

class Directory {
 public:
  virtual ~Directory() = default;

  // Starts to connect.
  virtual void open() = 0;
  // True: slots matter, and a script reaches only one.
  virtual bool slotted() const { return false; }
  // Null: not known yet.
  virtual Node* node_for(std::uint16_t slot) = 0;
  // Where ASK sends a single command. Null: not possible.
  virtual Node* node_at(const Address&) { return nullptr; }
  // MOVED: the slot lives there from now on.
  virtual void moved(std::uint16_t, const Address&) {}
  // `node` answered that it does not serve the slot (READONLY, CLUSTERDOWN): find out which node does.
  virtual void doubt(Node& node) = 0;
};

// `context` must outlive the directory.
std::unique_ptr<Directory> make_directory(NodeContext& context);

}  // namespace weir::redis
