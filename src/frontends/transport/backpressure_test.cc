// A store that shares its room between connections: each byte is a job for it, done when the test says so.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "frontends/transport/loops.h"
#include "tests/support/test_client.h"

namespace weir::transport {
namespace {

constexpr std::size_t kShare = 3;

// Takes kShare jobs of each connection at once.
class Desk final : public Backpressure {
 public:
  bool holds_back(std::uint64_t connection) const override {
    const std::lock_guard lock(mutex_);
    const auto found = under_way_.find(connection);
    return found != under_way_.end() && found->second.size() >= kShare;
  }
  void take(std::uint64_t connection, std::shared_ptr<Link> link, std::function<void()> done) {
    const std::lock_guard lock(mutex_);
    under_way_[connection].push_back({std::move(link), std::move(done)});
    most_ = std::max(most_, under_way_[connection].size());
    ++taken_;
  }
  // Ends one job of each connection.
  void finish_one() {
    const std::lock_guard lock(mutex_);
    for (auto& [connection, jobs] : under_way_) {
      if (jobs.empty()) continue;
      jobs.back().first->post(jobs.back().second);
      jobs.pop_back();
    }
  }
  std::size_t taken() const { return locked(taken_); }
  std::size_t most() const { return locked(most_); }
  std::size_t connections() const {
    const std::lock_guard lock(mutex_);
    return under_way_.size();
  }

 private:
  std::size_t locked(const std::size_t& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::vector<std::pair<std::shared_ptr<Link>, std::function<void()>>>> under_way_;
  std::size_t taken_ = 0;
  std::size_t most_ = 0;
};

class JobProtocol final : public Protocol {
 public:
  JobProtocol(Link& link, Loop& loop, Desk& desk) : link_(link), loop_(loop), desk_(desk) {}

  std::size_t on_bytes(std::string_view bytes) override {
    std::size_t used = 0;
    for (; used < bytes.size() && !link_.congested(); ++used) {
      ++owed_;
      desk_.take(loop_.current_connection(), link_.hold(), [this] {
        --owed_;
        EXPECT_EQ(loop_.current_connection(), 0U) << "no connection's bytes are being handled";
        link_.output() += '.';
        link_.flush();
      });
    }
    return used;
  }
  bool idle() const override { return owed_ == 0; }
  bool waiting() const override { return owed_ > 0; }
  void on_drain() override { link_.close(); }

 private:
  Link& link_;
  Loop& loop_;
  Desk& desk_;
  int owed_ = 0;
};

class BackpressureTest : public testing::Test {
 protected:
  BackpressureTest() {
    loops_.loop(0).set_backpressure(desk_);
    const Result<Endpoint> bound = loops_.listen(
        {.endpoint = parse_endpoint("127.0.0.1:0").value(), .protocols = [this](std::size_t loop) -> ProtocolFactory {
           return [this, loop](Link& link) { return std::make_unique<JobProtocol>(link, loops_.loop(loop), desk_); };
         }});
    EXPECT_TRUE(bound.ok());
    endpoint_ = bound.value();
    loops_.start();
  }

  Desk desk_;
  Loops loops_{1};
  Endpoint endpoint_;
};

TEST_F(BackpressureTest, AConnectionIsReadNoFurtherWhileItsShareIsUsedAndGoesOnAfterwards) {
  TestClient greedy(endpoint_);
  ASSERT_TRUE(greedy.send(std::string(100, 'x')));
  ASSERT_TRUE(eventually([&] { return desk_.taken() == kShare; }));
  // The other one has a share of its own, whatever the first has asked for.
  TestClient modest(endpoint_);
  ASSERT_TRUE(modest.send("xx"));
  ASSERT_TRUE(eventually([&] { return desk_.taken() == kShare + 2; }));
  EXPECT_EQ(desk_.connections(), 2U) << "every connection has a number of its own";
  for (std::size_t done = 1; done <= 100; ++done) {
    desk_.finish_one();
    ASSERT_TRUE(eventually([&] { return desk_.taken() == 2 + std::min<std::size_t>(100, kShare + done); })) << done;
  }
  EXPECT_EQ(greedy.read(100), std::string(100, '.')) << "what was held back was not lost";
  EXPECT_EQ(modest.read(2), "..");
  EXPECT_EQ(desk_.most(), kShare);
}

TEST_F(BackpressureTest, APeerThatClosesItsSideStillGetsWhatWasHeldBack) {
  TestClient client(endpoint_);
  ASSERT_TRUE(client.send(std::string(10, 'x')));
  client.half_close();
  for (std::size_t done = 0; done < 10; ++done) {
    ASSERT_TRUE(eventually([&] { return desk_.taken() == std::min<std::size_t>(10, kShare + done); })) << done;
    desk_.finish_one();
  }
  EXPECT_EQ(client.read_to_end(), std::string(10, '.'));
}

}  // namespace
}  // namespace weir::transport
