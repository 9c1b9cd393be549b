#include "tests/sim/simulation.h"

#include <algorithm>
#include <memory>

#include "tests/sim/base_run.h"
#include "tests/sim/node.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostNodes = 6;

class Run final : private BaseRun<Node>, private leased::SliceListener {
 public:
  explicit Run(const Setting& setting)
      : BaseRun(setting.seed), setting_(setting), faults_(faults_of_run()), server_(world_, faults_) {
    choose_rule();
    if (setting.mutation == Mutation::no_floor) {
      server_.tamper = [](StoreCall& call) {
        if (call.draw != nullptr) call.draw->floor = 0;
      };
    }
    if (setting.mutation == Mutation::reports_without_debt) {
      server_.tamper = [this](StoreCall& call) { fit_report(call); };
    }
    mixed_ = setting.mutation == Mutation::none && world_.chance(300);
    const std::int64_t nodes = crowd_ ? 1 : world_.between(1, 4);
    for (std::int64_t i = 0; i < nodes; ++i) join();
  }

  Result run() {
    const TimePoint end = World::kStart + length_;
    plan_traffic(end);
    if (crowd_) plan_crowd();
    plan_trouble();
    world_.run_until(end);
    for (const std::shared_ptr<Node>& node : nodes_) count(*node);
    Result result = judge(is_synced());
    result.store_calls = server_.calls;
    result.from_slices = from_slices_;
    result.story = story();
    return result;
  }

