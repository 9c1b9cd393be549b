// Node: one Weir in the simulation, with clocks of its own.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "stores/leased/leased_store.h"
#include "stores/synced/members.h"
#include "stores/synced/synced_store.h"
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

// The time since a machine was started.
class MachineBoot final : public Clock {
 public:
  explicit MachineBoot(Machine& machine) : machine_(machine) {}
  TimePoint now() override { return from_micros(machine_.since_boot_ns() / 1'000); }

 private:
  Machine& machine_;
};

class Node {
 public:
  // Members are forgotten after this, and tell that they live six times in it.
  static constexpr Duration kTtl = std::chrono::milliseconds(150);

  Node(Server& server, const Rules& rules, std::int64_t drift_ppm, std::shared_ptr<std::atomic<std::uint32_t>> askers,
       leased::SliceListener* listener, std::uint64_t id)
      : machine_(server.world(), drift_ppm),
        clock_(std::make_shared<ProcessClock>(machine_)),
        boot_(std::make_shared<MachineBoot>(machine_)),
        remote_(std::make_shared<RemoteStore>(server)),
        leased_(std::make_shared<leased::LeasedStore>(leased::Options{
            .store = remote_, .clock = clock_, .epoch = epoch_, .askers = std::move(askers), .listener = listener})),
        membership_(std::make_shared<synced::Membership>(synced::Membership::Options{
            .id = id, .weight = 1, .ttl = kTtl, .settled = [this] { return synced_->settled(); }})),
        synced_(std::make_shared<synced::SyncedStore>(
            synced::Options{.store = leased_,
                            .clock = clock_,
                            .boot = boot_,
                            .credit = std::shared_ptr<const synced::Credit>(membership_, &membership_->credit()),
                            .epoch = epoch_})) {
    LimiterOptions options;
    options.store = synced_;
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
  synced::SyncedStore& synced() { return *synced_; }
  const std::shared_ptr<synced::Membership>& membership() { return membership_; }
  std::uint32_t parts() { return membership_->credit().parts(boot_->now()); }
  synced::Beat next_beat() { return membership_->next(boot_->now()); }
  // Its connection to the store was made again.
  void reconnected() { epoch_->fetch_add(1); }
  std::uint64_t id() const { return membership_->id(); }
  bool paused() const { return remote_->paused(); }

  int turns = 0;            // of what the simulation does for it
  bool had_credit = false;  // at the last one

 private:
  Machine machine_;
  std::shared_ptr<ProcessClock> clock_;
  std::shared_ptr<MachineBoot> boot_;
  std::shared_ptr<std::atomic<std::uint64_t>> epoch_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<RemoteStore> remote_;
  std::shared_ptr<leased::LeasedStore> leased_;
  std::shared_ptr<synced::Membership> membership_;
  std::shared_ptr<synced::SyncedStore> synced_;
  std::unique_ptr<Limiter> limiter_;
};

}  // namespace weir::sim
