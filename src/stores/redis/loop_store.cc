#include "stores/redis/loop_store.h"

#include <boost/asio/post.hpp>
#include <cassert>
#include <future>
#include <utility>

namespace weir::redis {

class LoopStore::Source final : public Store {
 public:
  explicit Source(std::unique_ptr<RedisStore> store) : store_(std::move(store)) {}

  bool begin(StoreCall& call) override {
    if (store_ != nullptr) return store_->begin(call);
    call.status = Code::unavailable;
    return true;
  }
  bool uses_tags() const override { return true; }
  bool holds_reservations() const override { return true; }
  bool immediate() const override { return false; }
  std::string_view name() const override { return "redis"; }

  bool closed() const { return store_ == nullptr; }
  void close() { store_.reset(); }

 private:
  std::unique_ptr<RedisStore> store_;
};

LoopStore::LoopStore(boost::asio::io_context* loop, std::size_t max_waiting)
    : own_loop_(loop == nullptr ? std::make_optional<int>(1) : std::nullopt),
      loop_(loop == nullptr ? *own_loop_ : *loop),
      max_waiting_(max_waiting) {}

Status LoopStore::start(const RedisOptions& options, StoreListener listener) {
  listener.on_connected = [connects = connects_, told = std::move(listener.on_connected)](const std::string& server) {
    connects->fetch_add(1, std::memory_order_relaxed);
    if (told) told(server);
  };
  Result<std::unique_ptr<RedisStore>> store = RedisStore::open(loop_, options, std::move(listener));
  if (!store.ok()) return store.failure();
  source_ = std::make_shared<Source>(std::move(store).value());
  leased_ = std::make_unique<leased::LeasedStore>(
      leased::Options{.store = source_, .clock = std::make_shared<ProcessClock>(), .epoch = connects_});
  return success();
}

Result<std::shared_ptr<SharedStore>> LoopStore::open(boost::asio::io_context& loop, const RedisOptions& options,
                                                     StoreListener listener) {
  const std::shared_ptr<LoopStore> store(new LoopStore(&loop, options.max_in_flight));
  if (Status started = store->start(options, std::move(listener)); !started.ok()) return started.failure();
  return std::shared_ptr<SharedStore>(store);
}

Result<std::shared_ptr<SharedStore>> LoopStore::open(const RedisOptions& options, StoreListener listener) {
  const std::shared_ptr<LoopStore> store(new LoopStore(nullptr, options.max_in_flight));
  if (Status started = store->start(options, std::move(listener)); !started.ok()) return started.failure();
  store->work_.emplace(store->loop_.get_executor());
  store->thread_ = std::thread([&loop = store->loop_] { loop.run(); });
  return std::shared_ptr<SharedStore>(store);
}

LoopStore::~LoopStore() {
  close();
  work_.reset();
  if (thread_.joinable()) thread_.join();
}

void LoopStore::close() {
  if (!thread_.joinable() || answers_on_this_thread()) {
    assert(!thread_.joinable() && "the Redis store cannot be closed on its own thread");
    return close_on_loop();
  }
  std::promise<void> closed;
  boost::asio::post(loop_, [&] {
    close_on_loop();
    closed.set_value();
  });
  closed.get_future().wait();
}

void LoopStore::close_on_loop() {
  if (source_ != nullptr) source_->close();
}

bool LoopStore::begin(StoreCall& call) {
  if (answers_on_this_thread()) return begin_on_loop(call);
  if (waiting_.fetch_add(1, std::memory_order_relaxed) >= max_waiting_) {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    call.status = Code::unavailable;
    return true;
  }
  boost::asio::post(loop_, [this, &call] {
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    if (begin_on_loop(call)) call.complete();
  });
  return false;
}

bool LoopStore::begin_on_loop(StoreCall& call) {
  if (!source_->closed()) return leased_->begin(call);
  call.status = Code::unavailable;
  return true;
}

}  // namespace weir::redis
