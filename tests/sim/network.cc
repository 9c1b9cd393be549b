#include "tests/sim/network.h"

#include <algorithm>
#include <utility>

namespace weir::sim {

RemoteStore::Message::Message(const StoreCall& original)
    : copies(original.charges.begin(), original.charges.end()), results(original.charges.size()) {
  for (const Charge& charge : copies) {
    allowances.push_back(*charge.allowance);
    rules.emplace_back(charge.rule);
  }
  for (std::size_t i = 0; i < copies.size(); ++i) {
    copies[i].allowance = &allowances[i];
    copies[i].rule = rules[i];
    copies[i].slices = nullptr;
  }
  action = original.action;
  charges = copies;
  outcomes = results;
  if (original.draw != nullptr) {
    step = *original.draw;
    draw = &step;
  }
}

bool RemoteStore::begin(StoreCall& call) {
  if (alive_ == nullptr) {
    call.status = Code::unavailable;
    return true;
  }
  World& world = server_.world();
  const NetworkFaults& faults = server_.faults();
  const std::uint64_t id = ++next_;
  pending_.emplace(id, &call);
  const auto message = std::make_shared<Message>(call);
  // What gives something back twice gives too much, whatever the rule: only what takes is doubled.
  const bool takes = call.action == Action::take || call.action == Action::draw;
  const int copies = takes && world.chance(faults.doubled) ? 2 : 1;
  for (int i = 0; i < copies; ++i) {
    if (world.chance(faults.lost)) continue;
    const auto sent = i == 0 ? message : std::make_shared<Message>(static_cast<const StoreCall&>(*message));
    world.after(world.between(faults.least_delay, faults.most_delay),
                [this, id, sent, alive = std::weak_ptr<bool>(alive_), &server = server_] {
                  if (alive.lock()) return arrive(id, sent);
                  server.execute(*sent);  // of a node that is gone by now
                });
  }
  world.after(kDeadline, [this, id, alive = std::weak_ptr<bool>(alive_)] {
    if (alive.lock()) fail(id);
  });
  return false;
}

void RemoteStore::arrive(std::uint64_t id, const std::shared_ptr<Message>& message) {
  server_.execute(*message);
  World& world = server_.world();
  if (world.chance(server_.faults().lost)) return;
  world.after(world.between(server_.faults().least_delay, server_.faults().most_delay),
              [this, id, message, alive = std::weak_ptr<bool>(alive_)] {
                if (alive.lock()) answer(id, message);
              });
}

void RemoteStore::answer(std::uint64_t id, const std::shared_ptr<Message>& message) {
  World& world = server_.world();
  if (paused()) {
    return world.at(paused_until_, [this, id, message, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) answer(id, message);
    });
  }
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  StoreCall& call = *found->second;
  pending_.erase(found);
  call.status = message->status;
  call.atomic = message->atomic;
  std::copy(message->results.begin(), message->results.end(), call.outcomes.begin());
  if (call.draw != nullptr) *call.draw = message->step;
  call.complete();
}

void RemoteStore::fail(std::uint64_t id) {
  World& world = server_.world();
  if (paused()) {
    return world.at(paused_until_, [this, id, alive = std::weak_ptr<bool>(alive_)] {
      if (alive.lock()) fail(id);
    });
  }
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  StoreCall& call = *found->second;
  pending_.erase(found);
  call.status = Code::deadline_exceeded;
  call.complete();
}

void RemoteStore::close() {
  alive_.reset();
  while (!pending_.empty()) {
    StoreCall& call = *pending_.begin()->second;
    pending_.erase(pending_.begin());
    call.status = Code::unavailable;
    call.complete();
  }
}

}  // namespace weir::sim
