// MemberExchange: a node's beats to the list of those that share the tolerance of synced rules (synced/members.h).
//
// The list is the key `w1:{synced}:nodes`, with the namespace like every key: a hash. Its field `learns` is the moment
// until which no part grows; the others are nodes: number of the last beat, weight, the parts that it may be using, and
// when it is forgotten, in microseconds by the clock of Redis. It expires with its last node.
//
// Belongs to one loop. Borrows everything it is given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "stores/redis/connection.h"
#include "stores/redis/directory.h"

namespace weir::redis {

// As synced::Beat and synced::Grant.
struct MemberBeat {
  std::uint64_t id = 0;
  std::uint64_t number = 0;
  std::uint32_t weight = 1;
  std::uint32_t held = 0;
  Duration ttl{0};
};
struct MemberGrant {
  std::uint32_t parts = 0;
  std::uint32_t nodes = 0;
};

class MemberExchange {
 public:
  using Answered = std::function<void(const MemberGrant&)>;
  static constexpr std::int64_t kMaxMembers = 1'000;
  static constexpr std::chrono::milliseconds kLeastDeadline{100};  // no decision waits for it

  explicit MemberExchange(const NodeContext& context) : context_(context) {}

  // Does nothing while the last one is under way. `done` is called when Redis has answered, else never.
  void beat(const MemberBeat& beat, Directory& directory, SteadyTime now, Answered done);

 private:
  class Asking final : public ReplyHandler {
   public:
    void on_reply(Reply reply, SteadyTime now) override;
    void on_lost(FailureKind kind, SteadyTime now) override;

    Answered done;
    Node* node = nullptr;
    Directory* directory = nullptr;
    bool busy = false;
  };

  Connection* connection_for(Directory& directory, Node*& node) const;
  std::string key() const;

  const NodeContext& context_;
  Asking asking_;
};

}  // namespace weir::redis
