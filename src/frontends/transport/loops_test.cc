// The transport with a toy protocol on real sockets: each line of input is answered with the same line. A line "later"
// is answered when the test says so, "big" with much, "stay" pauses until the test resumes.
#include "frontends/transport/loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <set>

#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::size_t kBigAnswer = std::size_t{4} << 20;

// What the test and the protocols of one server share.
struct Shared {
  std::mutex mutex;
  std::vector<std::pair<std::shared_ptr<Link>, std::function<void()>>> held;  // answers owed
  std::set<std::thread::id> threads;
  std::atomic<int> timeouts{0};

  std::size_t owed() {
    const std::lock_guard lock(mutex);
    return held.size();
  }
  // Sends every owed answer, each on its own loop.
  void release() {
    const std::lock_guard lock(mutex);
    for (auto& [link, answer] : held) link->post(answer);
    held.clear();
  }
};

class LineProtocol final : public Protocol {
 public:
  LineProtocol(Link& link, Shared& shared) : link_(link), shared_(shared) {
    const std::lock_guard lock(shared_.mutex);
    shared_.threads.insert(std::this_thread::get_id());
  }

  std::size_t on_bytes(std::string_view bytes) override {
    std::size_t used = 0;
    begun_ = false;
    while (!link_.congested() && !paused_ && !link_.closed()) {
      const std::size_t end = bytes.find('\n', used);
      if (end == std::string_view::npos) {
        begun_ = used < bytes.size();
        break;
      }
      on_line(bytes.substr(used, end - used));
      used = end + 1;
    }
    return used;
  }
  bool idle() const override { return !begun_ && owed_ == 0; }
  bool waiting() const override { return owed_ > 0; }
  void on_timeout() override {
    ++shared_.timeouts;
    link_.output() += "too slow\n";
  }
  void on_drain() override {
    draining_ = true;
    if (idle()) link_.close();
  }

 private:
  void on_line(std::string_view line) {
    if (line == "later") return owe([this] { finish("at last\n"); });
    if (line == "stay") {
      paused_ = true;
      link_.pause();
      return owe([this] {
        paused_ = false;
        finish("resumed\n");
        link_.resume();
      });
    }
    if (line == "who") {
      link_.output() += "[" + link_.peer().address + (link_.peer().tls ? " tls " + link_.peer().alpn : "") + "]\n";
    } else if (line == "big") {
      link_.output().append(kBigAnswer, 'b');
      link_.output() += '\n';
    } else if (line == "soon") {
      link_.after(1ms, [this] { finish("soon enough\n"); });
      ++owed_;
    } else if (line == "bye") {
      link_.output() += "bye\n";
      link_.close();
    } else {
      link_.output() += line;
      link_.output() += '\n';
    }
  }
  void owe(std::function<void()> answer) {
    ++owed_;
    const std::lock_guard lock(shared_.mutex);
    shared_.held.emplace_back(link_.hold(), std::move(answer));
  }
  void finish(std::string_view text) {
    --owed_;
    link_.output() += text;
    link_.flush();
    if (draining_ && owed_ == 0) link_.close();
  }

  Link& link_;
  Shared& shared_;
  int owed_ = 0;
  bool begun_ = false;
  bool paused_ = false;
  bool draining_ = false;
};

class LoopsTest : public testing::Test {
 protected:
  void start(Limits limits = {}, std::size_t loops = 1, const char* where = "127.0.0.1:0") {
    loops_ = std::make_unique<Loops>(loops);
    const Result<Endpoint> bound = loops_->listen({.endpoint = parse_endpoint(where).value(),
                                                   .limits = limits,
                                                   .protocols = [this](std::size_t) { return factory(); },
                                                   .tls = nullptr});
    ASSERT_TRUE(bound.ok()) << bound.failure().message;
    endpoint_ = bound.value();
    loops_->start();
  }
  ProtocolFactory factory() {
    return [this](Link& link) { return std::make_unique<LineProtocol>(link, shared_); };
  }

  Shared shared_;
  std::unique_ptr<Loops> loops_;
  Endpoint endpoint_;
};

TEST_F(LoopsTest, AnswersManyMessagesOfOneConnectionInOrder) {
  start();
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("one\ntwo\nthr"));
  EXPECT_EQ(client.read_until("two\n"), "one\ntwo\n");
  ASSERT_TRUE(client.send("ee\nwho\n"));
  EXPECT_EQ(client.read_until("]\n"), "three\n[127.0.0.1]\n");
  const Counters counters = loops_->total();
  EXPECT_EQ(counters.accepted, 1u);
  EXPECT_EQ(counters.open, 1u);
}

