// BaseRun: what all simulated runs have: a world, one rule and a gate, nodes, and an oracle for each key that judges
// what was admitted of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/network.h"
#include "tests/sim/oracle.h"
#include "tests/sim/simulation.h"
#include "tests/sim/world.h"
#include "weir/ask.h"
#include "weir/limiter.h"

namespace weir::sim {

template <typename Node>
class BaseRun {
 protected:
  static constexpr std::int64_t kKeys = 2;

  explicit BaseRun(std::uint64_t seed) : world_(seed) {}
  virtual ~BaseRun() = default;

  // When the store charged it. A server tells it (Server::execute); what a node answered by itself was spent just now.
  virtual TimePoint charged_at(const RuleOutcome& rule) const {
    return rule.estimated ? world_.now() : World::kStart + rule.delay - Duration{1};
  }

  NetworkFaults any_faults(Duration most_delay) {
    NetworkFaults faults;
    faults.least_delay = Duration{50};
    faults.most_delay = world_.between(Duration{200}, most_delay);
    if (world_.chance(500)) faults.lost = world_.between(0, 60);
    if (world_.chance(300)) faults.doubled = world_.between(0, 60);
    return faults;
  }

  static Rule rule_per_key() {
    Rule rule;
    rule.id = "r";
    rule.per = {"key"};
    rule.on_store_failure = FailurePolicy::deny;
    return rule;
  }
  // Beside it there is a rule that denies all that has the attribute: decisions that come to nothing.
  void use_rule(const Rule& rule) {
    Rule gate;
    gate.id = "gate";
    gate.match = {{"gate", {"shut"}}};
    gate.allowance = {.algorithm = Algorithm::fixed_window, .limit = 0, .window = std::chrono::seconds(1)};
    gate.on_store_failure = FailurePolicy::deny;
    rules_.rules = {rule, gate};
    allowance_ = make_allowance(rule.allowance).value();
    for (std::int64_t key = 0; key < kKeys; ++key) oracles_.emplace_back(allowance_);
  }

  TimePoint some_time() { return World::kStart + world_.between(Duration{0}, length_); }
  template <typename What>
  void on_some_node(What what) {
    world_.at(some_time(), [this, what] {
      if (!nodes_.empty()) what(static_cast<std::size_t>(world_.below(static_cast<std::int64_t>(nodes_.size()))));
    });
  }

  void take(Node& node, std::int64_t key, std::int64_t units, std::string_view gate) {
    if (node.paused()) return;
    ++asked_;
    const std::string name = std::to_string(key);
    const Attribute attributes[] = {{"key", name}, {"gate", gate}};
    ::weir::ask(
        node.limiter(), Action::take, Request(attributes, Cost{units}),
        [this, key](const Decision& decision) { decided(key, decision); },
        [this, key] { return [this, key](const Decision& decision) { decided(key, decision); }; });
  }

  void refund(Node& node) {
    if (node.paused()) return;
    const std::int64_t key = world_.below(kKeys);
    const std::int64_t units = world_.between(1, 5);
    oracles_[static_cast<std::size_t>(key)].forgive(world_.now(), units);
    const std::string name = std::to_string(key);
    const Attribute attribute{"key", name};
    ::weir::ask(
        node.limiter(), Action::refund, Request({&attribute, 1}, Cost{units}), [](const Decision&) {},
        [] { return [](const Decision&) {}; });
  }

  // Smaller numbers, which nodes load one after the other. The oracles keep the larger ones.
  void change_rules() {
    ++changes_;
    const std::int64_t limit = rules_.rules[0].allowance.limit;
    rules_.rules[0].allowance.limit = world_.between(limit / 2, limit);
    for (const std::shared_ptr<Node>& node : nodes_) {
      world_.after(world_.between(Duration{0}, std::chrono::milliseconds(50)), [this, weak = std::weak_ptr(node)] {
        if (const std::shared_ptr<Node> each = weak.lock()) static_cast<void>(each->limiter().replace(rules_));
      });
    }
  }

  void excuse(TimePoint time, std::int64_t units) {
    for (Oracle& oracle : oracles_) oracle.forgive(time, units);
  }

  // What is under way when a node is gone was not admitted.
  void remove(std::size_t i) {
    ++crashes_;
    stopping_ = true;
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(i));
    stopping_ = false;
  }

  Result judge(bool up_to_tolerance) {
    stopping_ = true;
    nodes_.clear();
    Result result;
    for (Oracle& oracle : oracles_) {
      result.over += up_to_tolerance ? oracle.over_at_once(tolerance_) : oracle.over();
      result.admitted += oracle.total();
    }
    result.asked = asked_;
    return result;
  }

  std::string rule_story() const {
    return std::string(algorithm_name(allowance_.algorithm)) + " limit " + std::to_string(allowance_.limit) +
           " window " + std::to_string(allowance_.window.count()) + "us capacity " +
           std::to_string(allowance_.largest_cost()) + " tolerance " + std::to_string(tolerance_);
  }
  std::string trouble_story() const {
    return ", crashes " + std::to_string(crashes_) + ", pauses " + std::to_string(pauses_) + ", rule changes " +
           std::to_string(changes_);
  }

  World world_;
  Rules rules_;
  Allowance allowance_;  // before rules change
  Duration length_{0};
  std::int64_t tolerance_ = 0;
  std::deque<Oracle> oracles_;
  std::vector<std::shared_ptr<Node>> nodes_;
  int pauses_ = 0;

 private:
  void decided(std::int64_t key, const Decision& decision) {
    if (stopping_ || !decision.allowed || decision.rules.empty()) return;
    const RuleOutcome& rule = decision.rules[0];
    oracles_[static_cast<std::size_t>(key)].admitted(charged_at(rule), rule.cost);
  }

  std::int64_t asked_ = 0;
  bool stopping_ = false;
  int crashes_ = 0, changes_ = 0;
};

}  // namespace weir::sim
