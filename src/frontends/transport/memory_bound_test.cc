// The bound on what all connections take, on real sockets: "N\\n" announces a message of N bytes, which is answered
// with its length. With `announces` the protocol reserves it whole; without, only the transport sees it grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <charconv>
#include <optional>
#include <vector>

#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLimit = std::size_t{4} << 20;
constexpr std::size_t kLarge = std::size_t{500} << 10;
constexpr std::size_t kPlain = std::size_t{4} << 10;  // of a connection without buffers

class SizedProtocol final : public Protocol {
 public:
  SizedProtocol(Link& link, bool announces) : link_(link), announces_(announces) {}

  std::size_t on_bytes(std::string_view bytes) override {
    std::size_t used = 0;
    while (!link_.congested()) {
      const std::string_view rest = bytes.substr(used);
      const std::size_t end = rest.find('\n');
      begun_ = !rest.empty();
      if (end == std::string_view::npos) break;
      std::size_t size = 0;
      std::from_chars(rest.data(), rest.data() + end, size);
      const std::size_t whole = end + 1 + size;
      if (rest.size() < whole) {
        if (announces_ && size > 1000 && !link_.reserve(whole, 0)) link_.await_memory();
        break;
      }
      used += whole;
      if (announces_) static_cast<void>(link_.reserve(0, 0));
      const std::size_t more = size == 7 ? 200'000 : size == 8 ? 50'000 : 0;
      link_.output() += "ok " + std::to_string(size) + std::string(more, 'x') + "\n";
    }
    return used;
  }
  bool idle() const override { return !begun_; }
  void on_shortage() override { link_.output() += "short\n"; }
  void on_drain() override { link_.close(); }

 private:
  Link& link_;
  const bool announces_;
  bool begun_ = false;
};

class MemoryBound : public testing::TestWithParam<bool> {
 protected:
  void start(Limits limits = {}) {
    limits.message_timeout = 1h;
    const auto factory = [](Link& link) { return std::make_unique<SizedProtocol>(link, GetParam()); };
    const Result<Endpoint> bound = loops_.listen({.endpoint = parse_endpoint("127.0.0.1:0").value(),
                                                  .limits = limits,
                                                  .protocols = [=](std::size_t) -> ProtocolFactory { return factory; },
                                                  .memory = memory_});
    ASSERT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }
  // All of a large message but its last byte, as far as the server takes it.
  static void begin(TestClient& client) {
    const std::string bytes = std::to_string(kLarge) + "\n" + std::string(kLarge - 1, 'b');
    ASSERT_GT(::send(client.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT), 0);
  }
  bool serves_small_ones() {
    TestClient fresh(endpoint_);
    return fresh.send("3\nabc") && fresh.read_until("\n") == "ok 3\n";
  }

  const std::shared_ptr<ConnectionMemory> memory_ = std::make_shared<ConnectionMemory>(kLimit);
  Loops loops_{2};
  Endpoint endpoint_;
};

TEST_P(MemoryBound, HoldsWhateverIsSentAndSmallRequestsAreServedMeanwhile) {
  start({.shortage_timeout = 100ms});
  std::vector<TestClient> clients;
  for (int i = 0; i < 60; ++i) begin(clients.emplace_back(endpoint_));
  // More than half of them cannot be served, and get an answer that says so.
  ASSERT_TRUE(eventually([&] {
    EXPECT_LE(memory_->used(), kLimit);
    EXPECT_TRUE(serves_small_ones());
    return memory_->refused() >= 30;
  }));
  clients.clear();
  EXPECT_TRUE(eventually([&] { return loops_.total().open == 0 && memory_->used() == 0; })) << memory_->used();
}

