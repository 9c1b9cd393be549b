// What tests of window lengths share: the algorithms that count by windows, and an engine with one rule, whose clock,
// rules and store can be begun again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "stores/memory/memory_store.h"

namespace weir::engine {

class WindowsTest : public ::testing::TestWithParam<Algorithm> {
 protected:
  WindowsTest() { begin_again(); }

  void begin_again() {
    clock_ = std::make_shared<ManualClock>();
    book_ = std::make_shared<rules::RuleBook>();
    LimiterOptions options;
    options.store = std::make_shared<memory::MemoryStore>(MemoryOptions{.max_bytes = 1 << 24});
    options.clock = clock_;
    options.hash_key = {1, 2, 3};
    engine_ = std::make_unique<Engine>(book_, options, std::make_shared<memory::MemoryStore>(MemoryOptions{}));
  }

  // A rule by tenant with the algorithm that is tested.
  static Rule rule_of(std::int64_t limit, Duration window) {
    Rule rule;
    rule.id = "r";
    rule.per = {"tenant"};
    rule.allowance = {.algorithm = GetParam(), .limit = limit, .window = window};
    return rule;
  }
  void load(Rule rule) {
    const Status loaded = book_->replace({.rules = {std::move(rule)}}, clock_->wall());
    ASSERT_TRUE(loaded.ok()) << loaded.failure().message;
  }

  // What tenant acme asks, with one more attribute.
  Decision check(Attribute other, std::int64_t cost) {
    const Attribute attributes[] = {{"tenant", "acme"}, other};
    return engine_->check(Request(attributes, Cost{cost}));
  }
  void refund(Attribute other, std::int64_t cost) {
    const Attribute attributes[] = {{"tenant", "acme"}, other};
    engine_->refund(Request(attributes, Cost{cost}));
  }
  void reset(Attribute other) {
    const Attribute attributes[] = {{"tenant", "acme"}, other};
    engine_->reset(Request(attributes));
  }

  std::shared_ptr<ManualClock> clock_;
  std::shared_ptr<rules::RuleBook> book_;
  std::unique_ptr<Engine> engine_;
};

inline auto algorithms_with_windows() {
  return ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                           Algorithm::sliding_counter);
}

inline std::string algorithm_in_a_test_name(const ::testing::TestParamInfo<Algorithm>& tested) {
  std::string name(algorithm_name(tested.param));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

}  // namespace weir::engine
