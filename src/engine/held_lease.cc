#include "weir/held_lease.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

namespace weir {

// Renews until it is told to stop or the lease is lost. The limiter is never called while the mutex is locked.
class HeldLease::Keeper {
 public:
  Keeper(LeaseLimiter& leases, LeaseQuestion question, std::function<void(const LeaseAnswer&)> lost)
      : leases_(leases), lost_(std::move(lost)) {
    question.verb = LeaseQuestion::Verb::acquire;
    const SteadyTime asked = std::chrono::steady_clock::now();
    answer_ = leases_.ask(question);
    if (answer_.fault != HoldFault::none || !answer_.decision.allowed) return;
    handle_ = answer_.handle;
    held_ = true;
    until_ = asked + answer_.ttl;
    thread_ = std::thread([this] { keep(); });
  }

  ~Keeper() { release(); }

  bool held() const {
    const std::lock_guard lock(mutex_);
    return held_;
  }
  const LeaseAnswer& answer() const { return answer_; }

  LeaseAnswer release() {
    std::unique_lock lock(mutex_);
    const bool held = std::exchange(held_, false);
    stopping_ = true;
    lock.unlock();
    wake_.notify_all();
    // From `lost`, which runs on the thread itself, there is nothing to wait for.
    if (thread_.joinable() && thread_.get_id() != std::this_thread::get_id()) thread_.join();
    return held ? leases_.release(handle_) : LeaseAnswer{};
  }

 private:
  using SteadyTime = std::chrono::steady_clock::time_point;

  void keep() {
    std::unique_lock lock(mutex_);
    SteadyTime next = until_ - answer_.ttl + answer_.ttl / 3;
    while (!wake_.wait_until(lock, next, [this] { return stopping_; })) {
      const std::string handle = handle_;
      const SteadyTime asked = std::chrono::steady_clock::now();
      lock.unlock();
      LeaseAnswer renewed = leases_.renew(handle, answer_.ttl);
      lock.lock();
      if (renewed.fault == HoldFault::none) {
        handle_ = renewed.handle;
        until_ = asked + renewed.ttl;
        next = asked + renewed.ttl / 3;
        continue;
      }
      const bool gone = renewed.fault == HoldFault::gone || renewed.fault == HoldFault::forged;
      const SteadyTime now = std::chrono::steady_clock::now();
      if (!gone && now < until_) {
        next = std::min(until_, now + answer_.ttl / 10);
        continue;
      }
      if (stopping_) return;
      held_ = false;
      lock.unlock();
      if (lost_) lost_(renewed);
      return;
    }
  }

  LeaseLimiter& leases_;
  const std::function<void(const LeaseAnswer&)> lost_;
  LeaseAnswer answer_;  // constant after construction

  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string handle_;     // guarded by mutex_
  SteadyTime until_;       // guarded by mutex_
  bool held_ = false;      // guarded by mutex_
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;
};

HeldLease::HeldLease(LeaseLimiter& leases, const LeaseQuestion& question, std::function<void(const LeaseAnswer&)> lost)
    : keeper_(std::make_unique<Keeper>(leases, question, std::move(lost))) {}
HeldLease::~HeldLease() = default;
HeldLease::HeldLease(HeldLease&&) noexcept = default;
HeldLease& HeldLease::operator=(HeldLease&&) noexcept = default;

bool HeldLease::held() const { return keeper_->held(); }
const LeaseAnswer& HeldLease::answer() const { return keeper_->answer(); }
LeaseAnswer HeldLease::release() { return keeper_->release(); }

}  // namespace weir
