// Node: one Weir in the simulation, with clocks of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "stores/leased/leased_store.h"
#include "tests/sim/network.h"
#include "tests/sim/world.h"
#include "weir/ask.h"
#include "weir/limiter.h"

namespace weir::sim {

// Clocks that run a little too fast or too slow. The wall clock can be set.
class Machine final : public ProcessClock::Machine {
 public:
  Machine(const World& world, std::int64_t drift_ppm) : world_(world), born_(world.now()), drift_ppm_(drift_ppm) {}

  std::int64_t since_boot_ns() override {
    const std::int64_t us = (world_.now() - born_).count();
    return 1'000'000'000 + us * 1'000 + us * drift_ppm_ / 1'000;
  }
  std::int64_t wall_ns() override { return micros(born_) * 1'000 + since_boot_ns() + step_us_ * 1'000; }
  void set_wall(Duration by) { step_us_ += by.count(); }

 private:
  const World& world_;
  const TimePoint born_;
  const std::int64_t drift_ppm_;
  std::int64_t step_us_ = 0;
};

class Node {
 public:
  Node(Server& server, const Rules& rules, std::int64_t drift_ppm, std::shared_ptr<std::atomic<std::uint32_t>> askers,
       leased::SliceListener* listener)
      : machine_(server.world(), drift_ppm),
        clock_(std::make_shared<ProcessClock>(machine_)),
        remote_(std::make_shared<RemoteStore>(server)),
        leased_(std::make_shared<leased::LeasedStore>(leased::Options{
            .store = remote_, .clock = clock_, .epoch = epoch_, .askers = std::move(askers), .listener = listener})) {
    LimiterOptions options;
    options.store = leased_;
    options.clock = clock_;
    options.hash_key = {1, 2, 3, 4};
    limiter_ = Limiter::create(rules, options).value();
  }
  // A crash: whatever was in flight is lost.
  ~Node() { remote_->close(); }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  Limiter& limiter() { return *limiter_; }
  Machine& machine() { return machine_; }
  RemoteStore& remote() { return *remote_; }
  leased::LeasedStore& leased() { return *leased_; }
  // Its connection to the store was made again.
  void reconnected() { epoch_->fetch_add(1); }
  bool paused(TimePoint now) const { return now < remote_->paused_until(); }

 private:
  Machine machine_;
  std::shared_ptr<ProcessClock> clock_;
  std::shared_ptr<std::atomic<std::uint64_t>> epoch_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<RemoteStore> remote_;
  std::shared_ptr<leased::LeasedStore> leased_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace weir::sim