TEST_F(LoopsTest, GrowsItsBufferForALongMessageAndRefusesAnEndlessOne) {
  start({.input_bytes = 100'000});
  const std::string line = std::string(90'000, 'x') + "\n";
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send(line + line + line));
  EXPECT_EQ(client.read(line.size() * 3), line + line + line);
  TestClient endless(endpoint_);
  endless.send(std::string(400'000, 'x'));
  EXPECT_EQ(endless.read_to_end(), "");
  EXPECT_TRUE(endless.ended());
}

TEST_F(LoopsTest, AnswersThatComeLaterAreFlushedAndOthersAreNotHeldUp) {
  start();
  TestClient slow(endpoint_);
  TestClient fast(endpoint_);
  ASSERT_TRUE(slow.send("later\nsoon\n"));
  ASSERT_TRUE(fast.send("hello\n"));
  EXPECT_EQ(fast.read_until("\n"), "hello\n");
  EXPECT_EQ(slow.read_until("\n"), "soon enough\n");
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  shared_.release();
  EXPECT_EQ(slow.read_until("\n"), "at last\n");
}

TEST_F(LoopsTest, BytesReceivedBeforeAPauseAreOfferedAgainAfterIt) {
  start();
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("stay\nheld back\n"));
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  shared_.release();
  EXPECT_EQ(client.read_until("held back\n"), "resumed\nheld back\n");
}

TEST_F(LoopsTest, APeerThatClosesItsSideStillGetsEveryAnswer) {
  start();
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("first\nlater\nunfinished"));
  client.half_close();
  EXPECT_EQ(client.read_until("\n"), "first\n");
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  shared_.release();
  EXPECT_EQ(client.read_to_end(), "at last\n");
  EXPECT_TRUE(client.ended());
  EXPECT_TRUE(eventually([&] { return loops_->total().open == 0; }));
}

TEST_F(LoopsTest, AClosedConnectionHasSentAllItsAnswers) {
  start();
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("big\nbye\nignored\n"));
  const std::string all = client.read_to_end();
  EXPECT_EQ(all.size(), kBigAnswer + 5);
  EXPECT_TRUE(all.ends_with("b\nbye\n"));
}

// Slow headers and slow bodies.
TEST_F(LoopsTest, AMessageThatDoesNotComeToItsEndIsCutOff) {
  start({.message_timeout = 40ms});
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("beg"));
  // One byte now and then must not prolong it.
  std::atomic<bool> stop{false};
  std::thread dripping([&] {
    while (!stop && client.send("i")) std::this_thread::sleep_for(5ms);
  });
  EXPECT_EQ(client.read_to_end(), "too slow\n");
  stop = true;
  dripping.join();
  EXPECT_EQ(shared_.timeouts, 1);
  EXPECT_EQ(loops_->total().timed_out, 1u);
}

TEST_F(LoopsTest, AnIdleConnectionIsClosedWithoutAWord) {
  start({.idle_timeout = 40ms});
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("hello\n"));
  EXPECT_EQ(client.read_to_end(), "hello\n");
  EXPECT_TRUE(client.ended());
  EXPECT_EQ(shared_.timeouts, 0);
  EXPECT_EQ(loops_->total().timed_out, 0u);
}

TEST_F(LoopsTest, NoTimeoutRunsWhileWeOweAnAnswer) {
  start({.message_timeout = 20ms, .idle_timeout = 20ms});
  TestClient waiting(endpoint_);
  ASSERT_TRUE(waiting.send("later\n"));
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  // Others time out meanwhile, so time has passed.
  for (int i = 0; i < 2; ++i) {
    TestClient idle(endpoint_);
    EXPECT_EQ(idle.read_to_end(), "");
  }
  shared_.release();
  EXPECT_EQ(waiting.read_until("\n"), "at last\n");
}

// Slow readers.
TEST_F(LoopsTest, APeerThatDoesNotTakeItsAnswersIsCutOff) {
  start({.write_timeout = 40ms});
  TestClient client(endpoint_, 4096);
  ASSERT_TRUE(client.send("big\nbig\nbig\n"));
  EXPECT_TRUE(eventually([&] { return loops_->total().timed_out == 1 && loops_->total().open == 0; }));
  EXPECT_LT(client.read_to_end().size(), 3 * kBigAnswer);
}

