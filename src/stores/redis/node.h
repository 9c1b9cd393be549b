// Node: one Redis server that buckets live on, with its connections, its circuit breaker and the calls that wait for
// room at it.
//
// While the breaker is open the node sends no calls; by itself it sends a probe now and then, and sends calls
// again when that succeeds. No more calls are under way than the server can answer in time (Window); the others wait in
// line, and each client has its turn. Belongs to one loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/redis/breaker.h"
#include "stores/redis/connection.h"
#include "stores/redis/fair_queue.h"
#include "stores/redis/key_sample.h"
#include "stores/redis/options.h"
#include "stores/redis/probe.h"
#include "stores/redis/server_figures.h"
#include "stores/redis/server_info.h"
#include "stores/redis/stats.h"
#include "stores/redis/window.h"

namespace weir::redis {

// A server became unusable, is unusable for another cause than the one reported before, or works again.
struct BreakerChange {
  std::string server;
  BreakerState state = BreakerState::closed;
  Trouble trouble = {};  // what opened it
};

// What a store reports. All run on its loop; each may be empty.
struct StoreListener {
  std::function<void(const BreakerChange&)> on_breaker = {};
  // A connection to `server` could not be made; one was made.
  std::function<void(const std::string& server, const Trouble&)> on_connect_failed = {};
  std::function<void(const std::string& server)> on_connected = {};
  // A bucket, named by its key, cannot be used; `others` more were not reported since the last time.
  std::function<void(const std::string& key, const std::string& why, std::uint64_t others)> on_bad_bucket = {};

  void connect_failed(const Address& server, const Trouble& trouble) const {
    if (on_connect_failed) on_connect_failed(to_text(server), trouble);
  }
  void connected(const Address& server) const {
    if (on_connected) on_connected(to_text(server));
  }
};

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
  const ScriptSet& scripts;
  std::shared_ptr<TlsSetup> tls;
  Greeting greeting;
  StoreStats& stats;
  StoreListener listener;
  std::uint64_t random;
  QueuedCount queued = {};  // calls that wait for room
  ServerTable servers = {};
};

class Node final : private ConnectionOwner, private ProbeOwner {
 public:
  // The probe's buckets live in `probe_slot`.
  Node(NodeContext& context, NodeWatcher& watcher, std::uint16_t probe_slot);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void open(const Address& address);
  // Reconnects: the server is no longer what it was.
  void reopen();
  const Address& address() const { return address_; }
  // Precondition: open() was called.
  ServerFigures& figures() { return *figures_; }

  // False: the breaker is open.
  bool answering() const { return breaker_.closed(); }
  // True when some connection has greeted the server.
  bool connected() const;
  // Commands that the server has not answered, late ones included.
  std::size_t under_way() const;
  // True while something waits for this node.
  bool busy() const { return under_way() > 0 || !line_.empty(); }
  // A connection that takes commands, or null.
  Connection* pick();

  // True: a call may be sent now. Otherwise it is to join the line, and proceeds when it is its turn.
  bool has_room() const { return under_way() < window_.size(); }
  bool has_line() const { return !line_.empty(); }
  void join_line(QueuedCall& call);

  void call_succeeded() { breaker_.call_succeeded(); }
  // `said`: the server's own words, if it said anything.
  void call_failed(FailureKind kind, std::string_view said, SteadyTime now);

 private:
  void on_ready() override;
  void on_trouble(const Trouble& trouble, bool was_ready) override;
  void on_down() override;
  void on_answered(std::size_t place, std::chrono::microseconds latency) override {
    window_.answered(place, under_way(), latency);
  }
  void on_caught_up(SteadyTime now) override { serve_line(now); }
  void on_probed(const std::optional<Trouble>& trouble, SteadyTime now) override;

  void on_breaker(BreakerState state);
  void note(Trouble trouble);
  void tell(BreakerState state);
  void probe();
  void await_probe();
  void set_probing(bool under_way);
  void serve_line(SteadyTime now);
  void look_at_line();
  void ask_info();

  NodeContext& context_;
  NodeWatcher& watcher_;
  Address address_;
  Trouble trouble_{Cause::unreachable, "no connection yet"};
  bool break_counts_ = false;  // a connection broke, and the breaker has not counted it
  std::optional<Cause> told_;  // while the breaker is open
  Breaker breaker_;
  Probe probe_;
  LoopTimer probe_timer_;
  Window window_;
  FairQueue line_;
  LoopTimer line_timer_;
  ServerFigures* figures_ = nullptr;
  ServerInfo info_;
  KeySample key_sample_;
  LoopTimer info_timer_;
  std::size_t next_ = 0;
  bool closing_ = false;
  bool probing_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
};

}  // namespace weir::redis
