#include "tests/sim/region_simulation.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "regions/cells.h"
#include "regions/scaled_bucket.h"
#include "regions/units.h"
#include "tests/sim/base_run.h"
#include "tests/sim/region_node.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kPulse = milliseconds(1);

class RegionRun final : private BaseRun<RegionNode> {
 public:
  explicit RegionRun(const RegionSetting& setting)
      : BaseRun(setting.seed),
        setting_(setting),
        regions_(static_cast<std::size_t>(world_.between(2, 4))),
        lease_(world_.between(milliseconds(300), milliseconds(1'200))),
        sync_(world_.between(milliseconds(10), milliseconds(80))),
        near_(any_faults(Duration{2'000})),
        coordinator_(world_, regions_, lease_, setting.mutation),
        network_{world_, coordinator_, any_faults(Duration{40'000}), setting.mutation, std::vector<bool>(regions_)} {
    choose_rule();
    for (std::size_t i = 0; i < regions_; ++i) {
      names_.push_back("region" + std::to_string(i));
      servers_.push_back(std::make_unique<Server>(world_, near_));
      if (setting.mutation == RegionMutation::arrives_full) {
        servers_.back()->tamper = [this, &server = *servers_.back()](StoreCall& call) { fill_growth(server, call); };
      }
      if (setting.mutation == RegionMutation::grows_unpaid) {
        servers_.back()->tamper = [](StoreCall& call) {
          if (call.draw != nullptr) call.draw->late = 0;
        };
      }
    }
    for (std::size_t i = 0; i < regions_; ++i) {
      for (std::int64_t each = world_.between(1, 2); each > 0; --each) start_node(i);
    }
  }

  Result run() {
    demand_.assign(regions_ * kKeys, 0);
    move_demand();
    pulse();
    plan_trouble();
    world_.run_until(World::kStart + length_);
    Result result = judge(is_reconcile());
    for (const auto& server : servers_) result.store_calls += server->calls;
    result.from_slices = beyond_alone();
    result.story = story();
    return result;
  }

 private:
  bool is_reconcile() const { return setting_.sharing == RegionSharing::reconcile; }
  bool is_window() const { return setting_.window || is_reconcile(); }
  bool is_whole() const { return setting_.mutation == RegionMutation::none; }

  // The region's answers are all estimates, and all come from a store.
  TimePoint charged_at(const RuleOutcome& rule) const override { return World::kStart + rule.delay - Duration{1}; }

  void choose_rule() {
    Rule rule = rule_per_key();
    rule.region = setting_.sharing;
    rule.on_partition = setting_.on_partition;
    if (setting_.sharing == RegionSharing::central) rule.home = "region0";
    if (is_window()) {
      rule.allowance = {.algorithm = Algorithm::fixed_window,
                        .limit = world_.between(100, 600),
                        .window = world_.between(milliseconds(1'000), milliseconds(2'500))};
      length_ = 3 * rule.allowance.window;
    } else {
      rule.allowance.algorithm = world_.pick({Algorithm::token_bucket, Algorithm::gcra});
      rule.allowance.limit = world_.between(100, 500);
      rule.allowance.window = world_.between(milliseconds(300), milliseconds(1'500));
      // A small burst shows rates that add up to too much, a large one levels that do.
      rule.allowance.burst = rule.allowance.limit * world_.pick({1, 2, 4, 12}) / 2;
      length_ = 5 * lease_;
      turns_ = world_.chance(200);
      if (turns_) {
        rule.allowance.window = 4 * lease_;
        rule.allowance.burst = 6 * rule.allowance.limit;
        length_ = 10 * lease_;
      }
    }
    if (is_reconcile()) {
      rule.tolerance = Share{.amount = world_.between(5, 40), .percent = true};
      // Less than a unit for each region, as a plan can bring it.
      if (world_.chance(150)) rule.tolerance = Share{.amount = world_.between(1, 3), .percent = false};
      tolerance_ = rule.tolerance->of(rule.allowance.limit);
      if (setting_.on_partition == OnPartition::continue_on) {
        tolerance_ = static_cast<std::int64_t>(regions_ - 1) * rule.allowance.limit;
      }
    }
    use_rule(rule);
  }

  // A mutation. When a share grows, its bucket is charged what is left in it times the part of the larger share that is
  // new. Instead it is given that part of what it lacks, as if the new part were full.
  void fill_growth(Server& server, StoreCall& call) {
    if (call.draw == nullptr || call.draw->late == 0) return;
    const Charge& charge = call.charges[0];
    const std::int64_t remaining = server.apply(Action::peek, charge, 0).remaining;
    const regions::ScaledBucket whole{.allowance = *charge.allowance};
    const std::int64_t charged = std::exchange(call.draw->late, 0);
    const std::int64_t lacks = charge.allowance->burst - remaining;
    server.apply(Action::refund, charge, charged * lacks / regions::growth_charge(whole, remaining, 0));
  }

  void start_node(std::size_t region) {
    RegionNode::Options options{.network = network_,
                                .server = *servers_[region],
                                .homes = {},
                                .rules = rules_,
                                .map = {names_, region},
                                .life = ++lives_,
                                .lease = lease_,
                                .sync = sync_,
                                .drift_ppm = world_.between(-450, 450),
                                .wall_off = world_.between(Duration{-40'000}, Duration{40'000})};
    for (std::size_t i = 0; i < regions_; ++i) {
      if (i != region) options.homes.emplace_back(names_[i], servers_[i].get());
    }
    nodes_.push_back(std::make_shared<RegionNode>(options));
    nodes_.back()->begin();
  }

  // In thousandths of what the limit gives in a pulse, by region and key. It moves, so that shares must.
  void move_demand() {
    if (turns_) return take_turns();
    for (std::int64_t& each : demand_) each = world_.pick<std::int64_t>({0, 0, 50, 300, 1'000, 3'000});
    world_.after(world_.between(lease_ / 4, 2 * lease_), [this] { move_demand(); });
  }
  // One region after the other: it is asked for a little until what the one before it had has lapsed and its share has
  // grown, and then for all of a large burst, which takes many leases to refill.
  void take_turns() {
    const std::size_t first = turn_++ % regions_ * kKeys;
    const auto want = [this, first](std::int64_t demand) {
      std::fill(demand_.begin(), demand_.end(), 0);
      std::fill_n(demand_.begin() + static_cast<std::ptrdiff_t>(first), kKeys, demand);
    };
    want(world_.between(200, 500));
    const Duration little = world_.between(3 * lease_ / 2, 5 * lease_ / 2);
    world_.after(little, [want] { want(40'000); });
    world_.after(little + world_.between(lease_ / 4, lease_ / 2), [this] { take_turns(); });
  }

  void pulse() {
    const std::int64_t fair = allowance_.limit * kPulse.count() * 1'000 / allowance_.window.count() + 1;  // in 1/1000
    for (std::size_t region = 0; region < regions_; ++region) {
      for (std::int64_t key = 0; key < kKeys; ++key) {
        const std::int64_t demand = demand_[region * kKeys + static_cast<std::size_t>(key)];
        std::int64_t wanted = (fair * demand / 1'000 + world_.below(1'000)) / 1'000;
        if (demand > 0 && !turns_ && world_.chance(3)) wanted += world_.below(allowance_.largest_cost());  // a burst
        for (; wanted > 0; --wanted) ask(region, key);
      }
    }
    world_.after(kPulse, [this] { pulse(); });
  }

  void ask(std::size_t region, std::int64_t key) {
    // One of the region's nodes.
    const std::size_t first = static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(nodes_.size() + 1)));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      RegionNode& node = *nodes_[(first + i) % nodes_.size()];
      if (node.region() != region) continue;
      const std::string_view gate = world_.chance(20) ? "shut" : "open";
      return take(node, key, world_.chance(50) ? world_.between(0, 5) : 1, gate);
    }
  }

  void plan_trouble() {
    for (std::int64_t i = world_.between(0, 2); i > 0; --i) world_.at(some_time(), [this] { cut_some_region(); });
    if (world_.chance(400)) on_some_node([this](std::size_t i) { crash(i); });
    if (world_.chance(300)) on_some_node([this](std::size_t i) { stop_for_a_while(*nodes_[i]); });
    if (!is_window() && world_.chance(300)) {
      on_some_node([this](std::size_t i) { nodes_[i]->machine().set_wall(world_.between(-length_, length_)); });
    }
    if (world_.chance(200)) world_.at(some_time(), [this] { lose_rows(); });
    if (!is_whole()) return;
    if (world_.chance(150)) world_.at(some_time(), [this] { lose_store(); });
    if (world_.chance(200)) world_.at(some_time(), [this] { change_rules(); });
    if (world_.chance(200)) {
      for (int i = 0; i < 20; ++i) on_some_node([this](std::size_t node) { refund(*nodes_[node]); });
    }
  }

  void cut_some_region() {
    ++cuts_;
    const auto region = static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(regions_)));
    network_.cut[region] = true;
    world_.after(world_.between(lease_ / 4, 3 * lease_), [this, region] { network_.cut[region] = false; });
  }

  void crash(std::size_t i) {
    const std::size_t region = nodes_[i]->region();
    remove(i);
    world_.after(world_.between(Duration{1'000}, lease_), [this, region] { start_node(region); });
  }

  void stop_for_a_while(RegionNode& node) {
    ++pauses_;
    node.pause_until(world_.now() + world_.between(Duration{1'000}, 2 * lease_));
  }

  void lose_rows() {
    ++losses_;
    coordinator_.lose_rows();
  }

  // A bucket is full again, once; a window begins again, and what was not told of it is lost.
  void lose_store() {
    ++store_losses_;
    servers_[static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(regions_)))]->lose_data();
    excuse(world_.now(), allowance_.largest_cost() + tolerance_);
  }

  std::uint64_t beyond_alone() const {
    const auto regions = static_cast<std::int64_t>(regions_);
    std::int64_t alone = allowance_.largest_cost() * 3 / 10;
    if (!is_window()) alone += allowance_.limit * (length_ / allowance_.window + 1) * 3 / 10;
    if (is_window()) alone *= 4;  // windows that were begun
    if (is_reconcile()) alone = 4 * std::max(tolerance_, regions);
    std::int64_t beyond = 0;
    for (const Oracle& oracle : oracles_) beyond += std::max<std::int64_t>(oracle.total() - alone, 0);
    return static_cast<std::uint64_t>(beyond);
  }

  std::string story() const {
    return std::to_string(regions_) + " regions, " + rule_story() + ", lease " + std::to_string(lease_.count()) +
           "us, delays to " + std::to_string(network_.faults.most_delay.count()) + "us, lost " +
           std::to_string(network_.faults.lost) + trouble_story() + ", cuts " + std::to_string(cuts_) + ", lost rows " +
           std::to_string(losses_) + ", lost stores " + std::to_string(store_losses_) +
           (turns_ ? ", regions take turns" : "");
  }

  const RegionSetting setting_;
  const std::size_t regions_;
  const Duration lease_;
  const Duration sync_;
  const NetworkFaults near_;  // between a node and its region's store
  RegionCoordinator coordinator_;
  RegionNetwork network_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::vector<std::int64_t> demand_;
  std::uint64_t lives_ = 0;
  bool turns_ = false;  // regions want all of the limit one after the other
  std::size_t turn_ = 0;
  int cuts_ = 0, losses_ = 0, store_losses_ = 0;
};

}  // namespace

Result simulate_regions(const RegionSetting& setting) { return RegionRun(setting).run(); }

}  // namespace weir::sim
