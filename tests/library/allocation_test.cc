// No heap allocation per check on the hot path: counted, not believed.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>
#include <vector>

#include "weir/limiter.h"
#include "weir/prepared_check.h"

namespace {
std::atomic<std::uint64_t> allocations{0};
}

// Not inlined: GCC would see free() meet operator new and warn, though they are a pair here.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { operator delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { operator delete(memory); }

namespace weir {
namespace {

class HotPath : public ::testing::TestWithParam<Algorithm> {
 protected:
  std::unique_ptr<Limiter> limiter() {
    Rules rules;
    for (int i = 0; i < 3; ++i) {
      Rule rule;
      rule.id = "rule-" + std::to_string(i);
      rule.match = {{"action", {"search"}}, {"path", {"/v1/*"}}};
      rule.per = {"tenant", "api_key"};
      rule.plans = {{"pro", {.limit = 900}}};
      rule.allowance = {.algorithm = GetParam(), .limit = 500, .window = std::chrono::hours(1)};
      rules.rules.push_back(rule);
    }
    return std::move(Limiter::create(rules)).value();
  }
};

TEST_P(HotPath, ChecksOfKnownSubjectsDoNotAllocate) {
  const auto limiter = this->limiter();
  const std::array<Attribute, 5> attributes = {Attribute{"tenant", "acme"},
                                               {"api_key", "0123456789abcdef"},
                                               {"action", "search"},
                                               {"path", "/v1/x"},
                                               {"plan", "pro"}};
  const Request request{attributes};
  // Past the limit once, so that a log has reached its full length and denials are measured too.
  for (int i = 0; i < 1'200; ++i) limiter->check(request);
  const std::uint64_t before = allocations.load();
  for (int i = 0; i < 1'000; ++i) limiter->check(request);
  EXPECT_EQ(0u, allocations.load() - before);

  const auto prepared = limiter->prepare(attributes);
  prepared->check();
  const std::uint64_t before_prepared = allocations.load();
  for (int i = 0; i < 1'000; ++i) prepared->check(Cost{i % 3});
  EXPECT_EQ(0u, allocations.load() - before_prepared);

  std::vector<Request> requests(16, request);
  std::vector<Decision> decisions(16);
  limiter->check_batch(requests, decisions);
  const std::uint64_t before_batch = allocations.load();
  for (int i = 0; i < 100; ++i) limiter->check_batch(requests, decisions);
  EXPECT_EQ(0u, allocations.load() - before_batch);
}

INSTANTIATE_TEST_SUITE_P(Every, HotPath,
                         ::testing::Values(Algorithm::fixed_window, Algorithm::bucketed_window, Algorithm::sliding_log,
                                           Algorithm::sliding_counter, Algorithm::token_bucket, Algorithm::gcra,
                                           Algorithm::leaky_bucket),
                         [](const auto& param) {
                           std::string name(algorithm_name(param.param));
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace weir
