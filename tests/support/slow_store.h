// For tests of decorators of a store: SlowStore, a memory store that answers when it is told to, and CountingCall, a
// store call with what it points to.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "stores/memory/memory_store.h"
#include "weir/store.h"

namespace weir {

inline Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  return make_allowance({.algorithm = algorithm, .limit = limit, .window = window}).value();
}

class CountingCall final : public StoreCall {
 public:
  CountingCall(Action what, TimePoint at, std::vector<Charge> list) : list_(std::move(list)), results_(list_.size()) {
    action = what;
    now = at;
    charges = list_;
    outcomes = results_;
  }
  void complete() override { ++completions; }
  int completions = 0;

 private:
  std::vector<Charge> list_;
  std::vector<ChargeOutcome> results_;
};

class SlowStore final : public Store {
 public:
  bool begin(StoreCall& call) override {
    ++calls;
    if (call.action == Action::draw) draws.push_back(*call.draw);
    if (refuses) {
      call.status = Code::unavailable;
      return true;
    }
    if (at_once) return memory.begin(call);
    waiting.push_back(&call);
    return false;
  }
  bool immediate() const override { return at_once; }
  std::string_view name() const override { return "slow"; }
  void answer() {
    std::deque<StoreCall*> now;
    now.swap(waiting);
    for (StoreCall* const call : now) {
      if (failure != Code::ok) {
        call->status = failure;
      } else {
        static_cast<void>(memory.begin(*call));
      }
      call->complete();
    }
  }

  memory::MemoryStore memory;
  std::deque<StoreCall*> waiting;
  std::vector<DrawStep> draws;
  int calls = 0;
  bool at_once = true;
  Code failure = Code::ok;  // what those that wait are told, if not the answer
  bool refuses = false;     // it is known to be away: nothing is sent
};

}  // namespace weir
