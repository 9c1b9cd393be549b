// RegionNode: one Weir of a region in the simulation, and its agent, which asks the coordinator over a network that
// loses, delays and repeats, and that can be cut. One round at a time, like regions::Coordinator.
#pragma once

#include <cassert>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "regions/regional_store.h"
#include "rules/rule_book.h"
#include "tests/sim/network.h"
#include "tests/sim/node.h"
#include "tests/sim/region_coordinator.h"
#include "weir/limiter.h"

namespace weir::sim {

// The way from nodes to the coordinator.
struct RegionNetwork {
  World& world;
  RegionCoordinator& coordinator;
  NetworkFaults faults;
  RegionMutation mutation = RegionMutation::none;
  std::vector<bool> cut = {};  // by region
};

class RegionNode : public std::enable_shared_from_this<RegionNode> {
 public:
  struct Options {
    RegionNetwork& network;
    Server& server;                                      // of its region
    std::vector<std::pair<std::string, Server*>> homes;  // of the others
    Rules rules;
    regions::RegionMap map;
    std::uint64_t life = 0;
    Duration lease{0};
    Duration sync{0};
    std::int64_t drift_ppm = 0;
    Duration wall_off{0};
  };

  explicit RegionNode(const Options& options)
      : network_(options.network),
        sync_(options.sync),
        region_(options.map.own),
        life_(options.life),
        machine_(options.network.world, options.drift_ppm) {
    // A machine has been up for a second when it appears, and its wall clock is ahead by that.
    machine_.set_wall(options.wall_off - std::chrono::seconds(1));
    clock_ = std::make_shared<ProcessClock>(machine_);
    remotes_.push_back(std::make_shared<RemoteStore>(options.server));
    regions::BookOptions book;
    book.map = options.map;
    book.node = std::to_string(options.life);
    book.lease = options.lease;
    book.urgent = [this] { urgent(); };
    book_ = std::make_shared<regions::RegionBook>(std::move(book));
    regions::RegionalOptions regional;
    regional.store = remotes_[0];
    regional.region = options.map.names[options.map.own];
    for (const auto& [name, server] : options.homes) {
      remotes_.push_back(std::make_shared<RemoteStore>(*server));
      regional.homes.emplace_back(name, remotes_.back());
    }
    regional.book = book_;
    regional.clock = clock_;
    LimiterOptions limiter;
    limiter.store = std::make_shared<regions::RegionalStore>(std::move(regional));
    limiter.clock = clock_;
    limiter.hash_key = {1, 2, 3, 4};
    // As the server does: Limiter::create refuses rules with regions.
    const auto rules = std::make_shared<rules::RuleBook>();
    assert(rules->replace(options.rules).ok());
    limiter_ = std::make_unique<engine::Engine>(rules, std::move(limiter),
                                                std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }
  // A crash.
  ~RegionNode() {
    for (const auto& remote : remotes_) remote->close();
  }
  RegionNode(const RegionNode&) = delete;
  RegionNode& operator=(const RegionNode&) = delete;

  Limiter& limiter() { return *limiter_; }
  Machine& machine() { return machine_; }
  std::size_t region() const { return region_; }
  std::uint64_t life() const { return life_; }
  bool paused() const { return remotes_[0]->paused(); }
  void pause_until(TimePoint time) {
    for (const auto& remote : remotes_) remote->pause_until(time);
  }
  // Once, after it was made.
  void begin() { next_round(Duration{0}); }

 private:
  static constexpr Duration kLeastPause = std::chrono::milliseconds(5);
  static constexpr Duration kTimeout = std::chrono::milliseconds(150);

  void urgent() {
    if (waiting_ && !std::exchange(hurried_, true)) next_round(kLeastPause);
  }
  void next_round(Duration pause) {
    waiting_ = true;
    const std::uint64_t number = ++rounds_;
    later(network_.world.now() + pause, [number](RegionNode& self) {
      if (number != self.rounds_ || !std::exchange(self.waiting_, false)) return;
      self.hurried_ = false;
      self.ask_shares();
    });
  }

  void ask_shares() {
    const TimePoint sent = clock_->now();
    const auto asks = book_->due_shares(sent, kMostKeys);
    if (asks.empty()) return ask_units();
    const auto answers = std::make_shared<std::vector<regions::ShareAnswer>>();
    call([asks, answers](RegionCoordinator& coordinator) { *answers = coordinator.shares(asks); },
         [asks, answers, sent](RegionNode& self, bool ok) {
           const TimePoint now = self.clock_->now();
           for (std::size_t i = 0; i < asks.size(); ++i) {
             const auto answer = ok ? std::optional((*answers)[i]) : std::nullopt;
             self.book_->share_answered(asks[i].key, answer, sent, now);
           }
           self.ask_units();
         });
  }

  void ask_units() {
    const auto asks = book_->due_units(clock_->now(), kMostKeys);
    if (asks.empty()) return write_cells();
    const auto given = std::make_shared<std::vector<std::int64_t>>();
    call([asks, given](RegionCoordinator& coordinator) { *given = coordinator.units(asks); },
         [asks, given](RegionNode& self, bool ok) {
           for (std::size_t i = 0; ok && i < asks.size(); ++i) {
             self.book_->units_given(asks[i].key, asks[i].starts, (*given)[i]);
           }
           self.write_cells();
         });
  }

  void write_cells() {
    const auto asks = book_->due_cells(clock_->now(), sync_, kMostKeys);
    if (asks.empty()) return next_round(sync_);
    const bool lies = network_.mutation == RegionMutation::heard_before_commit;
    call(
        [asks, lies](RegionCoordinator& coordinator) {
          if (!lies) coordinator.write_cells(asks);
        },
        [asks, lies](RegionNode& self, bool ok) { ok ? self.read_cells(asks, lies) : self.next_round(self.sync_); });
  }
  void read_cells(const std::vector<regions::RegionBook::CellAsk>& asks, bool lies) {
    struct Read {
      std::vector<std::vector<regions::Cell>> cells;
      std::vector<bool> complete;
    };
    const auto read = std::make_shared<Read>();
    call(
        [asks, read, lies](RegionCoordinator& coordinator) {
          *read = {coordinator.read_cells(asks), {}};
          for (std::size_t i = 0; i < asks.size(); ++i) {
            read->complete.push_back(coordinator.complete(asks[i].starts));
            if (lies) read->cells[i].insert(read->cells[i].end(), asks[i].cells.begin(), asks[i].cells.end());
          }
        },
        [asks, read](RegionNode& self, bool ok) {
          const TimePoint now = self.clock_->now();
          for (std::size_t i = 0; ok && i < asks.size(); ++i) {
            self.book_->cells_read(asks[i].key, asks[i].starts, read->cells[i], now, read->complete[i]);
          }
          self.next_round(self.sync_);
        });
  }

  // A transaction: `there` is executed at the coordinator, perhaps; `done` is called once, here.
  void call(std::function<void(RegionCoordinator&)> there, std::function<void(RegionNode&, bool)> done) {
    World& world = network_.world;
    const NetworkFaults& faults = network_.faults;
    const auto over = std::make_shared<bool>(false);
    const auto finish = [over, done](RegionNode& self, bool ok) {
      if (!std::exchange(*over, true)) done(self, ok);
    };
    later(world.now() + kTimeout, [finish](RegionNode& self) { finish(self, false); });
    if (network_.cut[region_] || world.chance(faults.lost)) return;
    const Duration back = world.between(faults.least_delay, faults.most_delay);
    const bool answer_lost = world.chance(faults.lost);
    // It may arrive when the node has given up or is gone.
    world.after(world.between(faults.least_delay, faults.most_delay),
                [there, finish, back, answer_lost, region = region_, &network = network_, weak = weak_from_this()] {
                  there(network.coordinator);
                  const std::shared_ptr<RegionNode> self = weak.lock();
                  if (self == nullptr || answer_lost || network.cut[region]) return;
                  self->later(network.world.now() + back, [finish](RegionNode& node) { finish(node, true); });
                });
  }

  // At that time, or when the process goes on after it was stopped, if it still exists.
  void later(TimePoint time, std::function<void(RegionNode&)> what) {
    network_.world.at(time, [weak = weak_from_this(), what = std::move(what)] {
      const std::shared_ptr<RegionNode> self = weak.lock();
      if (self == nullptr) return;
      if (self->paused()) return self->later(self->remotes_[0]->paused_until(), what);
      what(*self);
    });
  }

  static constexpr std::size_t kMostKeys = 500;

  RegionNetwork& network_;
  const Duration sync_;
  const std::size_t region_;
  const std::uint64_t life_;
  Machine machine_;
  std::shared_ptr<ProcessClock> clock_;
  std::vector<std::shared_ptr<RemoteStore>> remotes_;  // its region's, then those of homes
  std::shared_ptr<regions::RegionBook> book_;
  std::unique_ptr<Limiter> limiter_;
  bool waiting_ = false;  // for the next round
  bool hurried_ = false;  // it was made urgent
  std::uint64_t rounds_ = 0;
};

}  // namespace weir::sim
