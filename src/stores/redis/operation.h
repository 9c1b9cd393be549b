// Operation: one decision on its way through Redis. It has a part for each slot that it touches; outside a cluster,
// one.
//
// The store keeps operations for reuse, and uses one again only when no answer for it can arrive any more: with
// undoing, that is after the decision itself was reported. Belongs to the store's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "stores/redis/directory.h"
#include "stores/redis/encoding.h"
#include "stores/redis/scripts.h"
#include "stores/redis/stats.h"
#include "weir/inline_vector.h"
#include "weir/store.h"

namespace weir::redis {

class Operation;

// One slot's share of a decision.
class Part final : public ReplyHandler {
 public:
  explicit Part(Operation& operation) : operation_(operation) {}

  // After retry_later().
  void retry(SteadyTime now);

  InlineVector<std::uint8_t, 8> which;  // indexes of the charges
  std::uint16_t slot = 0;
  Node* node = nullptr;  // where it was sent last

  void on_reply(Reply reply, SteadyTime now) override;
  void on_lost(FailureKind kind, SteadyTime now) override;

 private:
  friend class Operation;

  // Unless told otherwise: to the slot's node, by digest.
  struct Route {
    Node* node = nullptr;
    bool by_body = false;
    bool asking = false;
  };

  void reset();
  void send(const Route& route, SteadyTime now);
  void take_error(const ReplyItem& error, SteadyTime now);
  void follow(const ReplyItem& error, bool asking, SteadyTime now);
  bool take_answer(Reply reply);
  void undo(SteadyTime now);
  void end(SteadyTime now);
  void fail(FailureKind kind, SteadyTime now);

  static constexpr int kMaxAttempts = 8;

  Operation& operation_;
  int attempts_ = 0;
  bool reloaded_ = false;
  bool undoing_ = false;
  bool answered_ = false;
  bool charged_ = false;
  FailureKind failure_ = FailureKind::other;
  // What undoing needs of each charge: remaining and reset_after without it, and the moment at which it was made.
  struct Standing {
    std::int64_t remaining = 0;
    std::int64_t reset_after_us = 0;
    std::int64_t charged_at_us = 0;
  };
  InlineVector<Standing, 8> standing_;
};

// What operations need of their store.
class OperationHost {
 public:
  virtual const RedisOptions& options() const = 0;
  virtual const ScriptSet& scripts() const = 0;
  virtual Directory& directory() = 0;
  virtual StoreStats& counters() = 0;
  // False while the store is being destroyed: nothing may be sent.
  virtual bool alive() const = 0;
  // Calls part.retry() a little later.
  virtual void retry_later(Part& part) = 0;
  // The operation may be used again.
  virtual void release(Operation& operation) = 0;

 protected:
  ~OperationHost() = default;
};

class Operation {
 public:
  explicit Operation(OperationHost& host) : host_(host) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // True: it is under way and will complete `call`. False: nothing was sent and `call.status` says why.
  bool begin(StoreCall& call, SteadyTime now);

 private:
  friend class Part;

  void divide();
  Part& part_for(std::uint16_t slot);
  bool can_send(SteadyTime now);
  void refuse(FailureKind kind);
  void part_ended(SteadyTime now);
  void conclude(SteadyTime now);
  bool denied() const;
  ScriptAction action() const;
  std::int64_t now_us() const;

  OperationHost& host_;
  StoreCall* call_ = nullptr;  // null once it was completed
  SteadyTime started_{};
  SteadyTime deadline_{};
  std::deque<Part> parts_;  // the first used_ of them; a deque, because parts are borrowed by connections
  std::size_t used_ = 0;
  std::size_t under_way_ = 0;
};

}  // namespace weir::redis
