// One connection to a server that answers what the test says: the greeting, what becomes of commands that are not
// answered, and when it connects again.
#include "stores/redis/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/redis/fake_server.h"

namespace weir::redis::testing {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Handler final : public ReplyHandler {
 public:
  void on_reply(Reply reply, SteadyTime) override { replies.emplace_back(reply[0].text); }
  void on_lost(FailureKind kind, SteadyTime) override { lost.push_back(kind); }
  bool done() const { return !replies.empty() || !lost.empty(); }

  std::vector<std::string> replies;
  std::vector<FailureKind> lost;
};

class ConnectionTest : public ::testing::Test, protected ConnectionOwner {
 protected:
  ~ConnectionTest() override = default;

  Connection& open(milliseconds silence = hours(1), milliseconds connect = hours(1)) {
    connection_ = std::make_unique<Connection>(loop_, nullptr, greeting_, Connection::Timeouts{connect, silence}, 1,
                                               static_cast<ConnectionOwner&>(*this));
    connection_->open({"127.0.0.1", server_.port()});
    return *connection_;
  }
  Connection& open_and_greet(milliseconds silence = hours(1)) {
    Connection& connection = open(silence);
    run_until("the connection is ready", [&] { return connection.ready(); });
    return connection;
  }
  void send(Handler& handler, const std::string& command, Connection::Sending sending) {
    ASSERT_TRUE(connection_->accepts());
    CommandWriter(connection_->start(), 1).word(command);
    connection_->finish(handler, sending);
  }
  // One that may wait as long as the test does.
  void send(Handler& handler, const std::string& command, std::uint32_t place = 0) {
    send(handler, command, {.now = steady_clock::now(), .deadline = steady_clock::now() + hours(1), .place = place});
  }
  void run_until(const std::string& what, const std::function<bool()>& condition) {
    const SteadyTime end = steady_clock::now() + seconds(15);
    while (!condition()) {
      ASSERT_LT(steady_clock::now(), end) << "waited in vain until " << what;
      loop_.restart();
      loop_.run_one_for(milliseconds(5));
    }
  }
  void ask_role() {
    CommandWriter(greeting_.commands, 1).word("ROLE");
    greeting_.steps.push_back(Greeting::Step::role);
  }

  void on_ready() override { ++ready_; }
  void on_trouble(const Trouble& trouble, bool was_ready) override {
    troubles_.push_back(trouble);
    were_ready_.push_back(was_ready);
    reconnects_at_once_.push_back(connection_->accepts());
  }
  void on_down() override {}
  void on_answered(std::size_t place, std::chrono::microseconds) override { places_.push_back(place); }

