#include "tests/sim/simulation.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "tests/sim/node.h"
#include "tests/sim/oracle.h"

namespace weir::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostNodes = 6;
constexpr std::int64_t kKeys = 2;

class Run final : private leased::SliceListener {
 public:
  explicit Run(const Setting& setting)
      : setting_(setting), world_(setting.seed), faults_(any_faults()), server_(world_, faults_) {
    choose_rule();
    allowance_ = make_allowance(rules_.rules[0].allowance).value();
    loosest_ = allowance_;
    for (std::int64_t key = 0; key < kKeys; ++key) oracles_.emplace_back(loosest_);
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
    plan_trouble(end);
    world_.run_until(end);
    Result result;
    for (const std::unique_ptr<Node>& node : nodes_) count(*node);
    nodes_.clear();
    for (Oracle& oracle : oracles_) {
      result.over += is_synced() ? oracle.over_at_once(tolerance_) : oracle.over();
      result.admitted += oracle.total();
    }
    result.asked = asked_;
    result.store_calls = server_.calls;
    result.from_slices = from_slices_;
    result.story = story();
    return result;
  }

 private:
  NetworkFaults any_faults() {
    NetworkFaults faults;
    faults.least_delay = Duration{50};
    faults.most_delay = world_.between(Duration{200}, Duration{8'000});
    if (setting_.mutation == Mutation::joins_with_credit) {
      faults.least_delay = Duration{500};
      faults.most_delay = Duration{3'000};
      return faults;
    }
    if (world_.chance(500)) faults.lost = world_.between(0, 60);
    if (world_.chance(300)) faults.doubled = world_.between(0, 60);
    return faults;
  }

  void choose_rule() {
    Rule rule;
    rule.id = "r";
    rule.per = {"key"};
    rule.consistency = setting_.consistency;
    rule.on_store_failure = FailurePolicy::deny;
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
    rules_.rules = {rule, gate()};
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
    rules_.rules = {rule, gate()};
    gated_ = world_.chance(200);
    crowd_ = setting_.mutation == Mutation::joins_with_credit || world_.chance(150);
    quiet_ = crowd_;
  }

  // A node tells that it lives, over the same network.
  void beat(Node& node) {
    if (node.paused(world_.now())) return;
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
          if (membership != nullptr && !node->paused(world_.now())) membership->answered(beat.number, grant);
        });
      });
    }
  }

  // What a loop of the server does now and then, and what a node that was not heard of has not reported is excused.
  void keep_up(std::uint64_t id) {
    const auto found = std::find_if(nodes_.begin(), nodes_.end(), [id](const auto& node) { return node->id() == id; });
    if (found == nodes_.end()) return;
    Node& node = **found;
    if (!node.paused(world_.now())) {
      if (node.had_credit && node.parts() == 0) excuse(node.synced().unreported());
      node.had_credit = node.parts() > 0;
      node.synced().tick();
    }
    if (++node.turns % 5 == 0) beat(node);
    world_.after(milliseconds(5), [this, id] { keep_up(id); });
  }

  void excuse(std::int64_t units) {
    for (Oracle& oracle : oracles_) oracle.forgive(World::kStart, units);
  }

  // A mutation: a report is charged as far as it fits.
  void fit_report(StoreCall& call) {
    if (call.draw == nullptr || call.draw->late == 0) return;
    struct Look final : StoreCall {
      void complete() override {}
    } look;
    Charge charge = call.charges[0];
    charge.cost = 0;
    ChargeOutcome outcome;
    look.action = Action::peek;
    look.charges = {&charge, 1};
    look.outcomes = {&outcome, 1};
    server_.look(look);
    call.draw->late = std::min(call.draw->late, outcome.remaining);
  }

  // Denies whatever has the attribute: slices are then drawn, and given for decisions that come to nothing.
  Rule gate() const {
    Rule gate;
    gate.id = "gate";
    gate.match = {{"gate", {"shut"}}};
    gate.allowance = {.algorithm = Algorithm::fixed_window, .limit = 0, .window = seconds(1)};
    gate.on_store_failure = FailurePolicy::deny;
    return gate;
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
    nodes_.push_back(std::make_unique<Node>(server_, rules, world_.between(-450, 450), askers_,
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

  void plan_trouble(TimePoint) {
    const auto some_time = [this] { return World::kStart + world_.between(Duration{0}, length_); };
    const auto on_some_node = [this, some_time](auto what) {
      world_.at(some_time(), [this, what] {
        if (!nodes_.empty()) what(static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(nodes_.size()))));
      });
    };
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
      for (int i = 0; i < 20; ++i) world_.at(some_time(), [this] { refund(); });
    }
  }

  void count(Node& node) {
    from_slices_ += node.leased().stats().answered.load() + node.synced().stats().answered.load();
    excuse(static_cast<std::int64_t>(node.synced().stats().lost.load()));
  }

  void crash(std::size_t i) {
    ++crashes_;
    count(*nodes_[i]);
    excuse(nodes_[i]->synced().unreported());
    std::unique_ptr<Node> gone = std::move(nodes_[i]);
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    crashing_ = true;
    gone.reset();
    crashing_ = false;
    world_.after(world_.between(Duration{1'000}, length_ / 4), [this] { join(); });
  }

  // The data is gone, and each node notices when it is connected again. Until then it spends what it has: no more than
  // one capacity, which the loss allows anyway, and what is refilled while a slice lives.
  void lose_data() {
    ++losses_;
    server_.lose_data();
    for (Oracle& oracle : oracles_)
      oracle.forgive(world_.now(), loosest_.largest_cost() + refilled_in_a_life() + tolerance_);
    for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->reconnected();
  }

  // Nodes load new rules one after the other. The oracle holds both against them: the larger numbers, and what the
  // faster rate refills while a slice of the slower one lives.
  void change_rules() {
    ++changes_;
    const std::int64_t limit = rules_.rules[0].allowance.limit;
    rules_.rules[0].allowance.limit = world_.between(limit / 2, limit);
    for (const std::unique_ptr<Node>& node : nodes_) {
      Node* const each = node.get();
      world_.after(world_.between(Duration{0}, milliseconds(50)), [this, each] {
        const bool alive =
            std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) { return one.get() == each; });
        if (alive) static_cast<void>(each->limiter().replace(rules_));
      });
    }
    for (Oracle& oracle : oracles_) oracle.forgive(world_.now(), refilled_in_a_life());
  }

  std::int64_t refilled_in_a_life() const { return loosest_.largest_cost() / 10 + 1; }

  void refund() {
    if (nodes_.empty()) return;
    Node& node = *nodes_[static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(nodes_.size())))];
    if (node.paused(world_.now())) return;
    const std::int64_t key = world_.below(kKeys);
    const std::int64_t units = world_.between(1, 5);
    oracles_[static_cast<std::size_t>(key)].forgive(world_.now(), units);
    const std::string name = std::to_string(key);
    const Attribute attribute{"key", name};
    ::weir::ask(
        node.limiter(), Action::refund, Request({&attribute, 1}, Cost{units}), [](const Decision&) {},
        [] { return [](const Decision&) {}; });
  }

  void ask(std::size_t which, std::int64_t key, std::int64_t units, std::string_view gate = "open") {
    if (nodes_.empty()) return;
    Node& node = *nodes_[which % nodes_.size()];
    if (node.paused(world_.now())) return;
    ++asked_;
    const std::string name = std::to_string(key);
    const Attribute attributes[] = {{"key", name}, {"gate", gate}};
    ::weir::ask(
        node.limiter(), Action::take, Request(attributes, Cost{units}),
        [this, key](const Decision& decision) { decided(key, decision); },
        [this, key] { return [this, key](const Decision& decision) { decided(key, decision); }; });
  }

  void decided(std::int64_t key, const Decision& decision) {
    if (crashing_ || !decision.allowed || decision.rules.empty()) return;
    const RuleOutcome& rule = decision.rules[0];
    // When the server charged it; what slices answered was spent just now.
    const TimePoint time = rule.estimated ? world_.now() : World::kStart + rule.delay - Duration{1};
    oracles_[static_cast<std::size_t>(key)].admitted(time, rule.cost);
  }

  // A mutation: giving back what is left of a slice.
  void on_lapsed(const BucketKey& lapsed, std::int64_t units) override {
    if (setting_.mutation != Mutation::slices_returned) return;
    world_.after(Duration{100}, [this, key = lapsed, units] {
      Charge charge;
      charge.key = key;
      charge.allowance = &allowance_;
      charge.rule = "r";
      charge.cost = units;
      ChargeOutcome outcome;
      struct Given final : StoreCall {
        void complete() override {}
      } call;
      call.action = Action::refund;
      call.charges = {&charge, 1};
      call.outcomes = {&outcome, 1};
      server_.execute(call);
    });
  }

  std::string story() const {
    const AllowanceSpec& spec = rules_.rules[0].allowance;
    return std::string(algorithm_name(spec.algorithm)) + " limit " + std::to_string(allowance_.limit) + " window " +
           std::to_string(allowance_.window.count()) + "us capacity " + std::to_string(allowance_.largest_cost()) +
           ", delays to " + std::to_string(faults_.most_delay.count()) + "us, lost " + std::to_string(faults_.lost) +
           ", doubled " + std::to_string(faults_.doubled) + ", crashes " + std::to_string(crashes_) + ", pauses " +
           std::to_string(pauses_) + ", clock steps " + std::to_string(steps_) + ", rule changes " +
           std::to_string(changes_) + ", losses " + std::to_string(losses_) + (mixed_ ? ", some nodes exact" : "") +
           (gated_ ? ", gated" : "") + (quiet_ ? ", quiet" : "") + (crowd_ ? ", a crowd joins" : "");
  }

  const Setting setting_;
  World world_;
  const NetworkFaults faults_;
  Server server_;
  Rules rules_;
  Allowance allowance_;
  Allowance loosest_;
  Duration length_{0};
  std::int64_t tolerance_ = 0;  // of a synced rule
  synced::MemberList members_{Node::kTtl};
  std::uint64_t joined_ = 0;
  std::deque<Oracle> oracles_;
  const std::shared_ptr<std::atomic<std::uint32_t>> askers_ = std::make_shared<std::atomic<std::uint32_t>>(1);
  std::vector<std::unique_ptr<Node>> nodes_;
  bool crashing_ = false;
  bool mixed_ = false;  // some nodes are exact
  bool gated_ = false;  // there are requests that come to nothing
  bool crowd_ = false;  // many nodes join at once
  bool quiet_ = false;  // but for them and one burst there are no others, so that the bucket is full
  std::int64_t asked_ = 0;
  std::uint64_t from_slices_ = 0;
  int crashes_ = 0, pauses_ = 0, steps_ = 0, changes_ = 0, losses_ = 0;
};

}  // namespace

Result simulate(const Setting& setting) { return Run(setting).run(); }

}  // namespace weir::sim
