#include "tests/redis/store_harness.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace weir::redis::testing {
namespace {

using std::chrono::steady_clock;

RedisOptions options_for(const std::string& url, std::chrono::milliseconds deadline) {
  auto options = parse_redis_url(url);
  if (!options.ok()) throw std::runtime_error(options.failure().message);
  options.value().deadline = deadline;
  return options.value();
}

}  // namespace

Charge charge_of(const Allowance& allowance, std::uint64_t key, std::uint64_t tag, std::int64_t cost) {
  Charge charge;
  charge.key = {0x1234567890abcdefU, key};
  charge.tag = {tag * 0x9e3779b97f4a7c15U, tag};
  charge.allowance = &allowance;
  charge.rule = "rule";
  charge.cost = cost;
  return charge;
}

Allowance allowance_of(Algorithm algorithm, std::int64_t limit, Duration window) {
  AllowanceSpec spec;
  spec.algorithm = algorithm;
  spec.limit = limit;
  spec.window = window;
  auto allowance = make_allowance(spec);
  if (!allowance.ok()) throw std::runtime_error(allowance.failure().message);
  return allowance.value();
}

StoreHarness::StoreHarness(const std::string& url, std::chrono::milliseconds deadline)
    : StoreHarness(options_for(url, deadline)) {}

StoreHarness::StoreHarness(RedisOptions options) {
  StoreListener listener;
  listener.on_breaker = [this](const BreakerChange& change) { changes.push_back(change); };
  listener.on_connect_failed = [this](const std::string&, const Trouble& trouble) {
    connect_failures.push_back(trouble);
  };
  listener.on_bad_bucket = [this](const std::string& key, const std::string& why, std::uint64_t) {
    bad_buckets.push_back(key + ": " + why);
  };
  auto store = RedisStore::open(loop_, std::move(options), std::move(listener));
  if (!store.ok()) throw std::runtime_error(store.failure().message);
  store_ = std::move(store).value();
}

StoreHarness::~StoreHarness() {
  store_.reset();
  loop_.restart();
  loop_.poll();
}

void StoreHarness::begin(TestCall& call, Origin origin) { call.inline_answer = store_->begin(call, origin); }

void StoreHarness::run_until(const std::string& what, const std::function<bool()>& condition) {
  const auto give_up = steady_clock::now() + std::chrono::seconds(15);
  while (!condition()) {
    if (steady_clock::now() > give_up) throw std::runtime_error("waited in vain until " + what);
    loop_.restart();
    loop_.run_one_for(std::chrono::milliseconds(1));
  }
}

void StoreHarness::wait(const TestCall& call) {
  run_until("the call is answered", [&] { return call.done(); });
}

void StoreHarness::run(TestCall& call) {
  begin(call);
  wait(call);
}

bool StoreHarness::take(const Charge& charge) {
  TestCall call(Action::take, {charge});
  run(call);
  EXPECT_EQ(call.status, Code::ok);
  return call.status == Code::ok && call.outcomes[0].admitted;
}

void StoreHarness::settle(const Charge& charge) {
  run_until("the store answers", [&] {
    TestCall call(Action::peek, {charge});
    run(call);
    return call.status == Code::ok;
  });
}

}  // namespace weir::redis::testing