  FakeServer server_;
  boost::asio::io_context loop_;
  Greeting greeting_;
  int ready_ = 0;
  std::vector<Trouble> troubles_;
  std::vector<bool> were_ready_;
  std::vector<bool> reconnects_at_once_;
  std::vector<std::size_t> places_;
  std::unique_ptr<Connection> connection_;
};

// --- The greeting ---

TEST_F(ConnectionTest, LogsInAndChoosesTheDatabaseBeforeAnyCommand) {
  greet(greeting_, "weir", "swordfish", 3);
  ask_role();
  server_.set_reply("ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  open();
  Handler handler;
  send(handler, "PING");
  run_until("the command is answered", [&] { return handler.done(); });
  EXPECT_THAT(server_.commands(), ElementsAre("AUTH", "SELECT", "ROLE", "PING"));
  EXPECT_THAT(handler.replies, ElementsAre("OK"));
  EXPECT_EQ(ready_, 1);
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(ConnectionTest, AServerIsUsedOnlyIfItsRoleIsMaster) {
  ask_role();
  const std::string others[] = {"*5\r\n$5\r\nslave\r\n$9\r\n127.0.0.1\r\n:1\r\n$9\r\nconnected\r\n:1\r\n",
                                "*2\r\n$8\r\nsentinel\r\n*0\r\n",
                                "*1\r\n$9\r\nmastering\r\n",
                                "*1\r\n$5\r\nmaste\r\n",
                                "*1\r\n:1\r\n",
                                "*0\r\n",
                                "+master\r\n"};
  for (const std::string& role : others) {
    troubles_.clear();
    server_.set_reply("ROLE", role);
    open();
    run_until("the role is refused", [&] { return !troubles_.empty(); });
    EXPECT_EQ(troubles_[0].cause, Cause::not_master) << role;
    EXPECT_EQ(ready_, 0) << role;
  }
  EXPECT_THAT(troubles_[0].said, HasSubstr("its role is unknown"));
  server_.set_reply("ROLE", others[0]);
  troubles_.clear();
  open();
  run_until("the role is refused", [&] { return !troubles_.empty(); });
  EXPECT_THAT(troubles_[0].said, HasSubstr("its role is slave"));
  // A failover makes it a master; the connection finds out by itself.
  server_.set_reply("ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n");
  run_until("the connection is ready", [&] { return connection_->ready(); });
}

TEST_F(ConnectionTest, ARefusedLogInNeverShowsThePassword) {
  greet(greeting_, "", "swordfish", 0);
  server_.set_reply("AUTH", "-ERR unknown command 'AUTH', with args beginning with: 'swordfish'\r\n");
  open();
  run_until("the log-in is refused", [&] { return !troubles_.empty(); });
  EXPECT_EQ(troubles_[0].cause, Cause::auth);
  EXPECT_THAT(troubles_[0].said, HasSubstr("unknown command"));
  EXPECT_THAT(troubles_[0].said, Not(HasSubstr("swordfish")));
  EXPECT_FALSE(were_ready_[0]);
  server_.set_reply("AUTH", "-ERR swordfish is not the password\r\n");
  connection_->reopen();
  run_until("the log-in is refused again", [&] { return troubles_.size() > 1; });
  EXPECT_EQ(troubles_.back().cause, Cause::auth);
  EXPECT_THAT(troubles_.back().said, Not(HasSubstr("swordfish")));
}

TEST_F(ConnectionTest, SaysWhichStepOfTheGreetingFailed) {
  greet(greeting_, "weir", "swordfish", 99);
  server_.set_reply("AUTH", "-WRONGPASS invalid username-password pair or user is disabled.\r\n");
  open();
  run_until("the log-in is refused", [&] { return !troubles_.empty(); });
  EXPECT_EQ(troubles_[0].cause, Cause::auth);
  server_.set_reply("AUTH", "-LOADING Redis is loading the dataset in memory\r\n");
  run_until("the server is starting", [&] { return troubles_.size() > 1; });
  EXPECT_EQ(troubles_[1].cause, Cause::loading) << "that does not make the password wrong";
  server_.set_reply("AUTH", "+OK\r\n");
  server_.set_reply("SELECT", "-ERR DB index is out of range\r\n");
  run_until("the database is refused", [&] { return troubles_.back().cause != Cause::loading; });
  EXPECT_EQ(troubles_.back().cause, Cause::database);
  EXPECT_EQ(ready_, 0);
}

TEST_F(ConnectionTest, AStepThatMayFailDoesNotStopTheGreeting) {
  CommandWriter(greeting_.commands, 1).word("CLIENT");
  greeting_.steps.push_back(Greeting::Step::anything);
  server_.set_reply("CLIENT", "-ERR unknown command 'CLIENT'\r\n");
  open_and_greet();
  EXPECT_THAT(troubles_, IsEmpty());
}

// --- Commands that are not answered ---

// A command may have been begun long before it is sent: it was redirected here, or it waited for its turn.
TEST_F(ConnectionTest, SilenceBeginsWithTheLastAnswerIfTheCommandIsOlder) {
  greet(greeting_, "", "swordfish", 0);
  server_.set_reply("PING", "");
  Connection& connection = open_and_greet(seconds(60));
  Handler handler;
  const SteadyTime now = steady_clock::now();
  send(handler, "PING", {.now = now - hours(1), .deadline = now});
  run_until("the command is given up", [&] { return handler.done(); });
  EXPECT_THAT(handler.lost, ElementsAre(FailureKind::late)) << "the server has answered a moment ago";
  EXPECT_TRUE(connection.ready());
  EXPECT_EQ(connection.waiting(), 1U) << "its answer may still come";
  EXPECT_THAT(troubles_, IsEmpty());
}

TEST_F(ConnectionTest, SilenceBeginsWithTheCommandIfTheLastAnswerIsOlder) {
  server_.set_reply("PING", "");
  Connection& connection = open_and_greet(seconds(60));  // without a greeting nothing was ever answered
  Handler handler;
  const SteadyTime now = steady_clock::now();
  send(handler, "PING", {.now = now, .deadline = now});
  run_until("the command is given up", [&] { return handler.done(); });
  EXPECT_THAT(handler.lost, ElementsAre(FailureKind::late)) << "the server was idle and not silent";
  EXPECT_TRUE(connection.ready());
}

TEST_F(ConnectionTest, ASilentServerIsCutOffAndAllThatWaitedIsLost) {
  server_.set_reply("PING", "");
  open_and_greet(milliseconds(1));
  Handler overdue;
  Handler waiting;
  send(overdue, "PING", {.now = steady_clock::now(), .deadline = steady_clock::now() + milliseconds(2)});
  send(waiting, "PING");
  run_until("the connection is cut", [&] { return !troubles_.empty(); });
  EXPECT_EQ(troubles_[0].cause, Cause::no_reply);
  EXPECT_THAT(troubles_[0].said, HasSubstr("no reply for 1 ms"));
  EXPECT_TRUE(were_ready_[0]);
  EXPECT_THAT(waiting.lost, ElementsAre(FailureKind::timeout));
  EXPECT_EQ(overdue.lost.size(), 1U);
  EXPECT_EQ(connection_->waiting(), 0U);
}

TEST_F(ConnectionTest, ALateAnswerIsDroppedAndTheNextOneIsTheNextCommands) {
  server_.set_reply("PING", "");
  server_.set_reply("ECHO", "+late\r\n+mine\r\n");
  Connection& connection = open_and_greet();
  Handler late;
  send(late, "PING", {.now = steady_clock::now(), .deadline = steady_clock::now()});
  run_until("the command is given up", [&] { return late.done(); });
  Handler next;
  send(next, "ECHO");
  run_until("the next one is answered", [&] { return next.done(); });
  EXPECT_THAT(next.replies, ElementsAre("mine"));
  EXPECT_THAT(late.replies, IsEmpty());
  EXPECT_EQ(connection.waiting(), 0U);
}

TEST_F(ConnectionTest, TheAnswerBeforeACommandsOwnIsSkipped) {
  server_.set_reply("ECHO", "+mine\r\n");
  open_and_greet();
  Handler handler;
  CommandWriter(connection_->start(), 1).word("ASKING");
  send(handler, "ECHO", {.now = steady_clock::now(), .deadline = steady_clock::now() + hours(1), .skipped = 1});
  run_until("it is answered", [&] { return handler.done(); });
  EXPECT_THAT(handler.replies, ElementsAre("mine"));
}

TEST_F(ConnectionTest, WhatIsOverdueBeforeTheConnectionIsReadyIsNeverSent) {
  greet(greeting_, "", "swordfish", 0);
  server_.set_reply("AUTH", "");
  server_.set_reply("ECHO", "+mine\r\n");
  Connection& connection = open();
  Handler overdue;
  Handler with_it;
  send(with_it, "PING");
  send(overdue, "PING", {.now = steady_clock::now(), .deadline = steady_clock::now() + milliseconds(1)});
  run_until("they are given up", [&] { return overdue.done() && with_it.done(); });
  EXPECT_THAT(overdue.lost, ElementsAre(FailureKind::connect));
  EXPECT_THAT(with_it.lost, ElementsAre(FailureKind::connect));
  EXPECT_TRUE(connection.accepts()) << "the connection goes on opening";
  EXPECT_THAT(troubles_, IsEmpty());
  server_.set_reply("AUTH", "+OK\r\n");
  connection.reopen();
  Handler next;
  send(next, "ECHO");
  run_until("the next one is answered", [&] { return next.done(); });
  EXPECT_THAT(next.replies, ElementsAre("mine"));
  EXPECT_THAT(server_.commands(), Not(::testing::Contains("PING")));
}

TEST_F(ConnectionTest, ServiceTimeIsMeasuredOnlyOfCommandsSentAtOnce) {
  open();
  Handler before;
  send(before, "PING", 7);
  run_until("the command is answered", [&] { return before.done(); });
  EXPECT_THAT(before.replies, ElementsAre("OK"));
  EXPECT_THAT(places_, IsEmpty()) << "it waited for the connection, which says nothing about the server";
  Handler after;
  send(after, "PING", 5);
  run_until("the command is answered", [&] { return after.done(); });
  EXPECT_THAT(places_, ElementsAre(5U));
}

TEST_F(ConnectionTest, AnAnswerToNoCommandEndsTheConnection) {
  server_.set_reply("PING", "+one\r\n+two\r\n");
  open_and_greet();
  Handler handler;
  send(handler, "PING");
  run_until("the connection is cut", [&] { return !troubles_.empty(); });
  EXPECT_THAT(handler.replies, ElementsAre("one"));
  EXPECT_EQ(troubles_[0].cause, Cause::protocol);
}

// --- When the connection breaks ---

TEST_F(ConnectionTest, WhatWaitedForAConnectionThatWasNeverReadyWasNotSent) {
  greet(greeting_, "", "swordfish", 0);
  server_.set_reply("AUTH", "");
  open();
  Handler handler;
  send(handler, "PING");
  run_until("the log-in has arrived", [&] { return server_.commands().size() == 1; });
  server_.hang_up();
  run_until("the connection is lost", [&] { return handler.done(); });
  EXPECT_THAT(handler.lost, ElementsAre(FailureKind::connect));
  EXPECT_EQ(troubles_[0].cause, Cause::lost);
  EXPECT_THAT(were_ready_, ElementsAre(false));
}

TEST_F(ConnectionTest, WhatWaitsOnAConnectionThatBreaksIsLost) {
  server_.set_reply("PING", "");
  open_and_greet();
  Handler handler;
  send(handler, "PING");
  run_until("the command has arrived", [&] { return server_.commands().size() == 1; });
  server_.hang_up();
  run_until("the connection is lost", [&] { return handler.done(); });
  EXPECT_THAT(handler.lost, ElementsAre(FailureKind::lost));
  EXPECT_THAT(were_ready_, ElementsAre(true));
  EXPECT_THAT(reconnects_at_once_, ElementsAre(false)) << "one that breaks soon must wait";
  run_until("it connects again", [&] { return ready_ == 2; });
}

TEST_F(ConnectionTest, HalfAReplyIsForgottenWithItsConnection) {
  server_.set_reply("PING", "$5\r\nab");
  open_and_greet();
  Handler first;
  send(first, "PING");
  run_until("the command has arrived", [&] { return server_.commands().size() == 1; });
  server_.hang_up();
  run_until("it connects again", [&] { return ready_ == 2; });
  EXPECT_THAT(first.lost, ElementsAre(FailureKind::lost));
  server_.set_reply("PING", "+PONG\r\n");
  Handler second;
  send(second, "PING");
  run_until("the answer is there", [&] { return second.done(); });
  EXPECT_THAT(second.replies, ElementsAre("PONG"));
}

TEST_F(ConnectionTest, AConnectionThatHasServedForAWhileIsReplacedAtOnce) {
  open_and_greet();
  const SteadyTime served = steady_clock::now() + Connection::kLongestRetry;
  run_until("it has served", [&] { return steady_clock::now() >= served; });
  server_.hang_up();
  run_until("the connection is lost", [&] { return !troubles_.empty(); });
  EXPECT_THAT(reconnects_at_once_, ElementsAre(true));
  run_until("it connects again", [&] { return ready_ == 2; });
}

TEST_F(ConnectionTest, AServerThatDoesNotAnswerTheGreetingIsTroubleOfItsOwn) {
  greet(greeting_, "", "swordfish", 0);
  server_.set_reply("AUTH", "");
  open(hours(1), milliseconds(100));
  run_until("the connection is given up", [&] { return !troubles_.empty(); });
  EXPECT_EQ(troubles_[0].cause, Cause::no_reply);
  EXPECT_THAT(troubles_[0].said, HasSubstr("connected, but no reply"));
}

TEST_F(ConnectionTest, ClosingAnswersWhatWaitsAndTellsTheOwnerNothing) {
  server_.set_reply("PING", "");
  Connection& connection = open_and_greet();
  Handler handler;
  send(handler, "PING");
  connection.close();
  EXPECT_THAT(handler.lost, ElementsAre(FailureKind::lost));
  EXPECT_FALSE(connection.accepts());
  EXPECT_THAT(troubles_, IsEmpty());
}

}  // namespace
}  // namespace weir::redis::testing