// Each has the whole timeout, also when the server has been up for longer than that.
TEST_F(LoopsTest, APeerThatTakesItsAnswersLateIsNotCutOffEarly) {
  start({.idle_timeout = 40ms, .write_timeout = 1s});
  TestClient never(endpoint_, 4096);
  ASSERT_TRUE(never.send("big\nbig\nbig\n"));
  ASSERT_TRUE(eventually([&] { return loops_->total().timed_out == 1; }));
  TestClient late(endpoint_, 4096);
  ASSERT_TRUE(late.send("big\nbig\nbig\n"));
  ASSERT_TRUE(late.read_until("b").starts_with("b"));
  // Another is swept away meanwhile, so its connection was looked at.
  TestClient idle(endpoint_);
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_EQ(loops_->total().timed_out, 1u);
}

TEST_F(LoopsTest, UnsentAnswersHoldBackFurtherRequests) {
  start({.output_bytes = 64 << 10});
  TestClient client(endpoint_);
  std::thread sender([&] {
    for (int i = 0; i < 4; ++i) client.send("big\n");
    client.send("end\n");
  });
  const std::string all = client.read_until("end\n");
  sender.join();
  EXPECT_EQ(all.size(), 4 * (kBigAnswer + 1) + 4);
}

TEST_F(LoopsTest, ConnectionsOverTheCapAreClosedAtOnceAndCounted) {
  start({.connections = 2});
  TestClient first(endpoint_);
  auto second = std::make_unique<TestClient>(endpoint_);
  ASSERT_TRUE(first.send("a\n"));
  ASSERT_TRUE(second->send("b\n"));
  EXPECT_EQ(first.read_until("\n"), "a\n");
  EXPECT_EQ(second->read_until("\n"), "b\n");
  TestClient third(endpoint_);
  EXPECT_EQ(third.read_to_end(), "");
  EXPECT_TRUE(third.ended());
  EXPECT_EQ(loops_->total().refused, 1u);
  second.reset();
  ASSERT_TRUE(eventually([&] { return loops_->total().open == 1; }));
  TestClient fourth(endpoint_);
  ASSERT_TRUE(fourth.send("d\n"));
  EXPECT_EQ(fourth.read_until("\n"), "d\n");
}

TEST_F(LoopsTest, DrainFinishesWhatIsOwedAndClosesTheRest) {
  start();
  TestClient idle(endpoint_);
  TestClient owed(endpoint_);
  ASSERT_TRUE(idle.send("hello\n"));
  EXPECT_EQ(idle.read_until("\n"), "hello\n");
  ASSERT_TRUE(owed.send("later\n"));
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  std::thread draining([&] { loops_->drain(std::chrono::seconds(20)); });
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_TRUE(idle.ended());
  idle.half_close();
  EXPECT_TRUE(eventually([&] { return !TestClient(endpoint_).connected(); }));
  shared_.release();
  EXPECT_EQ(owed.read_to_end(), "at last\n");
  owed.half_close();
  draining.join();
  EXPECT_EQ(loops_->total().open, 0u);
}

TEST_F(LoopsTest, DrainAnswersRequestsThatHaveArrivedAndWereNotLookedAt) {
  start();
  TestClient known(endpoint_);
  ASSERT_TRUE(known.send("hello\n"));
  EXPECT_EQ(known.read_until("\n"), "hello\n");
  // The loop is busy while a request arrives, and with it a connection that is not accepted yet.
  std::promise<void> busy;
  loops_->post(0, [&, until = busy.get_future().share()] { until.wait(); });
  ASSERT_TRUE(known.send("in time\n"));
  TestClient fresh(endpoint_);
  ASSERT_TRUE(fresh.send("me too\n"));
  std::thread draining([&] { loops_->drain(std::chrono::seconds(20)); });
  busy.set_value();
  EXPECT_EQ(known.read_to_end(), "in time\n");
  EXPECT_EQ(fresh.read_to_end(), "me too\n");
  known.half_close();
  fresh.half_close();
  draining.join();
}

TEST_F(LoopsTest, AGraceIsOnlyForProtocolsThatHaveAUseForIt) {
  start();
  TestClient idle(endpoint_);
  ASSERT_TRUE(idle.send("hello\n"));
  EXPECT_EQ(idle.read_until("\n"), "hello\n");
  std::thread draining([&] { loops_->drain(1h, 1h); });
  EXPECT_EQ(idle.read_to_end(), "");
  EXPECT_TRUE(idle.ended());
  idle.half_close();
  draining.join();
}

TEST_F(LoopsTest, AGraceIsNoLongerThanTheDeadline) {
  start();
  TestClient owed(endpoint_);
  ASSERT_TRUE(owed.send("later\n"));
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  loops_->drain(20ms, 1h);
  EXPECT_EQ(owed.read_to_end(), "");
  EXPECT_TRUE(owed.ended());
  shared_.release();
}

