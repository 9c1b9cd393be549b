// LoopStore: a Redis store, which belongs to one loop, for callers on any thread. Calls from other threads are handed
// to the loop; those from the loop's own thread go straight to the store. Leased rules spend their slices on the loop.
//
// Thread-safe, except for destruction. Everything below "on the loop" is only touched there. What waits for the loop is
// bounded by the store's max_in_flight.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <memory>
#include <optional>
#include <thread>

#include "stores/leased/leased_store.h"
#include "stores/redis/options.h"
#include "stores/redis/redis_store.h"
#include "weir/redis.h"

namespace weir::redis {

class LoopStore final : public SharedStore {
 public:
  // On a thread of its own.
  static Result<std::shared_ptr<SharedStore>> open(const RedisOptions& options, StoreListener listener);
  // On a loop that the caller runs. Borrows it.
  static Result<std::shared_ptr<SharedStore>> open(boost::asio::io_context& loop, const RedisOptions& options,
                                                   StoreListener listener);
  ~LoopStore() override;
  LoopStore(const LoopStore&) = delete;
  LoopStore& operator=(const LoopStore&) = delete;

  bool begin(StoreCall& call) override;
  bool uses_tags() const override { return true; }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "redis"; }
  bool answers_on_this_thread() const override { return loop_.get_executor().running_in_this_thread(); }
  void close() override;

 private:
  // Without a loop of the caller's: one of its own.
  LoopStore(boost::asio::io_context* loop, std::size_t max_waiting);
  Status start(const RedisOptions& options, StoreListener listener);
  bool begin_on_loop(StoreCall& call);
  void close_on_loop();

  // What slices are drawn from. It is there as long as the slices are; the store in it ends when this one is closed.
  class Source;

  std::optional<boost::asio::io_context> own_loop_;
  boost::asio::io_context& loop_;
  const std::size_t max_waiting_;
  std::atomic<std::size_t> waiting_{0};  // calls that the loop has yet to take over
  // How often a connection was made: what was drawn before the last one may be lost.
  const std::shared_ptr<std::atomic<std::uint64_t>> connects_ = std::make_shared<std::atomic<std::uint64_t>>(0);
  std::shared_ptr<Source> source_;               // on the loop, like the next
  std::unique_ptr<leased::LeasedStore> leased_;  // over source_
  std::optional<boost::asio::executor_work_guard<boost::asio::io_context::executor_type>> work_;
  std::thread thread_;  // runs own_loop_
};

}  // namespace weir::redis
