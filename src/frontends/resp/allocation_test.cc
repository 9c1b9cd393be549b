// Counts the heap allocations of a steady stream of commands. Replaces operator new for this test program.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>

#include "frontends/resp/resp_protocol.h"
#include "tests/support/recording_link.h"

namespace {
thread_local std::size_t allocations = 0;
}  // namespace

// Not inlined: GCC would see free() meet operator new and warn, though they are a pair here.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace weir::resp {
namespace {

TEST(RespHotPath, DoesNotAllocateForACommand) {
  LimiterOptions limiter_options;
  limiter_options.clock = std::make_shared<ManualClock>();
  Result<std::unique_ptr<Limiter>> limiter = Limiter::create({}, limiter_options);
  ASSERT_TRUE(limiter.ok());
  transport::RecordingLink link;
  const RespOptions options;
  RespProtocol protocol(link, *limiter.value(), options, 1);
  std::string pipeline;
  for (int i = 0; i < 32; ++i) {
    pipeline += "*6\r\n$11\r\nCL.THROTTLE\r\n$4\r\nkey" + std::to_string(i % 10) +
                "\r\n$3\r\n100\r\n$3\r\n100\r\n$2\r\n60\r\n$1\r\n1\r\n";
    pipeline += "*3\r\n$10\r\nWEIR.CHECK\r\n$6\r\ntenant\r\n$4\r\nacme\r\n*1\r\n$4\r\nPING\r\n";
  }
  protocol.on_bytes(pipeline);  // buffers grow, buckets are made
  link.sent.clear();
  const std::size_t before = allocations;
  ASSERT_EQ(protocol.on_bytes(pipeline), pipeline.size());
  EXPECT_EQ(allocations, before);
  EXPECT_GT(link.sent.size(), 1000U);
}

}  // namespace
}  // namespace weir::resp
