// StoreHarness: a Redis store on a loop of its own, driven by the test's thread.
//
// One harness is one node of Weir. Not thread-safe.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/redis_store.h"
#include "stores/redis/url.h"
#include "weir/store.h"

namespace weir::redis::testing {

// A call that owns what it points to.
class TestCall final : public StoreCall {
 public:
  TestCall() = default;
  TestCall(Action what, std::vector<Charge> list, TimePoint at = {}) : list_(std::move(list)), results_(list_.size()) {
    action = what;
    now = at;
    charges = list_;
    outcomes = results_;
  }
  TestCall(const TestCall&) = delete;
  TestCall& operator=(const TestCall&) = delete;

  void complete() override { ++completions; }
  bool done() const { return inline_answer || completions > 0; }

  int completions = 0;
  bool inline_answer = false;

 private:
  std::vector<Charge> list_;
  std::vector<ChargeOutcome> results_;
};

// Bucket keys by number; buckets with one tag share a slot.
Charge charge_of(const Allowance& allowance, std::uint64_t key, std::uint64_t tag = 1, std::int64_t cost = 1);
Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window);

class StoreHarness {
 public:
  explicit StoreHarness(const std::string& url, std::chrono::milliseconds deadline = std::chrono::seconds(2));
  explicit StoreHarness(RedisOptions options);
  ~StoreHarness();

  RedisStore& store() { return *store_; }
  // Begins a call without waiting for it.
  void begin(TestCall& call, Origin origin = 0);
  // Lets the loop run until the call has been answered.
  void wait(const TestCall& call);
  // Begins and waits.
  void run(TestCall& call);
  // One unit from one bucket. True: admitted. A call that was not answered fails the test.
  bool take(const Charge& charge);
  // Lets the loop run until `condition` holds; throws after 15 s.
  void run_until(const std::string& what, const std::function<bool()>& condition);
  void poll() {
    loop_.restart();
    loop_.poll();
  }
  // Waits until a call is answered without failure.
  void settle(const Charge& charge);

  std::vector<BreakerChange> changes;
  std::vector<Trouble> connect_failures;
  std::vector<std::string> bad_buckets;  // key, why

 private:
  boost::asio::io_context loop_;
  std::unique_ptr<RedisStore> store_;
};

}  // namespace weir::redis::testing
