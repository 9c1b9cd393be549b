// Node: one Redis server that buckets live on, with its connections and its circuit breaker.
//
// While the breaker is open the node sends no calls; by itself it writes a small key now and then, and goes back to
// work when that succeeds. Belongs to one loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/breaker.h"
#include "stores/redis/connection.h"
#include "stores/redis/options.h"
#include "stores/redis/stats.h"

namespace weir::redis {

// A server went out of use or came back.
struct BreakerChange {
  std::string server;
  BreakerState state = BreakerState::closed;
  std::string reason;  // why it opened: the last failure
};
using BreakerListener = std::function<void(const BreakerChange&)>;

class Node;

class NodeWatcher {
 public:
  // A connection has greeted the server.
  virtual void on_node_up(Node&) {}
  // A connection broke or could not be made.
  virtual void on_node_down(Node& node) = 0;

 protected:
  ~NodeWatcher() = default;
};

// What the nodes of one store share. Outlives them.
struct NodeContext {
  boost::asio::io_context& loop;
  const RedisOptions& options;
  std::shared_ptr<TlsSetup> tls;
  Greeting greeting;
  StoreStats& stats;
  BreakerListener listener;
  std::uint64_t random;
};

class Node final : private ConnectionOwner, private ReplyHandler {
 public:
  // `probe_tag` is the hash tag of the key that probes write.
  Node(NodeContext& context, NodeWatcher& watcher, std::string probe_tag);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void open(const Address& address);
  // Connects anew: the server is no longer what it was.
  void reopen();
  const Address& address() const { return address_; }

  // False: the breaker is open.
  bool answering() const { return breaker_.closed(); }
  // True when some connection has greeted the server.
  bool connected() const;
  std::size_t waiting() const;
  // A connection that takes commands, or null.
  Connection* pick();

  void call_succeeded() { breaker_.call_succeeded(); }
  void call_failed(FailureKind kind, SteadyTime now);

 private:
  void on_ready() override;
  void on_down(std::string_view why) override;
  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;

  void on_breaker(BreakerState state);
  void probe();
  void await_probe();
  void set_probing(bool under_way);

  NodeContext& context_;
  NodeWatcher& watcher_;
  const std::string probe_key_;
  Address address_;
  std::string last_failure_;
  Breaker breaker_;
  LoopTimer probe_timer_;
  std::size_t next_ = 0;
  bool closing_ = false;
  bool probing_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace weir::redis