TEST_F(LoopsTest, DrainEndsAtItsDeadline) {
  start();
  TestClient owed(endpoint_);
  ASSERT_TRUE(owed.send("later\n"));
  ASSERT_TRUE(eventually([&] { return shared_.owed() == 1; }));
  loops_->drain(20ms);
  EXPECT_EQ(owed.read_to_end(), "");
  EXPECT_TRUE(owed.ended());
  // The answer that comes after the end finds the loop still there, and no one to send it to.
  shared_.release();
}

TEST_F(LoopsTest, EveryLoopSharesTheFreePortThatTheFirstOneTook) {
  start({}, 3);
  EXPECT_NE(endpoint_.port, 0);
  std::vector<TestClient> clients;
  // The kernel spreads by a hash of the ports; with this many connections no loop stays without.
  for (int i = 0; i < 64; ++i) {
    TestClient& client = clients.emplace_back(endpoint_);
    ASSERT_TRUE(client.send("hello\n"));
    ASSERT_EQ(client.read_until("\n"), "hello\n");
  }
  EXPECT_EQ(loops_->total().accepted, 64u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_GT(loops_->counters(i).open, 0u);
}

TEST_F(LoopsTest, AUnixSocketServesAllLoopsAndIsRemovedAtTheEnd) {
  const std::string path = testing::TempDir() + "weir_loops_" + std::to_string(getpid()) + ".sock";
  start({}, 2, ("unix:" + path).c_str());
  {
    TestClient one(endpoint_);
    TestClient two(endpoint_);
    ASSERT_TRUE(one.send("who\n"));
    ASSERT_TRUE(two.send("two\n"));
    EXPECT_EQ(one.read_until("\n"), "[]\n");
    EXPECT_EQ(two.read_until("\n"), "two\n");
    EXPECT_EQ(shared_.threads.size(), 2u);
  }
  // Another process listens there: the file must not be removed.
  Loops other(1);
  const Result<Endpoint> taken = other.listen(
      {.endpoint = endpoint_, .limits = {}, .protocols = [this](std::size_t) { return factory(); }, .tls = nullptr});
  ASSERT_FALSE(taken.ok());
  EXPECT_EQ(taken.failure().code, Code::already_exists);
  loops_->stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(LoopsTest, AUnixSocketLeftBehindIsReplacedAndAFileIsNot) {
  const std::string path = testing::TempDir() + "weir_stale_" + std::to_string(getpid()) + ".sock";
  {
    const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    ASSERT_EQ(bind(dead, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(dead);
  }
  start({}, 1, ("unix:" + path).c_str());
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send("hello\n"));
  EXPECT_EQ(client.read_until("\n"), "hello\n");
  loops_->stop();

  fclose(fopen(path.c_str(), "w"));
  Loops other(1);
  const Result<Endpoint> refused = other.listen(
      {.endpoint = endpoint_, .limits = {}, .protocols = [this](std::size_t) { return factory(); }, .tls = nullptr});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.failure().message, HasSubstr("not a socket"));
  std::filesystem::remove(path);
}

TEST_F(LoopsTest, AnAddressThatIsNotOursIsAFailureThatNamesIt) {
  Loops loops(1);
  const Result<Endpoint> bound = loops.listen({.endpoint = parse_endpoint("192.0.2.1:0").value(),
                                               .limits = {},
                                               .protocols = [this](std::size_t) { return factory(); },
                                               .tls = nullptr});
  ASSERT_FALSE(bound.ok());
  EXPECT_THAT(bound.failure().message, HasSubstr("192.0.2.1:0: bind"));
}

TEST_F(LoopsTest, RunningOutOfDescriptorsPausesAcceptingAndRecovers) {
  start();
  // A thread that has yet to begin is looked at by UBSan, which needs descriptors itself.
  std::promise<void> running;
  loops_->post(0, [&] { running.set_value(); });
  running.get_future().wait();
  const int waiting = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  // No number below the limit is free.
  const int lowest_free = dup(waiting);
  ::close(lowest_free);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(lowest_free);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(endpoint_.port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(waiting, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const bool refused = eventually([&] { return loops_->total().refused > 0; });
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(eventually([&] { return loops_->total().accepted == 1; }));
  // A loop that spins would have counted thousands.
  EXPECT_LT(loops_->total().refused, 50u);
  ::close(waiting);
}

TEST_F(LoopsTest, PostReachesTheLoopItNames) {
  start({}, 2);
  std::promise<std::thread::id> ids[2];
  for (std::size_t i = 0; i < 2; ++i) {
    loops_->post(i, [&, i] { ids[i].set_value(std::this_thread::get_id()); });
  }
  EXPECT_NE(ids[0].get_future().get(), ids[1].get_future().get());
}

}  // namespace
}  // namespace weir::transport
