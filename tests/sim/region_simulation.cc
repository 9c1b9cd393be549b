#include "tests/sim/region_simulation.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "regions/cells.h"
#include "regions/units.h"
#include "tests/sim/oracle.h"
#include "tests/sim/region_node.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t kSharedKeys = 2;
constexpr Duration kPulse = milliseconds(1);

class RegionRun {
 public:
  explicit RegionRun(const RegionSetting& setting)
      : setting_(setting),
        world_(setting.seed),
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
    }
    for (std::int64_t key = 0; key < kSharedKeys; ++key) oracles_.emplace_back(allowance_);
    for (std::size_t i = 0; i < regions_; ++i) {
      for (std::int64_t each = world_.between(1, 2); each > 0; --each) start_node(i);
    }
  }

  Result run() {
    demand_.assign(regions_ * kSharedKeys, 0);
    move_demand();
    pulse();
    plan_trouble();
    world_.run_until(World::kStart + length_);
    Result result;
    ending_ = true;
    nodes_.clear();
    for (Oracle& oracle : oracles_) {
      result.over += is_reconcile() ? oracle.over_at_once(tolerance_) : oracle.over();
      result.admitted += oracle.total();
    }
    result.asked = asked_;
    for (const auto& server : servers_) result.store_calls += server->calls;
    result.from_slices = beyond_alone();
    result.story = story();
    return result;
  }

 private:
  bool is_reconcile() const { return setting_.sharing == RegionSharing::reconcile; }
  bool is_window() const { return setting_.window || is_reconcile(); }
  bool is_whole() const { return setting_.mutation == RegionMutation::none; }

  NetworkFaults any_faults(Duration most) {
    NetworkFaults faults;
    faults.least_delay = Duration{50};
    faults.most_delay = world_.between(Duration{200}, most);
    if (world_.chance(500)) faults.lost = world_.between(0, 60);
    if (world_.chance(300)) faults.doubled = world_.between(0, 60);
    return faults;
  }

  void choose_rule() {
    Rule rule;
    rule.id = "r";
    rule.per = {"key"};
    rule.region = setting_.sharing;
    rule.on_partition = setting_.on_partition;
    rule.on_store_failure = FailurePolicy::deny;
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
        rule.allowance.window = 2 * lease_;
        rule.allowance.burst = 6 * rule.allowance.limit;
        length_ = 8 * lease_;
      }
    }
    if (is_reconcile()) {
      rule.tolerance = Share{.amount = world_.between(5, 40), .percent = true};
      tolerance_ = rule.tolerance->of(rule.allowance.limit);
      if (setting_.on_partition == OnPartition::continue_on) {
        tolerance_ = static_cast<std::int64_t>(regions_ - 1) * rule.allowance.limit;
      }
    }
    Rule gate;  // denies what has the attribute: all or none
    gate.id = "gate";
    gate.match = {{"gate", {"shut"}}};
    gate.allowance = {.algorithm = Algorithm::fixed_window, .limit = 0, .window = seconds(1)};
    gate.on_store_failure = FailurePolicy::deny;
    rules_.rules = {rule, gate};
    allowance_ = make_allowance(rule.allowance).value();
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
  // One region after the other wants all of a large burst, which takes many leases to refill.
  void take_turns() {
    std::fill(demand_.begin(), demand_.end(), 0);
    const std::size_t first = turn_++ % regions_ * kSharedKeys;
    std::fill_n(demand_.begin() + static_cast<std::ptrdiff_t>(first), kSharedKeys, 6'000);
    world_.after(world_.between(lease_, 2 * lease_), [this] { take_turns(); });
  }

  void pulse() {
    const std::int64_t fair = allowance_.limit * kPulse.count() * 1'000 / allowance_.window.count() + 1;  // in 1/1000
    for (std::size_t region = 0; region < regions_; ++region) {
      for (std::int64_t key = 0; key < kSharedKeys; ++key) {
        const std::int64_t demand = demand_[region * kSharedKeys + static_cast<std::size_t>(key)];
        std::int64_t wanted = (fair * demand / 1'000 + world_.below(1'000)) / 1'000;
        if (demand > 0 && world_.chance(3)) wanted += world_.below(allowance_.largest_cost());  // a burst
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
      if (!node.paused()) ask_node(node, key);
      return;
    }
  }

  void ask_node(RegionNode& node, std::int64_t key) {
    ++asked_;
    const std::string name = std::to_string(key);
    const Attribute attributes[] = {{"key", name}, {"gate", world_.chance(20) ? "shut" : "open"}};
    const std::int64_t units = world_.chance(50) ? world_.between(0, 5) : 1;
    ::weir::ask(
        node.limiter(), Action::take, Request(attributes, Cost{units}),
        [this, key](const Decision& decision) { decided(key, decision); },
        [this, key] { return [this, key](const Decision& decision) { decided(key, decision); }; });
  }

  void decided(std::int64_t key, const Decision& decision) {
    if (ending_ || !decision.allowed || decision.rules.empty()) return;
    const RuleOutcome& rule = decision.rules[0];
    // When the store charged it (Server::execute).
    oracles_[static_cast<std::size_t>(key)].admitted(World::kStart + rule.delay - Duration{1}, rule.cost);
  }

  void plan_trouble() {
    const auto some_time = [this] { return World::kStart + world_.between(Duration{0}, length_); };
    const auto on_some_node = [this, some_time](auto what) {
      world_.at(some_time(), [this, what] {
        if (!nodes_.empty()) what(static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(nodes_.size()))));
      });
    };
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
    ++crashes_;
    const std::size_t region = nodes_[i]->region();
    const std::shared_ptr<RegionNode> gone = std::move(nodes_[i]);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
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
    for (Oracle& oracle : oracles_) oracle.forgive(world_.now(), allowance_.largest_cost() + tolerance_);
  }

  // Smaller numbers, which nodes load one after the other: the oracle keeps the larger ones.
  void change_rules() {
    ++changes_;
    const std::int64_t limit = rules_.rules[0].allowance.limit;
    rules_.rules[0].allowance.limit = world_.between(limit / 2, limit);
    for (const std::shared_ptr<RegionNode>& node : nodes_) {
      world_.after(world_.between(Duration{0}, milliseconds(50)), [this, weak = std::weak_ptr<RegionNode>(node)] {
        if (const std::shared_ptr<RegionNode> each = weak.lock()) static_cast<void>(each->limiter().replace(rules_));
      });
    }
  }

  void refund(RegionNode& node) {
    if (node.paused()) return;
    const std::int64_t key = world_.below(kSharedKeys);
    const std::int64_t units = world_.between(1, 5);
    oracles_[static_cast<std::size_t>(key)].forgive(world_.now(), units);
    const std::string name = std::to_string(key);
    const Attribute attribute{"key", name};
    ::weir::ask(
        node.limiter(), Action::refund, Request({&attribute, 1}, Cost{units}), [](const Decision&) {},
        [] { return [](const Decision&) {}; });
  }

  std::uint64_t beyond_alone() const {
    const auto regions = static_cast<std::int64_t>(regions_);
    std::int64_t alone = allowance_.largest_cost() * 3 / 10;
    if (!is_window()) alone += allowance_.limit * (length_ / allowance_.window + 1) * 3 / 10;
    if (is_window()) alone *= 4;  // windows that were begun
    if (is_reconcile()) alone = 4 * regions * regions::tolerated_part(tolerance_, regions_);
    std::int64_t beyond = 0;
    for (const Oracle& oracle : oracles_) beyond += std::max<std::int64_t>(oracle.total() - alone, 0);
    return static_cast<std::uint64_t>(beyond);
  }

  std::string story() const {
    return std::to_string(regions_) + " regions, " + std::string(algorithm_name(allowance_.algorithm)) + " limit " +
           std::to_string(allowance_.limit) + " window " + std::to_string(allowance_.window.count()) + "us capacity " +
           std::to_string(allowance_.largest_cost()) + " tolerance " + std::to_string(tolerance_) + ", lease " +
           std::to_string(lease_.count()) + "us, delays to " + std::to_string(network_.faults.most_delay.count()) +
           "us, lost " + std::to_string(network_.faults.lost) + ", cuts " + std::to_string(cuts_) + ", crashes " +
           std::to_string(crashes_) + ", pauses " + std::to_string(pauses_) + ", lost rows " + std::to_string(losses_) +
           ", lost stores " + std::to_string(store_losses_) + ", rule changes " + std::to_string(changes_) +
           (turns_ ? ", regions take turns" : "");
  }

  const RegionSetting setting_;
  World world_;
  const std::size_t regions_;
  const Duration lease_;
  const Duration sync_;
  const NetworkFaults near_;  // between a node and its region's store
  RegionCoordinator coordinator_;
  RegionNetwork network_;
  Rules rules_;
  Allowance allowance_;
  Duration length_{0};
  std::int64_t tolerance_ = 0;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<Server>> servers_;
  std::deque<Oracle> oracles_;
  std::vector<std::shared_ptr<RegionNode>> nodes_;
  std::vector<std::int64_t> demand_;
  std::uint64_t lives_ = 0;
  std::int64_t asked_ = 0;
  bool turns_ = false;  // regions want all of the limit one after the other
  std::size_t turn_ = 0;
  bool ending_ = false;
  int cuts_ = 0, crashes_ = 0, pauses_ = 0, losses_ = 0, store_losses_ = 0, changes_ = 0;
};

}  // namespace

Result simulate_regions(const RegionSetting& setting) { return RegionRun(setting).run(); }

}  // namespace weir::sim
