// Operation: one decision on its way through Redis. It has a part for each slot that it touches; outside a cluster,
// one.
//
// Nothing of it is sent unless all of it can be: where a server has as much under way as it can answer in time, the
// operation waits in that server's line, for a bounded time.
//
// The store keeps operations for reuse, and uses one again only when no answer for it can arrive any more: with
// undoing, that is after the decision itself was reported. Belongs to the store's loop.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>

#include "stores/redis/answer.h"
#include "stores/redis/directory.h"
#include "stores/redis/encoding.h"
#include "stores/redis/scripts.h"
#include "stores/redis/stats.h"
#include "stores/redis/subject_census.h"
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
  ScriptAction action() const;
  ScriptCall script_call() const;
  // What it answers is kept, because all of it is one step.
  bool is_once() const;
  // Null: done. Otherwise a charge whose answer cannot be right.
  const Charge* take_answer(Reply reply);
  bool denies() const;
  bool charges_candidate() const;
  void undo(SteadyTime now);
  // Sends a call that no one waits for.
  void send_after(const ScriptCall& call, SteadyTime now);
  // Of a reservation (operation_reservations.cc).
  void undo_reservation(SteadyTime now);
  // Of holds (operation_holds.cc).
  bool take_hold(Reply reply);
  bool take_list(Reply items);
  void end_lease(SteadyTime now);
  void end(SteadyTime now);
  // `said`: the text of the error, if there is one.
  void fail(FailureKind kind, SteadyTime now, std::string_view said = {});

  static constexpr int kMaxAttempts = 8;

  Operation& operation_;
  void ended_at_server(CallOutcome outcome, bool answered, SteadyTime now);

  int attempts_ = 0;
  std::size_t script_ = 0;  // of the last attempt, like the next two
  SteadyTime sent_{};
  ServerFigures* server_ = nullptr;
  bool reloaded_ = false;
  bool undoing_ = false;
  bool answered_ = false;
  bool charged_ = false;
  bool candidate_charged_ = false;  // only a candidate was
  bool asked_ = true;               // in the present stage of a reservation
  bool holds_ = false;              // its answers tell of a lease or a reservation
  bool leases_ = false;             // some of its charges are leases
  bool has_units_ = false;          // some of these have a cost: there is a lease to take, renew or end
  bool record_ = false;             // it has the reservation's record
  bool lost_ = false;               // the lease was lost while it was being acquired
  HoldAnswer hold_;                 // what is known of the call's hold, if there is one and it has charges here
  FailureKind failure_ = FailureKind::other;
  InlineVector<Standing, 8> standing_;  // of each charge, where undoing may be needed
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
  virtual SubjectCensus& census() = 0;
  // Exchanges with the other nodes what is known of the subjects of the rule with this number.
  virtual void exchange_census(std::uint32_t number, SteadyTime now) = 0;
  // Calls part.retry() a little later.
  virtual void retry_later(Part& part) = 0;
  // The operation may be used again.
  virtual void release(Operation& operation) = 0;
  // Completes a call of this origin: what its completion begins is the same origin's.
  virtual void complete(StoreCall& call, Origin origin) = 0;
  virtual void bad_bucket(const Charge& charge, std::string_view why, SteadyTime now) = 0;

 protected:
  ~OperationHost() = default;
};

class Operation final : private QueuedCall {
 public:
  explicit Operation(OperationHost& host) : host_(host) {}
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  // True: it is under way and will complete `call`. False: nothing was sent and `call.status` says why.
  bool begin(StoreCall& call, Origin caller, SteadyTime now);

 private:
  friend class Part;

  void divide();
  Part& part_for(std::uint16_t slot);
  std::optional<FailureKind> find_obstacle(SteadyTime now);
  Node* find_full(bool behind_line);
  void send(SteadyTime now);
  void proceed(SteadyTime now) override;
  void give_up(SteadyTime now) override;
  void refuse(FailureKind kind);
  void refuse_later(FailureKind kind);
  void part_ended(SteadyTime now);
  void conclude(SteadyTime now);
  bool denied() const;
  bool denied_elsewhere(const Part& part) const;
  // Of reservations (operation_reservations.cc): the steps of one that spans slots.
  enum class Stage : std::uint8_t {
    all,     // every part does what the call asks; to be closed, only the record's part
    fit,     // how much every part could grant
    read,    // what the record says, before it is extended
    others,  // the parts without the record are extended
    record,  // then that of the record
    follow,  // the parts without the record do as it says
    amend,   // the record is told what they answered
    raise,   // its leases are given the same token in all slots
  };
  bool reserves() const { return call_->hold != nullptr && call_->hold->reservation; }
  Stage first_stage() const;
  ScriptAction reservation_action(const Part& part) const;
  bool takes_part(const Part& part) const;
  void enter(Stage stage, SteadyTime now);
  bool go_on(SteadyTime now);
  bool follow_record(SteadyTime now);
  bool raise_token(SteadyTime now);
  void undo_reservation(SteadyTime now);
  void report_reservation();
  Part& record_part();
  // Of leases (operation_holds.cc).
  bool finds(HoldState state) const;
  bool agree_on_token(SteadyTime now);
  void end_gone_lease(SteadyTime now);
  bool must_undo(const Part& part, bool failed) const;
  void report_hold();
  ScriptAction action() const;
  std::int64_t now_us() const;
  void look_at_subjects(SteadyTime now);
  void record_subjects(const StoreCall& call, SteadyTime now);

  OperationHost& host_;
  StoreCall* call_ = nullptr;  // null once it was completed
  SteadyTime deadline_{};
  std::deque<Part> parts_;  // the first used_ of them; a deque, because parts are borrowed by connections
  std::size_t used_ = 0;
  std::size_t under_way_ = 0;
  bool raising_ = false;  // its lease is being given the same token in all slots
  Stage stage_ = Stage::all;
  bool is_first_ = false;   // the record was closed by this call
  bool follows_ = false;    // the parts without the record are to do as it says, not only to be described
  HoldStep step_;           // what parts are asked of the hold
  std::uint64_t full_ = 0;  // by charge: its rule has as many subjects as it may
};

}  // namespace weir::redis