TEST_P(MemoryBound, ARefusedPeerGetsAnAnswer) {
  start({.shortage_timeout = 20ms});
  ASSERT_TRUE(memory_->take(memory_->most_for_large() - 100'000, ConnectionMemory::Use::large));
  TestClient client(endpoint_);
  begin(client);
  EXPECT_EQ(client.read_to_end(), "short\n");
  EXPECT_EQ(memory_->refused(), 1U);
}

TEST_P(MemoryBound, WhoWaitsGoesOnWhenMemoryComesBack) {
  start({.shortage_timeout = 1h});
  const std::size_t taken = memory_->most_for_large() - 100'000;
  ASSERT_TRUE(memory_->take(taken, ConnectionMemory::Use::large));
  std::vector<TestClient> clients;
  std::vector<std::thread> senders;
  for (int i = 0; i < 4; ++i) clients.emplace_back(endpoint_);
  for (TestClient& client : clients) {
    senders.emplace_back([&] { client.send(std::to_string(kLarge) + "\n" + std::string(kLarge, 'b')); });
  }
  EXPECT_TRUE(serves_small_ones());
  EXPECT_LE(memory_->used(), kLimit);
  memory_->give_back(taken);
  for (TestClient& client : clients) EXPECT_EQ(client.read_until("\n"), "ok " + std::to_string(kLarge) + "\n");
  for (std::thread& sender : senders) sender.join();
  EXPECT_EQ(memory_->refused(), 0U);
}

TEST_P(MemoryBound, NoConnectionIsAcceptedWhenNothingIsLeft) {
  start();
  ASSERT_TRUE(memory_->take(kLimit - kPlain + 1, ConnectionMemory::Use::small));
  TestClient client(endpoint_);
  client.send("3\nabc");
  EXPECT_EQ(client.read_to_end(), "");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(memory_->refused(), 1U);
  EXPECT_EQ(loops_.total().refused, 1U);
  memory_->give_back(kLimit / 2);
  EXPECT_TRUE(serves_small_ones()) << "and its place among the connections was given back";
}

TEST_P(MemoryBound, AConnectionThatRestsKeepsOnlySmallBuffers) {
  start({.shrink_after = 20ms});
  TestClient client(endpoint_);
  // Not so much that the buffer is given back at once.
  ASSERT_TRUE(client.send("50000\n" + std::string(50'000, 'b')));
  EXPECT_EQ(client.read_until("\n"), "ok 50000\n");
  EXPECT_TRUE(eventually([&] { return memory_->used() <= kPlain + 2 * InputBuffer::kFirstBytes; })) << memory_->used();
  ASSERT_TRUE(client.send("3\nabc"));
  EXPECT_EQ(client.read_until("\n"), "ok 3\n");
}

TEST_P(MemoryBound, AConnectionThatRestsKeepsNoRoomForAnAnswer) {
  start({.shrink_after = 20ms});
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("8\n12345678"));
  EXPECT_EQ(client.read_until("\n").size(), 50'005U);
  ASSERT_TRUE(eventually([&] { return memory_->take_peak() > 50'000; }));
  EXPECT_TRUE(eventually([&] { return memory_->used() <= kPlain + 2 * InputBuffer::kFirstBytes; })) << memory_->used();
}

TEST_P(MemoryBound, APeerThatTakesNoAnswersIsCutWhenMemoryIsShort) {
  start({.write_timeout = 1h, .shortage_timeout = 20ms});
  TestClient client(endpoint_, 4096);
  std::string many;
  for (int i = 0; i < 100; ++i) many += "7\n1234567";
  ASSERT_TRUE(client.send(many));
  ASSERT_TRUE(eventually([&] { return memory_->used() > 200'000; }));
  EXPECT_EQ(loops_.total().open, 1U);
  memory_->charge(kLimit);
  EXPECT_TRUE(eventually([&] { return loops_.total().open == 0; }));
  EXPECT_EQ(memory_->refused(), 1U);
  EXPECT_EQ(loops_.total().timed_out, 0U);
  memory_->give_back(kLimit);
  EXPECT_TRUE(eventually([&] { return memory_->used() == 0; })) << memory_->used();
}

INSTANTIATE_TEST_SUITE_P(Protocols, MemoryBound, testing::Bool(),
                         [](const auto& of) { return of.param ? "announcing" : "silent"; });

}  // namespace
}  // namespace weir::transport
