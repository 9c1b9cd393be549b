// RedisStore: buckets in Redis, shared by every node that uses the same servers.
//
//   auto options = weir::redis::parse_redis_url("redis://127.0.0.1:6379");
//   auto store = weir::redis::RedisStore::open(loop, options.value());
//
// Belongs to one loop: begin() must be called on it, and complete() runs on it. begin() answers inline only when it
// need not ask: the breaker is open, too much is in flight, or there is no connection; the call's status is then
// `unavailable`. A call that is not answered in time, or whose connection breaks, ends with `deadline_exceeded`: it may
// have been charged. Nothing is ever guessed: a server that is loading, a replica, or one without memory is a failure,
// not an empty bucket.
//
// No more is sent to a server than it can answer in time, which is measured; further calls wait for a moment, and
// each origin (a client's connection) has its turn. An origin with more calls waiting than kMaxWaiting is held back:
// its connection should stop reading. Calls that have waited for too long, or for which there is no
// room, end with `unavailable`. An answer that is late costs only its own call; only a server that is silent counts as
// failed.
//
// An answer that was lost is not asked for again, because the charge may have been made. Only errors that prove that
// nothing happened (NOSCRIPT, MOVED, ASK, TRYAGAIN) are followed by another attempt, within the deadline.
//
// In a cluster, a decision whose buckets live in several slots is charged in each of them at the same time; where one
// denies or fails, the others are undone at once and the call says `atomic = false`. It never admits too much.
//
// Destroying the store fails what is in flight: complete() then runs inside the destructor.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string_view>
#include <vector>

#include "stores/redis/census_exchange.h"
#include "stores/redis/directory.h"
#include "stores/redis/loop_timer.h"
#include "stores/redis/member_list.h"
#include "stores/redis/operation.h"
#include "stores/redis/options.h"
#include "stores/redis/shared_answers.h"
#include "stores/redis/stats.h"
#include "weir/result.h"
#include "weir/store.h"

namespace weir::redis {

class RedisStore final : public Store, private OperationHost {
 public:
  static constexpr std::size_t kMaxCharges = 64;
  static constexpr std::chrono::milliseconds kRetryDelay{2};  // after TRYAGAIN
  static constexpr std::size_t kMaxWaiting = 32;              // calls of one origin that wait for their turn
  static constexpr std::chrono::seconds kBadBucketPause{1};   // between two reports of unusable buckets

  // Starts to connect and does not wait for it: a server that is down is not a failure here, but TLS files that cannot
  // be read are. `listener` runs on the loop.
  static Result<std::unique_ptr<RedisStore>> open(boost::asio::io_context& loop, RedisOptions options,
                                                  StoreListener listener = {});
  ~RedisStore() override;

  // A call of an origin that is not known, or, inside a completion, of the completed call's origin.
  bool begin(StoreCall& call) override { return begin(call, 0); }
  bool begin(StoreCall& call, Origin origin);
  // True: this origin has enough under way. Some call of it is still to be completed.
  bool holds_back(Origin origin) const { return context_.queued.of(origin) >= kMaxWaiting; }
  bool uses_tags() const override { return true; }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "redis"; }

  // Requests with an Idempotency-Key. Like begin(), on the loop; `done` may run before it returns.
  void begin_once(const SharedAnswers::Ticket& ticket, std::size_t most, SharedAnswers::Begun done);
  void finish_once(const SharedAnswers::Ticket& ticket, std::string_view answer, Duration delay, Duration keep);
  void forget_once(const SharedAnswers::Ticket& ticket);

  // Tells that this node shares the tolerance of synced rules. On the loop; `done` runs there when Redis has answered.
  void beat(const MemberBeat& beat, MemberExchange::Answered done);

  // May be read from any thread while the store lives.
  const StoreStats& stats() const { return stats_; }
  const ServerTable& servers() const { return context_.servers; }

 private:
  RedisStore(boost::asio::io_context& loop, RedisOptions options, std::shared_ptr<TlsSetup> tls,
             StoreListener listener);

  const RedisOptions& options() const override { return options_; }
  const ScriptSet& scripts() const override { return scripts_; }
  Directory& directory() override { return *directory_; }
  StoreStats& counters() override { return stats_; }
  bool alive() const override { return alive_; }
  SubjectCensus& census() override { return *census_; }
  void exchange_census(std::uint32_t number, SteadyTime now) override { exchange_.start(number, *directory_, now); }
  void retry_later(Part& part) override;
  void release(Operation& operation) override;
  void complete(StoreCall& call, Origin origin) override;
  void bad_bucket(const Charge& charge, std::string_view why, SteadyTime now) override;

  Operation& acquire();
  void retry_all();

  const RedisOptions options_;
  const ScriptSet scripts_;
  StoreStats stats_;
  NodeContext context_;
  const std::shared_ptr<SubjectCensus> census_;
  CensusExchange exchange_;
  SharedAnswers answers_;
  MemberExchange members_;
  bool alive_ = true;
  Origin completing_ = 0;
  SteadyTime bad_bucket_told_{};
  std::uint64_t bad_buckets_untold_ = 0;
  std::vector<std::unique_ptr<Operation>> operations_;  // all of them
  std::vector<Operation*> idle_;
  std::vector<Part*> retrying_;
  LoopTimer retry_timer_;
  std::unique_ptr<Directory> directory_;
};

}  // namespace weir::redis