 private:
  NetworkFaults faults_of_run() {
    if (setting_.mutation != Mutation::joins_with_credit) return any_faults(Duration{8'000});
    return {.least_delay = Duration{500}, .most_delay = Duration{3'000}};
  }

  void choose_rule() {
    Rule rule = rule_per_key();
    rule.consistency = setting_.consistency;
    if (is_synced()) return choose_synced_rule(std::move(rule));
    rule.allowance.algorithm =
        world_.pick({Algorithm::token_bucket, Algorithm::gcra, Algorithm::token_bucket, Algorithm::fixed_window,
                     Algorithm::bucketed_window, Algorithm::sliding_counter});
    if (setting_.mutation != Mutation::none) rule.allowance.algorithm = Algorithm::token_bucket;
    rule.allowance.limit = world_.between(50, 600);
    rule.allowance.window = world_.between(Duration{100'000}, Duration{3'000'000});
    if (rule.allowance.algorithm == Algorithm::bucketed_window) {
      rule.allowance.window = rule.allowance.window / 10'000 * 10'000;
    }
    const bool refills =
        rule.allowance.algorithm == Algorithm::token_bucket || rule.allowance.algorithm == Algorithm::gcra;
    if (refills && world_.chance(500)) rule.allowance.burst = world_.between(20, 3 * rule.allowance.limit);
    length_ = std::min<Duration>(2 * rule.allowance.window, seconds(4));
    use_rule(rule);
    gated_ = setting_.mutation == Mutation::slices_returned || world_.chance(300);
    quiet_ = gated_ && (setting_.mutation == Mutation::slices_returned || world_.chance(500));
  }

  bool is_synced() const { return setting_.consistency == Consistency::synced; }

  void choose_synced_rule(Rule rule) {
    rule.allowance.algorithm = world_.pick({Algorithm::token_bucket, Algorithm::gcra, Algorithm::fixed_window});
    if (setting_.mutation != Mutation::none) rule.allowance.algorithm = Algorithm::token_bucket;
    rule.allowance.limit = world_.between(60, 300);
    rule.allowance.window = world_.between(Duration{400'000}, Duration{1'500'000});
    if (rule.allowance.algorithm != Algorithm::fixed_window && world_.chance(500)) {
      rule.allowance.burst = world_.between(60, 2 * rule.allowance.limit);
    }
    rule.tolerance = Share{.amount = world_.between(3, 30), .percent = true};
    rule.sync_interval = world_.between(Duration{10'000}, Duration{100'000});
    tolerance_ = rule.tolerance->of(rule.allowance.burst.value_or(rule.allowance.limit));
    length_ = std::min<Duration>(2 * rule.allowance.window, milliseconds(1'500));
    use_rule(rule);
    gated_ = world_.chance(200);
    crowd_ = setting_.mutation == Mutation::joins_with_credit || world_.chance(150);
    quiet_ = crowd_;
  }

  // A node tells that it lives, over the same network.
  void beat(Node& node) {
    if (node.paused()) return;
    const synced::Beat beat = node.next_beat();
    const std::weak_ptr<synced::Membership> whose = node.membership();
    const auto delay = [this] { return world_.between(faults_.least_delay, faults_.most_delay); };
    for (int copies = world_.chance(faults_.doubled) ? 2 : 1; copies > 0; --copies) {
      if (world_.chance(faults_.lost)) continue;
      const Duration back = delay();
      const bool lost = world_.chance(faults_.lost);
      world_.after(delay(), [this, beat, whose, back, lost, node = &node] {
        synced::Grant grant = members_.beat(beat, world_.now());
        if (setting_.mutation == Mutation::joins_with_credit && grant.parts == 0) grant.parts = grant.nodes;
        if (lost) return;
        world_.after(back, [this, beat, whose, grant, node] {
          const std::shared_ptr<synced::Membership> membership = whose.lock();
          if (membership != nullptr && !node->paused()) membership->answered(beat.number, grant);
        });
      });
    }
  }

  // What a loop of the server does now and then, and what a node that was not heard of has not reported is excused.
  void keep_up(std::uint64_t id) {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [id](const auto& node) { return node->id() == id; });
    if (found == nodes_.end()) return;
    Node& node = **found;
    if (!node.paused()) {
      if (node.had_credit && node.parts() == 0) excuse(node.synced().unreported());
      node.had_credit = node.parts() > 0;
      node.synced().tick();
    }
    if (++node.turns % 5 == 0) beat(node);
    world_.after(milliseconds(5), [this, id] { keep_up(id); });
  }

  void excuse(std::int64_t units) { BaseRun::excuse(World::kStart, units); }

  // A mutation: a report is charged as far as it fits.
  void fit_report(StoreCall& call) {
    if (call.draw == nullptr || call.draw->late == 0) return;
    const std::int64_t remaining = server_.apply(Action::peek, call.charges[0], 0).remaining;
    call.draw->late = std::min(call.draw->late, remaining);
  }

  void join() {
    if (nodes_.size() >= kMostNodes) return;
    askers_->store(static_cast<std::uint32_t>(nodes_.size() + 1));
    Rules rules = rules_;
    if (mixed_ && world_.chance(400)) {
      rules.rules[0].consistency = Consistency::exact;
      rules.rules[0].tolerance = std::nullopt;
      rules.rules[0].sync_interval = std::nullopt;
    }
    nodes_.push_back(std::make_shared<Node>(server_, rules, world_.between(-450, 450), askers_,
                                            static_cast<leased::SliceListener*>(this), ++joined_));
    if (!is_synced()) return;
    const std::uint64_t id = joined_;
    beat(*nodes_.back());
    world_.after(world_.between(Duration{1'000}, milliseconds(5)), [this, id] { keep_up(id); });
  }

  // Each key has times in which it is asked for too little, enough and too much, on some nodes more than on others, and
  // bursts on all of them at once.
  void plan_traffic(TimePoint end) {
    const double fair = static_cast<double>(allowance_.limit) / static_cast<double>(allowance_.window.count());
    for (std::int64_t key = 0; key < kKeys; ++key) {
      for (std::size_t node = 0; node < kMostNodes && !quiet_; ++node) {
        TimePoint time = World::kStart;
        while (time < end) {
          const double load = world_.pick({0.0, 0.1, 0.4, 1.0, 3.0}) / 2;
          const TimePoint until = time + world_.between(length_ / 40, length_ / 4);
          if (load == 0.0) {
            time = until;
            continue;
          }
          const auto pause = Duration{std::max<std::int64_t>(1, static_cast<std::int64_t>(2 / (fair * load)))};
          while (time < until && time < end) {
            world_.at(time, [this, node, key] { ask(node, key, cost()); });
            time += Duration{world_.between(0, pause.count())};
          }
        }
      }
      if (gated_) plan_gated_traffic(key, fair, end);
      for (std::int64_t i = quiet_ ? 1 : world_.between(2, 8); i > 0; --i) {
        const TimePoint time = World::kStart + world_.between(Duration{0}, length_);
        const std::int64_t size = world_.between(10, 3 * allowance_.largest_cost() / 2);
        for (std::int64_t each = 0; each < size; ++each) {
          world_.at(time + Duration{each / 4}, [this, key, each] { ask(static_cast<std::size_t>(each), key, cost()); });
        }
      }
    }
  }

  // Many nodes join at once, and all of them are asked for more than the bucket has before the first one has heard of
  // them.
  void plan_crowd() {
    const TimePoint start = World::kStart + world_.between(2 * Node::kTtl, 2 * Node::kTtl + milliseconds(60));
    world_.at(start, [this] {
      while (nodes_.size() < kMostNodes) join();
    });
    for (std::size_t node = 0; node < kMostNodes; ++node) {
      world_.at(start + milliseconds(7), [this, node] { ask(node, 0, 1); });
      for (std::int64_t each = 0; each < allowance_.largest_cost(); ++each) {
        world_.at(start + milliseconds(14) + Duration{each / 2}, [this, node] { ask(node, 0, 1); });
      }
    }
  }

  void plan_gated_traffic(std::int64_t key, double fair, TimePoint end) {
    for (std::size_t node = 0; node < kMostNodes; ++node) {
      const auto pause = Duration{static_cast<std::int64_t>(1 / fair) + 1};
      for (TimePoint time = World::kStart; time < end; time += world_.between(Duration{1}, 2 * pause)) {
        world_.at(time, [this, node, key] { ask(node, key, 6, "shut"); });
      }
    }
  }

  std::int64_t cost() { return world_.chance(100) ? world_.between(0, 5) : 1; }

  void plan_trouble() {
    if (world_.chance(300)) world_.at(some_time(), [this] { join(); });
    if (world_.chance(300)) on_some_node([this](std::size_t i) { crash(i); });
    if (world_.chance(300)) {
      on_some_node([this](std::size_t i) {
        excuse(nodes_[i]->synced().unreported());
        nodes_[i]->remote().pause_until(world_.now() + world_.between(Duration{1'000}, length_ / 4));
        ++pauses_;
      });
    }
    if (world_.chance(300)) {
      on_some_node([this](std::size_t i) {
        nodes_[i]->machine().set_wall(world_.between(-length_, length_));
        ++steps_;
      });
    }
    if (setting_.mutation != Mutation::none) return;
    if (world_.chance(200)) world_.at(some_time(), [this] { change_rules(); });
    if (world_.chance(100)) world_.at(some_time(), [this] { lose_data(); });
    if (world_.chance(200)) {
      for (int i = 0; i < 20; ++i) on_some_node([this](std::size_t node) { refund(*nodes_[node]); });
    }
  }

  void count(Node& node) {
    from_slices_ += node.leased().stats().answered.load() + node.synced().stats().answered.load();
    excuse(static_cast<std::int64_t>(node.synced().stats().lost.load()));
  }

  void crash(std::size_t i) {
    count(*nodes_[i]);
    excuse(nodes_[i]->synced().unreported());
    remove(i);
    world_.after(world_.between(Duration{1'000}, length_ / 4), [this] { join(); });
  }

  // The data is gone, and each node notices when it is connected again. Until then it spends what it has: no more than
  // one capacity, which the loss allows anyway, and what is refilled while a slice lives.
  void lose_data() {
    ++losses_;
    server_.lose_data();
    BaseRun::excuse(world_.now(), allowance_.largest_cost() + refilled_in_a_life() + tolerance_);
    for (const std::shared_ptr<Node>& node : nodes_) node->reconnected();
  }

  // What the faster rate refills while a slice of the slower one lives is not too much.
  void change_rules() {
    BaseRun::change_rules();
    BaseRun::excuse(world_.now(), refilled_in_a_life());
  }

  std::int64_t refilled_in_a_life() const { return allowance_.largest_cost() / 10 + 1; }

  void ask(std::size_t which, std::int64_t key, std::int64_t units, std::string_view gate = "open") {
    if (!nodes_.empty()) take(*nodes_[which % nodes_.size()], key, units, gate);
  }

  // A mutation: giving back what is left of a slice.
  void on_lapsed(const BucketKey& lapsed, std::int64_t units) override {
    if (setting_.mutation != Mutation::slices_returned) return;
    world_.after(Duration{100}, [this, key = lapsed, units] {
      Charge charge;
      charge.key = key;
      charge.allowance = &allowance_;
      charge.rule = "r";
      server_.apply(Action::refund, charge, units);
    });
  }

  std::string story() const {
    return rule_story() + ", delays to " + std::to_string(faults_.most_delay.count()) + "us, lost " +
           std::to_string(faults_.lost) + ", doubled " + std::to_string(faults_.doubled) + trouble_story() +
           ", clock steps " + std::to_string(steps_) + ", losses " + std::to_string(losses_) +
           (mixed_ ? ", some nodes exact" : "") + (gated_ ? ", gated" : "") + (quiet_ ? ", quiet" : "") +
           (crowd_ ? ", a crowd joins" : "");
  }

  const Setting setting_;
  const NetworkFaults faults_;
  Server server_;
  synced::MemberList members_{Node::kTtl};
  std::uint64_t joined_ = 0;
  const std::shared_ptr<std::atomic<std::uint32_t>> askers_ = std::make_shared<std::atomic<std::uint32_t>>(1);
  bool mixed_ = false;  // some nodes are exact
  bool gated_ = false;  // there are requests that come to nothing
  bool crowd_ = false;  // many nodes join at once
  bool quiet_ = false;  // but for them and one burst there are no others, so that the bucket is full
  std::uint64_t from_slices_ = 0;
  int steps_ = 0, losses_ = 0;
};

}  // namespace

Result simulate(const Setting& setting) { return Run(setting).run(); }

}  // namespace weir::sim
