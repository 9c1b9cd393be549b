// Timers that fire late: a process that was stopped, or whose machine was frozen, wakes to ticks that are all overdue
// and to bytes that came in time. Here the loop is kept busy for longer than the timeout instead.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <optional>

#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;

// Answers each line with the same line.
class EchoProtocol final : public Protocol {
 public:
  EchoProtocol(Link& link, std::atomic<int>& timeouts) : link_(link), timeouts_(timeouts) {}

  std::size_t on_bytes(std::string_view bytes) override {
    const std::size_t lines = bytes.rfind('\n') + 1;
    link_.output() += bytes.substr(0, lines);
    begun_ = lines < bytes.size();
    return lines;
  }
  bool idle() const override { return !begun_; }
  void on_timeout() override { ++timeouts_; }
  void on_drain() override { link_.close(); }

 private:
  Link& link_;
  std::atomic<int>& timeouts_;
  bool begun_ = false;
};

class LateTickTest : public testing::Test {
 protected:
  void start(Duration message_timeout) {
    const auto factory = [this](std::size_t) -> ProtocolFactory {
      return [this](Link& link) { return std::make_unique<EchoProtocol>(link, timeouts_); };
    };
    const Result<Endpoint> bound = loops_.listen({.endpoint = parse_endpoint("127.0.0.1:0").value(),
                                                  .limits = {.message_timeout = message_timeout},
                                                  .protocols = factory,
                                                  .tls = nullptr});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_.start();
  }

  // Keeps the loop from running for `time`, and does something meanwhile. Returns when the loop has come round again.
  void stall(Duration time, const std::function<void()>& meanwhile) {
    std::promise<void> stalled;
    std::promise<void> over;
    loops_.post(0, [&] {
      stalled.set_value();
      over.get_future().wait();
    });
    stalled.get_future().wait();
    meanwhile();
    std::this_thread::sleep_for(time);
    over.set_value();
    std::promise<void> passed;
    loops_.post(0, [&] { passed.set_value(); });
    passed.get_future().wait();
  }

  std::atomic<int> timeouts_{0};
  Endpoint endpoint_;
  Loops loops_{1};
};

TEST_F(LateTickTest, DoesNotCutOffAMessageThatArrivedMeanwhile) {
  start(1s);
  TestClient begun(endpoint_);
  ASSERT_TRUE(begun.send("hello\nbeg"));
  EXPECT_EQ(begun.read_until("\n"), "hello\n");
  stall(1600ms, [&] {
    // Longer than what one receive takes, so that several rounds of the loop pass before it is whole.
    ASSERT_TRUE(begun.send(std::string(200'000, 'u') + "n\n"));
  });
  EXPECT_THAT(begun.read_until("\n"), testing::EndsWith("uun\n"));
  EXPECT_EQ(timeouts_, 0);
}

TEST_F(LateTickTest, DoesNotAgeAConnectionThatHasJustCome) {
  start(1s);
  std::optional<TestClient> fresh;
  stall(1600ms, [&] {
    fresh.emplace(endpoint_);
    ASSERT_TRUE(fresh->send("hel"));
  });
  ASSERT_TRUE(fresh->send("lo\n"));
  EXPECT_EQ(fresh->read_until("\n"), "hello\n");
  EXPECT_EQ(timeouts_, 0);
}

TEST_F(LateTickTest, IsForgivenOnlyOnceInARowSoThatSlowMessagesStillEnd) {
  start(40ms);
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("beg"));
  for (int i = 0; i < 200 && timeouts_ == 0; ++i) stall(25ms, [] {});
  EXPECT_EQ(timeouts_, 1);
}

}  // namespace
}  // namespace weir::transport
