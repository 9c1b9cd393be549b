// A shared store behind a network: messages are late, overtake each other, are lost or arrive twice; a call without an
// answer in time fails, and its answer is discarded when it comes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "stores/memory/memory_store.h"
#include "tests/sim/world.h"
#include "weir/store.h"

namespace weir::sim {

struct NetworkFaults {
  Duration least_delay{100};
  Duration most_delay{1'000};
  std::int64_t lost = 0;     // of a thousand, each way
  std::int64_t doubled = 0;  // of a thousand calls
};

// The server. Its time is the world's.
class Server {
 public:
  explicit Server(World& world, NetworkFaults faults) : world_(world), faults_(faults) {}

  World& world() { return world_; }
  const NetworkFaults& faults() const { return faults_; }
  // A mutation: what is changed in each call before it is executed.
  std::function<void(StoreCall&)> tamper;
  std::uint64_t calls = 0;

  void execute(StoreCall& call) {
    ++calls;
    call.now = world_.now();
    call.ahead = Duration{0};
    if (tamper) tamper(call);
    static_cast<void>(memory_->begin(call));
    // Tells the oracle when it was charged: a token bucket or a window answers no delay of its own.
    for (ChargeOutcome& outcome : call.outcomes) outcome.delay = world_.now() - World::kStart + Duration{1};
  }
  // Without a call of a node.
  ChargeOutcome apply(Action action, Charge charge, std::int64_t cost) {
    struct Call final : StoreCall {
      void complete() override {}
    } call;
    ChargeOutcome outcome;
    charge.cost = cost;
    call.action = action;
    call.charges = {&charge, 1};
    call.outcomes = {&outcome, 1};
    call.now = world_.now();
    static_cast<void>(memory_->begin(call));
    return outcome;
  }
  void lose_data() { memory_ = std::make_unique<memory::MemoryStore>(MemoryOptions{.max_bytes = 4U << 20U}); }

 private:
  World& world_;
  const NetworkFaults faults_;
  std::unique_ptr<memory::MemoryStore> memory_ =
      std::make_unique<memory::MemoryStore>(MemoryOptions{.max_bytes = 4U << 20U});
};

// The store as one node sees it.
class RemoteStore final : public Store {
 public:
  static constexpr Duration kDeadline = std::chrono::milliseconds(20);

  explicit RemoteStore(Server& server) : server_(server) {}
  ~RemoteStore() override { close(); }

  bool begin(StoreCall& call) override;
  bool immediate() const override { return false; }
  std::string_view name() const override { return "remote"; }

  // Nothing is delivered to the node before this: it was stopped.
  void pause_until(TimePoint time) { paused_until_ = time; }
  TimePoint paused_until() const { return paused_until_; }
  bool paused() const { return server_.world().now() < paused_until_; }
  // Fails what is in flight.
  void close();

 private:
  // A call on its way, with all that it needs.
  struct Message final : StoreCall {
    explicit Message(const StoreCall& original);
    Message(const Message&) = delete;
    Message& operator=(const Message&) = delete;
    void complete() override {}
    std::vector<Charge> copies;
    std::vector<Allowance> allowances;
    std::vector<std::string> rules;
    std::vector<ChargeOutcome> results;
    DrawStep step;
  };

  void arrive(std::uint64_t id, const std::shared_ptr<Message>& message);
  void answer(std::uint64_t id, const std::shared_ptr<Message>& message);
  void fail(std::uint64_t id);

  Server& server_;
  std::map<std::uint64_t, StoreCall*> pending_;
  std::uint64_t next_ = 0;
  TimePoint paused_until_{};
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace weir::sim
