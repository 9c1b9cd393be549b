// The probe that asks a server whether it can decide again: what counts as an answer, and that its owner always hears
// of the end.
#include "stores/redis/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/redis/fake_server.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::HasSubstr;

class ProbeTest : public ::testing::Test, protected ConnectionOwner, protected ProbeOwner {
 protected:
  static constexpr std::uint16_t kSlot = 77;

  ~ProbeTest() override = default;

  void start() {
    connection_.open({"127.0.0.1", server_.port()});
    run_until("the connection is ready", [&] { return connection_.ready(); });
    probe_.send(connection_, steady_clock::now(), hours(1));
  }
  // Sends a probe that is answered so, and waits for its end.
  std::optional<Trouble> ask(const std::string& answer) {
    server_.set_answer(answer);
    server_.release_all();
    start();
    run_until("the probe ends", [&] { return !ends_.empty(); });
    EXPECT_EQ(ends_.size(), 1U);
    return ends_.at(0);
  }
  void run_until(const std::string& what, const std::function<bool()>& condition) {
    const SteadyTime end = steady_clock::now() + seconds(15);
    while (!condition()) {
      ASSERT_LT(steady_clock::now(), end) << "waited in vain until " << what;
      loop_.restart();
      loop_.run_one_for(milliseconds(5));
    }
  }

  void on_ready() override {}
  void on_trouble(const Trouble&, bool) override {}
  void on_down() override {}
  void on_probed(const std::optional<Trouble>& trouble, SteadyTime) override { ends_.push_back(trouble); }

  FakeServer server_;
  boost::asio::io_context loop_;
  const Greeting greeting_;
  const ScriptSet scripts_;
  Probe probe_{scripts_, kSlot, true, static_cast<ProbeOwner&>(*this)};
  std::vector<std::optional<Trouble>> ends_;
  Connection connection_{
      loop_, nullptr, greeting_, {.connect = hours(1), .silence = hours(1)}, 1, static_cast<ConnectionOwner&>(*this)};
};

TEST_F(ProbeTest, AServerThatRunsBothScriptsPasses) {
  EXPECT_FALSE(ask(outcome_text(1, 1)));
  EXPECT_EQ(server_.arrived(), 2U);
}

TEST_F(ProbeTest, AServerThatSendsTheCallElsewherePasses) { EXPECT_FALSE(ask("-MOVED 77 127.0.0.1:7000\r\n")); }

TEST_F(ProbeTest, AnErrorIsToldInTheServersWords) {
  const std::optional<Trouble> trouble = ask("-NOPERM this user has no permissions to run the 'evalsha' command\r\n");
  ASSERT_TRUE(trouble);
  EXPECT_EQ(trouble->cause, Cause::permission);
  EXPECT_THAT(trouble->said, HasSubstr("no permissions"));
}

TEST_F(ProbeTest, AServerThatForgetsItsScriptsIsAskedByTheirTextOnce) {
  const std::optional<Trouble> trouble = ask("-NOSCRIPT No matching script.\r\n");
  ASSERT_TRUE(trouble);
  EXPECT_THAT(trouble->said, HasSubstr("does not keep scripts"));
  EXPECT_EQ(server_.arrived(), 4U);
}

// Otherwise no other probe would ever be sent.
TEST_F(ProbeTest, AProbeWhoseConnectionIsLostEndsOnceAndHasFailed) {
  start();
  run_until("the probe has arrived", [&] { return server_.arrived() == 2; });
  EXPECT_TRUE(ends_.empty());
  server_.hang_up();
  run_until("the probe ends", [&] { return !ends_.empty(); });
  ASSERT_EQ(ends_.size(), 1U);
  ASSERT_TRUE(ends_[0]);
  EXPECT_EQ(ends_[0]->cause, Cause::lost);
  EXPECT_EQ(ends_[0]->said, "") << "the connection says why";
}

}  // namespace
}  // namespace weir::redis::testing
